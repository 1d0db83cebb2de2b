package cli_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/internal/fixture"
)

// modernVersions are the versions whose cases have a case.json with what is on disk.
func modernVersions() []string {
	if testing.Short() {
		return []string{"4.4.0"}
	}
	return []string{"3.9.2", "4.0.2", "4.4.0"}
}

// eachModernCase runs check for each case of these versions, unpacked in dir.
func eachModernCase(t *testing.T, check func(t *testing.T, dir string, c fixture.Case)) {
	t.Helper()
	for _, version := range modernVersions() {
		for _, name := range fixture.Cases(t, version) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				dir := fixture.Golden(t, name)
				check(t, dir, fixture.ReadCase(t, dir))
			})
		}
	}
}

// lines reads the objects of -o json that are of the given type.
func lines[T any](t *testing.T, out, kind string) (all []T) {
	t.Helper()
	for line := range strings.Lines(out) {
		var head struct{ Type string }
		require.NoError(t, json.Unmarshal([]byte(line), &head), line)
		if head.Type != kind {
			continue
		}
		var v T
		require.NoError(t, json.Unmarshal([]byte(line), &v), line)
		all = append(all, v)
	}
	return all
}

// producerState is a line of producers -o json.
type producerState struct {
	ProducerID       int64  `json:"producerId"`
	ProducerEpoch    int16  `json:"producerEpoch"`
	CoordinatorEpoch int32  `json:"coordinatorEpoch"`
	TxnFirstOffset   *int64 `json:"currentTxnFirstOffset"`
	LastTimestamp    int64  `json:"lastTimestamp"`
	LastSequence     int32  `json:"lastSequence"`
	LastOffset       int64  `json:"lastOffset"`
}

// snapshotLine is what kafka-dump-log prints of a producer; the second half only where a batch is known.
var snapshotLine = regexp.MustCompile(`^producerId: (\d+) producerEpoch: (\d+) coordinatorEpoch: (-?\d+) ` +
	`currentTxnFirstOffset: (OptionalLong.empty|OptionalLong\[(\d+)\]) lastTimestamp: (-?\d+) ?` +
	`(?:firstSequence: \d+ lastSequence: (\d+) lastOffset: (\d+) offsetDelta: \d+ timestamp: \d+)?$`)

// dumpedProducers are the producers in a dump of a snapshot that Kafka's tool made, by ID. ok is false where
// there is no such dump.
func dumpedProducers(t *testing.T, file string) (all []producerState, ok bool) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, false
	}
	number := func(s string, none int64) int64 {
		if s == "" {
			return none
		}
		n, err := strconv.ParseInt(s, 10, 64)
		require.NoError(t, err)
		return n
	}
	for line := range strings.Lines(string(text)) {
		m := snapshotLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			require.NotContains(t, line, "producerId", file)
			continue
		}
		p := producerState{
			ProducerID: number(m[1], 0), ProducerEpoch: int16(number(m[2], 0)), CoordinatorEpoch: int32(number(m[3], 0)),
			LastTimestamp: number(m[6], 0), LastSequence: int32(number(m[7], -1)), LastOffset: number(m[8], -1),
		}
		if m[5] != "" {
			first := number(m[5], 0)
			p.TxnFirstOffset = &first
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b producerState) int { return cmp.Compare(a.ProducerID, b.ProducerID) })
	return all, true
}

// atEnd are the producers at the end of a partition, as Kafka left them in its last snapshot: at its stop, or,
// where it was killed, after it had recovered the partition.
func atEnd(t *testing.T, dir, partition string, c fixture.Case) (all []producerState, ok bool) {
	t.Helper()
	expected, on := "expected", c.OnDisk
	if _, recovered := c.OnDiskAfter[partition]; recovered {
		expected, on = "expected-after", c.OnDiskAfter
	}
	end := on[partition].LogEndOffset
	if viewOf(c, partition).LogStartOffset == end { // all is deleted: a load takes no snapshot that is not above the start
		return nil, false
	}
	name := fmt.Sprintf("dump-%s--%020d.snapshot.txt", partition, end)
	return dumpedProducers(t, filepath.Join(dir, expected, name))
}

// TestProducersGolden compares producers with Kafka's own snapshots of the moment.
func TestProducersGolden(t *testing.T) {
	compared := make(chan int, 1000)
	t.Run("cases", func(t *testing.T) {
		eachModernCase(t, func(t *testing.T, dir string, c fixture.Case) {
			for partition := range c.OnDisk {
				want, ok := atEnd(t, dir, partition, c)
				if !ok {
					continue
				}
				before := snapshot(t, filepath.Join(dir, "data", partition))
				got := run(t, "", "producers", "-o", "json", filepath.Join(dir, "data", partition))
				require.Zero(t, got.status, "%s: %s", partition, got.errs)
				assert.Equal(t, want, lines[producerState](t, got.out, "producerState"), partition)
				assert.Equal(t, before, snapshot(t, filepath.Join(dir, "data", partition)), "producers changed the directory")
				compared <- len(want)
			}
		})
	})
	close(compared)
	partitions, producers := 0, 0
	for n := range compared {
		partitions, producers = partitions+1, producers+n
	}
	assert.Greater(t, partitions, 50)
	assert.Greater(t, producers, 20)
}

// viewOf is what a client saw of the partition in that directory, before the broker stopped for the last time.
func viewOf(c fixture.Case, partition string) fixture.View {
	for _, v := range slices.Concat(c.ClientViewAfter, c.ClientView) {
		if fmt.Sprintf("%s-%d", v.Topic, v.Partition) == filepath.Base(partition) {
			return v
		}
	}
	return fixture.View{LogStartOffset: -1, HighWatermark: -1, LastStableOffset: -1} // no client looked at it
}

// transaction is a line of txns -o json.
type transaction struct {
	State            string
	ProducerID       int64 `json:"producerId"`
	FirstOffset      int64
	LastOffset       *int64
	LastStableOffset *int64
	StartTimestamp   *int64
	LastTimestamp    *int64
	HoldsStable      *bool `json:"holdsStableOffset"`
}

// TestTxnsGolden compares txns with the aborted transactions in case.json, with the open ones in Kafka's own
// snapshot of the moment, and the one that holds the stable offset with where a client saw that.
func TestTxnsGolden(t *testing.T) {
	counted := make(chan string, 1000)
	t.Run("cases", func(t *testing.T) {
		eachModernCase(t, func(t *testing.T, dir string, c fixture.Case) {
			for partition, on := range c.OnDisk {
				if _, damaged := c.Damage[viewOf(c, partition).Topic]; damaged {
					continue
				}
				got := run(t, "", "txns", "-o", "json", filepath.Join(dir, "data", partition))
				require.Zero(t, got.status, "%s: %s", partition, got.errs)
				checkTxns(t, dir, partition, c, on, lines[transaction](t, got.out, "transaction"), counted)
			}
		})
	})
	close(counted)
	sum := map[string]int{}
	for state := range counted {
		sum[state]++
	}
	assert.Greater(t, sum["aborted"], 15)
	assert.Positive(t, sum["open"])
	assert.Positive(t, sum["holder"])
}

// checkTxns compares what txns told of a partition.
func checkTxns(t *testing.T, dir, partition string, c fixture.Case, on fixture.Partition, all []transaction, counted chan<- string) {
	t.Helper()
	view := viewOf(c, partition)
	want := map[fixture.AbortedTxn]bool{}
	for _, a := range on.Aborted {
		want[a] = a.LastOffset >= view.LogStartOffset
	}
	var holders, open []int64
	for _, x := range all {
		if x.State == "open" {
			open = append(open, x.FirstOffset)
			if *x.HoldsStable {
				holders = append(holders, x.FirstOffset)
				counted <- "holder"
			}
			assert.LessOrEqual(t, *x.StartTimestamp, *x.LastTimestamp, partition)
		} else {
			a := fixture.AbortedTxn{ProducerID: x.ProducerID, FirstOffset: x.FirstOffset, LastOffset: *x.LastOffset, LastStableOffset: *x.LastStableOffset}
			assert.True(t, want[a], "%s: aborted %+v", partition, a)
			delete(want, a)
		}
		counted <- x.State
	}
	for a, expected := range want {
		assert.False(t, expected, "%s: %+v is missing", partition, a)
	}
	if view.LastStableOffset >= 0 && len(c.OnDiskAfter) == 0 {
		var held []int64
		if view.LastStableOffset < view.HighWatermark {
			held = append(held, view.LastStableOffset)
		}
		assert.Equal(t, held, holders, "%s: who holds the stable offset", partition)
	}
	if producers, ok := atEnd(t, dir, partition, c); ok {
		var first []int64
		for _, p := range producers {
			if p.TxnFirstOffset != nil {
				first = append(first, *p.TxnFirstOffset)
			}
		}
		slices.Sort(first)
		assert.Equal(t, first, open, "%s: open transactions", partition)
	}
}
