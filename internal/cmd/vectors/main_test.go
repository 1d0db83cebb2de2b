package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/internal/fixture"
)

// write puts vectors into a file.
func write(t *testing.T, content []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "vectors.jsonl")
	require.NoError(t, os.WriteFile(name, content, 0o600))
	return name
}

func TestAllPass(t *testing.T) {
	for name, want := range map[string]string{
		"legacy.jsonl":        "RESULT vectors=829 pass=617 superseded=212\n",
		"legacy-seed-4.jsonl": "RESULT vectors=829 pass=618 superseded=211\n",
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			status := run([]string{write(t, fixture.Vectors(t, name))}, &out, &errs)
			require.Empty(t, errs.String())
			require.Equal(t, want, out.String())
			require.Zero(t, status)
		})
	}
}

// TestNamesDoNotCount gives all vectors another name: which rule is superseded, the bytes and the answers tell.
func TestNamesDoNotCount(t *testing.T) {
	vectors := regexp.MustCompile(`(?m)^{"name":"[^"]*"`).ReplaceAll(fixture.Vectors(t, "legacy.jsonl"), []byte(`{"name":"any"`))
	require.NotContains(t, string(vectors), "assign-v0")
	var out bytes.Buffer
	require.Zero(t, run([]string{write(t, vectors)}, &out, &out))
	require.Equal(t, "RESULT vectors=829 pass=617 superseded=212\n", out.String())
}

// TestSupersededIsExact changes what an old version answered where its rule is another one by now: what the answer is
// then, no rule gives.
func TestSupersededIsExact(t *testing.T) {
	changed := 0
	for line := range strings.Lines(string(fixture.Vectors(t, "legacy.jsonl"))) {
		var v vector
		require.NoError(t, json.Unmarshal([]byte(line), &v))
		if differences := v.check(); len(supersededBy(&v, differences)) == 0 || !answered(differences) {
			continue
		}
		for name, change := range map[string]func(){
			"next offset":   func() { v.NextOffset++ },
			"max timestamp": func() { *v.MaxTimestamp += 7 },
			"its offset":    func() { *v.ShallowOffsetOfMaxTimestamp += 3 },
		} {
			v = vector{}
			require.NoError(t, json.Unmarshal([]byte(line), &v))
			if v.MaxTimestamp == nil && name != "next offset" {
				continue
			}
			change()
			require.Empty(t, supersededBy(&v, v.check()), "%s %s: %s", v.Kafka, v.Name, name)
			changed++
		}
	}
	require.Greater(t, changed, 400)
}

// TestSupersededWithoutTimes leaves the largest timestamp out of the answers: a line that lacks it is compared in what
// it has, and no rule takes it for granted.
func TestSupersededWithoutTimes(t *testing.T) {
	lines := 0
	for line := range strings.Lines(string(fixture.Vectors(t, "legacy.jsonl"))) {
		var v vector
		require.NoError(t, json.Unmarshal([]byte(line), &v))
		if v.MaxTimestamp == nil || v.ShallowOffsetOfMaxTimestamp == nil {
			continue
		}
		v.MaxTimestamp = nil
		*v.ShallowOffsetOfMaxTimestamp += 3
		differences := v.check()
		reasons := supersededBy(&v, differences)
		if answered(differences) {
			require.Empty(t, reasons, "%s %s", v.Kafka, v.Name)
			lines++
		}
	}
	require.Greater(t, lines, 100)
}

// answered reports whether all differences are in the answer to an append, which both have taken.
func answered(differences []error) bool {
	answer := regexp.MustCompile(`^(next offset|in place|max timestamp|its offset|bytes) `)
	return !slices.ContainsFunc(differences, func(err error) bool { return !answer.MatchString(err.Error()) })
}

// TestFailuresAreNamed changes a byte of what each kind of vector expects.
func TestFailuresAreNamed(t *testing.T) {
	for line := range strings.Lines(string(fixture.Vectors(t, "legacy.jsonl"))) {
		for _, name := range []string{"set-v2-none", "assign-v1-none-to-v1-none", "convert-v2-gzip-to-v1"} {
			if !strings.Contains(line, `"name":"`+name+`","kafka":"2.8.2"`) {
				continue
			}
			wrong := strings.Replace(line, `"key":"azE="`, `"key":"azI="`, 1)
			require.NotEqual(t, line, wrong)
			var out bytes.Buffer
			require.Equal(t, 1, run([]string{write(t, []byte(wrong))}, &out, &out))
			require.Contains(t, out.String(), "2.8.2 "+name+": ")
			require.Contains(t, out.String(), "RESULT vectors=1 pass=0 superseded=0")
		}
	}
}

func TestBadArguments(t *testing.T) {
	for name, files := range map[string][]string{
		"none":      nil,
		"no file":   {filepath.Join(t.TempDir(), "missing")},
		"no JSON":   {write(t, []byte("hello\n"))},
		"odd codec": {write(t, []byte(`{"kind":"validate","targetCodec":"lzma"}`))},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			require.Equal(t, 2, run(files, &out, &errs))
			require.Empty(t, out.String())
			require.True(t, strings.HasPrefix(errs.String(), "vectors: "), errs.String())
		})
	}
}

// TestSupersededIsDocumented looks for each rule that is no longer Kafka's in the list for readers.
func TestSupersededIsDocumented(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "..", "DESIGN.md"))
	require.NoError(t, err)
	for _, c := range changes {
		require.Contains(t, string(doc), "| "+c.reason+" |")
	}
}
