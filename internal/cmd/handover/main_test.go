package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/log"
)

// made is when the partitions of the tests are made.
const made = 1_750_000_000_000

// handover runs the command.
func handover(args ...string) (status int, out, errs string) {
	var o, e bytes.Buffer
	status = run(append([]string{"-time", strconv.FormatInt(made, 10)}, args...), &o, &e)
	return status, o.String(), e.String()
}

// adopt appends what a broker would.
func adopt(t *testing.T, dir string) {
	t.Helper()
	c := call{dir: dir, time: made}
	for partition := range partitions {
		l, err := c.open(partition)
		require.NoError(t, err)
		p := newPlan(partition, made)
		old := len(p.records)
		p.broker()
		var sequence int32
		for i := old; i < len(p.records); i++ {
			r := p.records[i]
			h := codec.NewHeader(2)
			if r.txn != nil {
				h.ProducerID, h.ProducerEpoch, h.BaseSequence = 1_000_000, 0, sequence
				h.Attributes |= codec.TransactionalBit
				sequence++
			}
			r.Offset = 0
			batch, err := codec.Kafka().Append(nil, h, []codec.Record{r.Record})
			require.NoError(t, err)
			_, err = l.AppendWith(batch, log.AppendOptions{LeaderEpoch: 9})
			require.NoError(t, err)
			if last := i+1 == len(p.records) || p.records[i+1].txn != r.txn; r.txn != nil && last {
				marker, err := codec.AppendMarker(nil, h, codec.Marker{Commit: r.txn.commit}, made)
				require.NoError(t, err)
				_, err = l.AppendWith(marker, log.AppendOptions{LeaderEpoch: 9, Origin: log.FromCoordinator, TxnVersion: log.TxnV1})
				require.NoError(t, err)
			}
		}
		require.NoError(t, l.Close())
	}
}

func TestMakeAndCheck(t *testing.T) {
	dir := t.TempDir()
	status, out, errs := handover("-dir", dir, "make")
	require.Zero(t, status, errs)
	require.Equal(t, 2, strings.Count(out, "segments=5 "), out)
	adopt(t, dir)
	status, out, errs = handover("-dir", dir, "check")
	require.Zero(t, status, errs)
	require.Equal(t, 2, strings.Count(out, "differences=0"))
}

// TestPlan wants of the plan what it is for.
func TestPlan(t *testing.T) {
	for partition := range partitions {
		p := newPlan(partition, made)
		commits, aborts, again := 0, 0, 0
		for _, s := range p.steps {
			switch {
			case len(s.records) > 0 && s.again:
				again++
			case len(s.records) == 0 && s.commit:
				commits++
			case len(s.records) == 0:
				aborts++
			}
		}
		require.Greater(t, commits, 5)
		require.Greater(t, aborts, 5)
		require.Greater(t, again, 5)
		require.Equal(t, partition == 0, p.stable() < p.end)
		require.Less(t, len(p.visible(true)), len(p.visible(false)))
	}
}

// TestCheckFinds removes a record of the plan, by which everything behind it differs.
func TestCheckFinds(t *testing.T) {
	dir := t.TempDir()
	status, _, errs := handover("-dir", dir, "make")
	require.Zero(t, status, errs)
	status, _, errs = handover("-dir", dir, "check") // no broker was there
	require.Equal(t, 1, status)
	require.Contains(t, errs, "end offset is")
	adopt(t, dir)
	name := filepath.Join(dir, "txns-1", "00000000000000000000.log")
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	b[100] ^= 1
	require.NoError(t, os.WriteFile(name, b, 0o600))
	status, _, errs = handover("-dir", dir, "check")
	require.Equal(t, 1, status)
	require.Contains(t, errs, "partition 1: txns-1/00000000000000000000.log")
}

// consumer writes records as a consumer's output has them.
func consumer(t *testing.T, records ...[]record) string {
	t.Helper()
	var b bytes.Buffer
	lines := json.NewEncoder(&b)
	for partition := range records {
		for _, r := range records[partition] {
			line := consumedRecord{Partition: partition, Offset: r.Offset, Timestamp: r.Timestamp, LeaderEpoch: &r.epoch, Key: r.Key, Value: r.Value}
			for _, h := range r.Headers {
				name, value := string(h.Key), base64.StdEncoding.EncodeToString(h.Value)
				pair := [2]*string{&name, &value}
				if h.Value == nil {
					pair[1] = nil
				}
				line.Headers = append(line.Headers, pair)
			}
			require.NoError(t, lines.Encode(line))
		}
	}
	name := filepath.Join(t.TempDir(), "consumed.jsonl")
	require.NoError(t, os.WriteFile(name, b.Bytes(), 0o600))
	return name
}

func TestConsumed(t *testing.T) {
	for _, isolation := range []string{"read_committed", "read_uncommitted"} {
		var all [partitions][]record
		for partition := range partitions {
			p := newPlan(partition, made)
			p.broker()
			all[partition] = p.visible(isolation == "read_committed")
		}
		status, out, errs := handover("-isolation", isolation, "consumed", consumer(t, all[:]...))
		require.Zero(t, status, errs)
		require.Contains(t, out, "differences=0")

		all[1] = append(all[1][:50:50], all[1][51:]...)
		status, _, errs = handover("-isolation", isolation, "consumed", consumer(t, all[:]...))
		require.Equal(t, 1, status)
		require.Contains(t, errs, "partition 1: record ")
	}
}

func TestInput(t *testing.T) {
	status, out, errs := handover("input")
	require.Zero(t, status, errs)
	require.Equal(t, transactionsOfInput*(3+partitions*recordsOfInput), strings.Count(out, "\n"))
}

func TestWrongCalls(t *testing.T) {
	for _, args := range [][]string{{}, {"make"}, {"check"}, {"consumed"}, {"consumed", "missing.jsonl"}, {"what"}, {"-no"}} {
		status, out, errs := handover(args...)
		require.Equal(t, 2, status, args)
		require.Empty(t, out)
		require.NotEmpty(t, errs)
	}
}
