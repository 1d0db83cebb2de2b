package producer_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/internal/producer"
	"github.com/stratalog/strata/segment"
)

// batches are those of a log.
type batches []producer.Batch

// end is the offset behind the last one.
func (l batches) end() int64 {
	if len(l) == 0 {
		return 0
	}
	return l[len(l)-1].Header.LastOffset + 1
}

// rebuild is how to bring a State to end in a log of those segments. read collects the base offsets of the
// segments that are read.
func (l batches) rebuild(start, end int64, bases []int64, read *[]int64) producer.Rebuild {
	return producer.Rebuild{
		Start: start, End: end, Bases: bases,
		Replay: func(base, from, end int64, add func(b producer.Batch) error) error {
			*read = append(*read, base)
			for _, b := range l {
				last := b.Header.LastOffset
				next := end
				for _, other := range bases {
					if other > base {
						next = min(next, other)
						break
					}
				}
				if b.Header.BaseOffset >= base && last < next && last >= from && last < end {
					if err := add(b); err != nil {
						return err
					}
				}
			}
			return nil
		},
	}
}

// ten are ten batches of one record by producer 1.
func ten() (l batches) {
	for i := range int32(10) {
		l = append(l, data(1, 0, i, int64(i)))
	}
	return l
}

// TestRebuild is G86 and G91: it has a log of ten records, loaded, and which segments are read and snapshots are there then.
func TestRebuild(t *testing.T) {
	bases := []int64{0, 3, 6, 8}
	for _, row := range []struct {
		name        string
		there       []int64 // snapshots
		start, end  int64
		bases       []int64
		clean       bool
		read, after []int64
		last        int32 // sequence; −1 where the producer is not known
	}{
		{"G86 clean without snapshots", nil, 0, 10, bases, true, nil, []int64{6, 8, 10}, -1},
		{"unclean without snapshots", nil, 0, 10, bases, false, bases, []int64{6, 8, 10}, 9},
		{"clean with the last", []int64{6, 8, 10}, 0, 10, bases, true, nil, []int64{6, 8, 10}, 9},
		{"the last is damaged", []int64{6, 8, -10}, 0, 10, bases, true, []int64{8}, []int64{6, 8, 10}, 9},
		{"all are damaged", []int64{-6, -8, -10}, 0, 10, bases, true, bases, []int64{6, 8, 10}, 9},
		{"an old one", []int64{3}, 0, 10, bases, false, []int64{3, 6, 8}, []int64{3, 6, 8, 10}, 9},
		{"one inside of a segment", []int64{7}, 0, 10, bases, false, []int64{6, 8}, []int64{7, 8, 10}, 9},
		{"one above the end", []int64{8, 10}, 0, 9, bases, false, []int64{8}, []int64{8, 9}, 8},
		{"one at the start", []int64{3}, 3, 10, bases[1:], false, bases[1:], []int64{6, 8, 10}, 9},
		{"a start inside of a segment", nil, 4, 10, bases[1:], false, bases[1:], []int64{6, 8, 10}, 9},
		{"one segment", nil, 0, 10, bases[:1], false, bases[:1], []int64{10}, 9},
		{"an empty last segment", nil, 0, 10, []int64{0, 6, 10}, false, []int64{0, 6}, []int64{6, 10}, 9},
		{"an empty log", []int64{42}, 0, 0, bases[:1], false, nil, nil, -1}, // G91
		{"a new log behind 0", nil, 500, 500, []int64{500}, true, nil, []int64{500}, -1},
	} {
		t.Run(row.name, func(t *testing.T) {
			fsys := memory(t)
			for _, o := range row.there {
				if o < 0 {
					put(t, fsys, file(-o), []byte("damaged"))
					continue
				}
				put(t, fsys, file(o), producer.AppendSnapshot(nil, []producer.Entry{{
					ProducerID: 1, LastSequence: int32(o - 1), LastOffset: o - 1, CoordinatorEpoch: -1, TxnFirstOffset: -1,
				}}))
			}
			s := open(t, fsys)
			var read []int64
			r := ten().rebuild(row.start, row.end, row.bases, &read)
			r.Clean = row.clean
			require.NoError(t, s.Rebuild(r))
			assert.ElementsMatch(t, row.read, read)
			assert.ElementsMatch(t, row.after, s.Snapshots())
			assert.ElementsMatch(t, files(row.after...), names(t, fsys))
			assert.Equal(t, row.end, s.End())
			p, ok := s.Producer(1)
			assert.Equal(t, row.last >= 0, ok)
			if ok {
				assert.Equal(t, row.last, p.LastSequence())
			}
		})
	}
}

// TestRebuildOverGap names the snapshot of a segment by its base offset, which is not where the one before
// ended.
func TestRebuildOverGap(t *testing.T) {
	log := batches{data(1, 0, 0, 0), data(1, 0, 1, 9)}
	s := fresh(t)
	var read []int64
	require.NoError(t, s.Rebuild(log.rebuild(0, 10, []int64{0, 8}, &read)))
	assert.Equal(t, []int64{8, 10}, s.Snapshots())
}

// TestRebuildAfterTruncation is G77 and I20.
func TestRebuildAfterTruncation(t *testing.T) {
	log := batches{txn(data(1, 0, 0, 99)), commit(1, 0, 105), data(2, 0, 0, 106)}
	fsys := memory(t)
	s := open(t, fsys)
	for i, b := range log {
		must(t, s, follower, b)
		if i < 2 {
			_, err := s.TakeSnapshot(true)
			require.NoError(t, err)
		}
	}
	s.SetHighWatermark(106)
	assert.Equal(t, codec.NoOffset, s.FirstUnstable())
	var read []int64
	require.NoError(t, s.Rebuild(log.rebuild(0, 106, []int64{0}, &read)))
	assert.Equal(t, codec.NoOffset, s.FirstUnstable())
	assert.Equal(t, 1, s.Len())
	assert.Empty(t, read)
	require.NoError(t, s.Rebuild(log.rebuild(0, 100, []int64{0}, &read)))
	assert.Equal(t, int64(99), s.FirstUnstable())
	assert.Empty(t, read)
	require.NoError(t, s.Rebuild(log.rebuild(0, 99, []int64{0}, &read)))
	assert.Equal(t, codec.NoOffset, s.FirstUnstable())
	assert.Equal(t, 0, s.Len())
	assert.Equal(t, []int64{99}, s.Snapshots())
	assert.Equal(t, []int64{0}, read)

	// Whoever has no producers gets none by a truncation: nothing is read.
	read = nil
	require.NoError(t, s.Rebuild(log.rebuild(0, 50, []int64{0}, &read)))
	assert.Empty(t, read)
}

// TestRebuildFails keeps the error of a segment that cannot be read.
func TestRebuildFails(t *testing.T) {
	broken := errors.New("broken")
	s := fresh(t)
	err := s.Rebuild(producer.Rebuild{End: 5, Bases: []int64{0}, Replay: func(int64, int64, int64, func(producer.Batch) error) error {
		return broken
	}})
	require.ErrorIs(t, err, broken)
	log := batches{txn(data(1, 0, 0, 0)), data(1, 0, 1, 1)}
	var read []int64
	require.ErrorIs(t, fresh(t).Rebuild(log.rebuild(0, 2, []int64{0}, &read)), producer.ErrInvalidTxnState)
}

// generate makes a log of producers, transactions and markers.
func generate(rng *rand.Rand, n int) (l batches) {
	type state struct {
		epoch int16
		seq   int32
		open  bool
	}
	producers := map[int64]*state{}
	offset := int64(0)
	for range n {
		id := rng.Int64N(6)
		p := producers[id]
		if p == nil {
			p = &state{}
			producers[id] = p
		}
		var b producer.Batch
		switch k := rng.IntN(10); {
		case k == 0:
			b = count(1+rng.IntN(3), data(-1, -1, -1, offset))
		case k < 3:
			b = marker(id, p.epoch, int32(rng.IntN(3)), k == 1, offset)
			if p.open && rng.IntN(2) == 0 {
				b.Header.ProducerEpoch++
				p.epoch, p.seq = p.epoch+1, 0
			}
			p.open = false
		default:
			records := 1 + rng.IntN(3)
			b = count(records, data(id, p.epoch, p.seq, offset))
			if p.open || rng.IntN(2) == 0 {
				b = txn(b)
				p.open = true
			}
			p.seq += int32(records)
		}
		b = at(1+rng.Int64N(1000), b)
		l = append(l, b)
		offset = b.Header.LastOffset + 1 + int64(rng.IntN(5)/4) // with a gap now and then
	}
	return l
}

// trimmed are producers as far as a snapshot keeps them: with their last batch, at the last timestamp.
func trimmed(all []segment.Producer) []segment.Producer {
	for i := range all {
		if n := len(all[i].Batches); n > 0 {
			last := all[i].Batches[n-1]
			last.Timestamp = all[i].LastTimestamp
			all[i].Batches = []segment.ProducerBatch{last}
		}
	}
	return all
}

// TestRebuildAnywhere truncates random logs to each batch: what is rebuilt is what replaying all of the log
// up to there gives.
func TestRebuildAnywhere(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		log := generate(rng, 60)
		bases := []int64{0}
		fsys := memory(t)
		s := open(t, fsys)
		for i, b := range log {
			if i > 0 && rng.IntN(8) == 0 { // roll
				bases = append(bases, b.Header.BaseOffset)
				s.SetEnd(b.Header.BaseOffset)
				_, err := s.TakeSnapshot(false)
				require.NoError(t, err)
			}
			must(t, s, follower, b)
		}
		for n := len(log); n > 0; n-- {
			end, model := log[:n].end(), fresh(t)
			for _, b := range log[:n] {
				_, err := model.Replay(nil, b)
				require.NoError(t, err)
			}
			for len(bases) > 1 && bases[len(bases)-1] > end {
				bases = bases[:len(bases)-1]
			}
			var read []int64
			require.NoError(t, s.Rebuild(log.rebuild(0, end, bases, &read)))
			require.Equal(t, trimmed(model.Producers()), trimmed(s.Producers()), "seed %d, truncated to %d", seed, end)
			require.Equal(t, model.FirstOpen(), s.FirstOpen(), "seed %d, truncated to %d", seed, end)

			loaded := openLoaded(t, fsys, log, end, bases)
			require.Equal(t, trimmed(model.Producers()), trimmed(loaded.Producers()), "seed %d, loaded at %d", seed, end)
		}
	}
}

// openLoaded opens a State anew and loads it.
func openLoaded(t *testing.T, fsys fsio.FS, log batches, end int64, bases []int64) *producer.State {
	t.Helper()
	s := open(t, fsys)
	_, err := s.RemoveStraySnapshots(bases)
	require.NoError(t, err)
	var read []int64
	require.NoError(t, s.Rebuild(log.rebuild(0, end, bases, &read)))
	return s
}
