package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/internal/fixture"
)

// TestCatConsumed compares cat at both isolation levels with what consumers got from brokers. What was damaged
// afterwards, no consumer saw.
func TestCatConsumed(t *testing.T) {
	eachModernCase(t, func(t *testing.T, dir string, c fixture.Case) {
		for level, want := range consumed(t, dir) {
			for _, v := range c.ClientView {
				partition := partitionOf(t, dir, v.Topic, v.Partition)
				if _, damaged := c.Damage[v.Topic]; damaged || v.Topic[0] == '_' || partition == "" {
					continue
				}
				got := run(t, "", "cat", "--isolation-level", level, "-o", "json", partition)
				if len(c.OnDiskAfter) == 0 { // not killed: there is no reserved end
					require.Zero(t, got.status, "%s: %s", partition, got.errs)
				}
				compareConsumed(t, partition+" "+level, records(t, got.out), want[filepath.Base(partition)])
			}
		}
	})
}

// consumed is what consumers of both isolation levels got, by partition. Only where they differ there are two files.
func consumed(t *testing.T, dir string) map[string]map[string][]fixture.Consumed {
	t.Helper()
	all := map[string]map[string][]fixture.Consumed{}
	for _, level := range []string{"read_committed", "read_uncommitted"} {
		file := filepath.Join(dir, "expected", "consumed-"+level+".jsonl")
		if _, err := os.Stat(file); err != nil {
			file = filepath.Join(dir, "expected", "consumed-read_uncommitted.jsonl")
		}
		all[level] = map[string][]fixture.Consumed{}
		for _, r := range fixture.Lines[fixture.Consumed](t, file) {
			partition := fmt.Sprintf("%s-%d", r.Topic, r.Partition)
			all[level][partition] = append(all[level][partition], r)
		}
	}
	return all
}

// partitionOf is the directory of a partition, which may lie in one of several log directories; empty if there is none.
func partitionOf(t *testing.T, dir, topic string, partition int32) string {
	t.Helper()
	for _, pattern := range []string{"data/%s-%d", "data/disk1/%s-%d", "data/disk2/%s-%d"} {
		name := filepath.Join(dir, filepath.FromSlash(fmt.Sprintf(pattern, topic, partition)))
		if _, err := os.Stat(name); err == nil {
			return name
		}
	}
	return ""
}

// compareConsumed compares records with those that a consumer got.
func compareConsumed(t *testing.T, what string, got []record, want []fixture.Consumed) {
	t.Helper()
	require.Len(t, got, len(want), what)
	for i, w := range want {
		g := got[i]
		same := g.Offset == w.Offset && g.Timestamp == w.Timestamp && g.TimestampType == w.TimestampType && g.LeaderEpoch == w.LeaderEpoch &&
			w.Key.Equal(plain(t, g.Key, g.KeyEncoding)) && w.Value.Equal(plain(t, g.Value, g.ValueEncoding)) && len(g.Headers) == len(w.Headers)
		for j := range w.Headers {
			same = same && g.Headers[j].Key == w.Headers[j].Key && w.Headers[j].Value.Equal(plain(t, g.Headers[j].Value, g.Headers[j].Encoding))
		}
		require.True(t, same, "%s: %+v, want %+v", what, g, w)
	}
}

// TestOffsetsForTimes compares offsets --time with what brokers answered, also where none of the records is so new.
func TestOffsetsForTimes(t *testing.T) {
	eachModernCase(t, func(t *testing.T, dir string, c fixture.Case) {
		file := filepath.Join(dir, "expected", "offsets-for-times.jsonl")
		if _, err := os.Stat(file); err != nil {
			return // nobody asked
		}
		answers := fixture.Lines[fixture.TimeAnswer](t, file)
		answers = slices.DeleteFunc(answers, func(a fixture.TimeAnswer) bool {
			_, damaged := c.Damage[a.Topic]
			return damaged || partitionOf(t, dir, a.Topic, a.Partition) == ""
		})
		for _, a := range answers {
			partition := partitionOf(t, dir, a.Topic, a.Partition)
			got := run(t, "", "offsets", "--time", strconv.FormatInt(a.Time, 10), "-o", "json", partition)
			require.Zero(t, got.status, "%s: %s", partition, got.errs)
			all := lines[fixture.TimeAnswer](t, got.out, "offset")
			require.Len(t, all, 1, partition)
			assert.Equal(t, a.Offset, all[0].Offset, "%s: %d", partition, a.Time)
			if a.Offset >= 0 {
				assert.Equal(t, a.Timestamp, all[0].Timestamp, "%s: %d", partition, a.Time)
				assert.Equal(t, a.LeaderEpoch, all[0].LeaderEpoch, "%s: %d", partition, a.Time)
			}
		}
	})
}
