package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// compareAnswer compares what an operation returned, or why it was refused.
func compareAnswer(want *Line, got any, refused error, ignore map[string]bool) (diff string) {
	switch {
	case want.Error == nil && refused != nil:
		return fmt.Sprintf("%v, want %v", refused, want.Result)
	case want.Error != nil && refused == nil:
		return fmt.Sprintf("%v, want the error %s", got, want.Error.Class)
	case want.Error != nil:
		return compareRefusal(want.Error, refused)
	}
	diff, err := diffObjects(want.Result, got, "r", ignore)
	if err != nil {
		return err.Error()
	}
	return diff
}

// ignored are the keys that do not count: files, whose digest is compared anyway, and where data was compressed
// by the log, sizes. Kafka's answer to a read of no bytes at all has aborted transactions for that; ours reads one
// byte.
func ignored(op *Op, m Meta) map[string]bool {
	keys := map[string]bool{"files": true}
	if m.decoded() {
		for _, key := range []string{"size", "position", "crc", "index", "timeindex", "validBytes"} {
			keys[key] = true
		}
	}
	if op.Op == "read" && or(op.MaxBytes, 1) == 0 && !op.MinOne {
		keys["aborted"] = true
	}
	return keys
}

// diffObjects is the first difference between JSON objects, at the given path.
func diffObjects(want map[string]any, got any, path string, ignore map[string]bool) (string, error) {
	b, err := json.Marshal(got)
	if err != nil {
		return "", err
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var object map[string]any
	if err := d.Decode(&object); err != nil {
		return "", err
	}
	return diff(want, object, path, ignore), nil
}

// diff is the first difference between JSON values. What Kafka does not know of a segment does not count.
func diff(want, got any, path string, ignore map[string]bool) string {
	switch want := want.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s = %v, want %v", path, got, want)
		}
		return diffMaps(want, got, path, ignore)
	case []any:
		got, _ := got.([]any)
		for i := range min(len(want), len(got)) {
			if d := diff(want[i], got[i], fmt.Sprintf("%s[%d]", path, i), ignore); d != "" {
				return d
			}
		}
		if len(want) != len(got) {
			return fmt.Sprintf("%s has %d elements, want %d: %v, want %v", path, len(got), len(want), got, want)
		}
	default:
		if !reflect.DeepEqual(want, got) {
			return fmt.Sprintf("%s = %v, want %v", path, got, want)
		}
	}
	return ""
}

func diffMaps(want, got map[string]any, path string, ignore map[string]bool) string {
	keys := maps.Clone(want)
	maps.Copy(keys, got)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		w, g := want[key], got[key]
		if ignore[key] || unsettled(key, w, g) {
			continue
		}
		if d := diff(w, g, path+"."+key, ignore); d != "" {
			return d
		}
	}
	return ""
}

// unsettled reports whether a difference is only about when an index comes into being, or its last entry is read.
func unsettled(key string, want, got any) bool {
	const missing = json.Number("-1")
	switch key {
	case "maxTs", "maxTsOffset":
		return want == nil
	case "index", "timeindex":
		return want == missing || got == missing
	}
	return false
}

// compareRefusal compares an error with Kafka's. Where that is Java's, any will do.
func compareRefusal(want *Refusal, err error) string {
	if !isClass(err, want.Class) {
		return fmt.Sprintf("%v, want %s", err, want.Class)
	}
	got := refusal(err)
	if want.Cause != "" && !isClass(err, want.Cause) {
		return fmt.Sprintf("%v, want %s because of %s", err, want.Class, want.Cause)
	}
	if !slices.Equal(got.Records, want.Records) {
		return fmt.Sprintf("%v is about records %v, want %v", err, got.Records, want.Records)
	}
	for _, p := range []struct{ got, want *int64 }{{got.FirstOffset, want.FirstOffset}, {got.LastOffset, want.LastOffset}} {
		if p.want != nil && (p.got == nil || *p.got != *p.want) {
			return fmt.Sprintf("%v, want %d", err, *p.want)
		}
	}
	return ""
}
