package segment_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/segment"
)

// model is a segment as a plain list.
type model struct {
	batches []modelBatch
	next    int64
}

type modelBatch struct {
	base, last, size int64
	records          []codec.Record
}

// subject is a segment that is to do what the model does.
type subject struct {
	*model
	t      *testing.T
	w      world
	s      *segment.Segment
	random *rand.Rand
	name   string // of the step, for failures
}

// TestModel runs scripts of random operations on a segment and on a list, and compares what they answer.
// STRATA_SCRIPTS is how many, a composition.
func TestModel(t *testing.T) {
	scripts := 12
	if testing.Short() {
		scripts = 3
	}
	if n, err := strconv.Atoi(os.Getenv("STRATA_SCRIPTS")); err == nil {
		scripts = n
	}
	for _, set := range []struct {
		name string
		open segment.OpenFunc
	}{{"file", segment.OpenFile}, {"mmapset", segment.OpenMmap}} {
		t.Run(set.name, func(t *testing.T) {
			eachWorld(t, func(w world) {
				t := w.t
				w.parts.OpenSet = set.open
				for seed := range scripts {
					s := subject{
						model: &model{next: 100}, t: t, w: w, name: fmt.Sprintf("seed %d", seed),
						random: rand.New(rand.NewPCG(uint64(seed), 7)),
					}
					s.run(40)
				}
			})
		})
	}
}

func (x *subject) options() segment.Options {
	return segment.Options{IndexIntervalBytes: 150, SegmentBytes: 1 << 16, Check: true}
}

func (x *subject) run(steps int) {
	x.s = x.w.open(x.t, 100, x.options())
	for step := range steps {
		name := x.name
		kind := x.random.IntN(10)
		x.name = fmt.Sprintf("%s, step %d, kind %d", name, step, kind)
		switch kind {
		case 0:
			x.truncate()
		case 1:
			require.NoError(x.t, x.s.Close(), x.name)
			x.s = x.w.open(x.t, 100, x.options())
		case 2:
			require.NoError(x.t, x.s.Seal(), x.name)
			_, err := x.s.Truncate(x.next) // active again
			require.NoError(x.t, err, x.name)
		case 3:
			require.NoError(x.t, x.s.Reindex(x.t.Context()), x.name)
		case 4:
			got, err := x.s.Recover(x.t.Context(), segment.RecoverOptions{From: x.next - 5})
			require.NoError(x.t, err, x.name)
			require.Zero(x.t, got.CutBytes, x.name)
			require.Len(x.t, x.batches, got.Batches, x.name)
		default:
			x.append()
		}
		x.check()
		x.name = name
	}
	require.NoError(x.t, x.s.Remove(), x.name)
}

// append appends up to three batches, some behind a hole.
func (x *subject) append() {
	var bytes []byte
	for range 1 + x.random.IntN(3) {
		h := codec.NewHeader(2)
		h.BaseOffset = x.next + int64(x.random.IntN(4)/3)
		b := modelBatch{base: h.BaseOffset}
		for i := range 1 + x.random.Int64N(4) {
			b.records = append(b.records, codec.Record{
				Offset: h.BaseOffset + i, Timestamp: x.random.Int64N(1000), Value: make([]byte, x.random.IntN(80)),
			})
		}
		longer, err := codec.Kafka().Append(bytes, h, b.records)
		require.NoError(x.t, err, x.name)
		b.size = int64(len(longer) - len(bytes))
		bytes = longer
		b.last = b.records[len(b.records)-1].Offset
		x.batches, x.next = append(x.batches, b), b.last+1
	}
	put(x.t, x.s, bytes)
}

func (x *subject) truncate() {
	to := 100 + x.random.Int64N(max(1, x.next-98))
	_, err := x.s.Truncate(to)
	require.NoError(x.t, err, x.name)
	for n := len(x.batches); n > 0 && x.batches[n-1].last >= to; n-- {
		x.batches = x.batches[:n-1]
	}
	x.next = 100
	if n := len(x.batches); n > 0 {
		x.next = x.batches[n-1].last + 1
	}
}

// find is the number of the first batch with a last offset of offset or more.
func (m *model) find(offset int64) int {
	for i, b := range m.batches {
		if b.last >= offset {
			return i
		}
	}
	return len(m.batches)
}

// findTime is the first record with a timestamp of ms or later at from or above.
func (m *model) findTime(ms, from int64) (codec.Record, bool) {
	for _, b := range m.batches {
		for _, r := range b.records {
			if r.Timestamp >= ms && r.Offset >= from {
				return r, true
			}
		}
	}
	return codec.Record{}, false
}

func (x *subject) check() {
	next, err := x.s.NextOffset()
	require.NoError(x.t, err, x.name)
	require.Equal(x.t, x.next, next, x.name)
	var size int64
	largest := int64(-1)
	for _, b := range x.batches {
		size += b.size
		for _, r := range b.records {
			largest = max(largest, r.Timestamp)
		}
	}
	require.Equal(x.t, size, x.s.Size(), x.name)
	timestamp, _, err := x.s.MaxTimestamp()
	require.NoError(x.t, err, x.name)
	require.Equal(x.t, largest, timestamp, x.name)
	for range 5 {
		x.checkOffset(99 + x.random.Int64N(x.next-97))
		x.checkTime(x.random.Int64N(1000), 100+x.random.Int64N(x.next-99))
	}
	for d, err := range x.s.Verify(x.t.Context()) {
		require.NoError(x.t, err, x.name)
		require.Fail(x.t, "damage", "%s: %+v", x.name, d)
	}
}

func (x *subject) checkOffset(offset int64) {
	i := x.find(offset)
	b, ok, err := x.s.Find(offset)
	require.NoError(x.t, err, x.name)
	require.Equal(x.t, i < len(x.batches), ok, "%s: Find(%d)", x.name, offset)
	if !ok {
		return
	}
	require.Equal(x.t, x.batches[i].base, b.BaseOffset, "%s: Find(%d)", x.name, offset)

	limit := x.random.Int64N(1000)
	endOffset := offset + x.random.Int64N(20)
	if x.random.IntN(2) == 0 {
		endOffset = math.MaxInt64
	}
	var want []int64
	var size int64
	for j := i; j < len(x.batches); j++ {
		if size += x.batches[j].size; j > i && size > limit || x.batches[j].last >= endOffset {
			break
		}
		for _, r := range x.batches[j].records {
			if r.Offset >= offset {
				want = append(want, r.Offset)
			}
		}
	}
	r, ok, err := x.s.Read(offset, segment.Limits{MaxBytes: limit, AtLeastOne: true, EndOffset: endOffset})
	require.NoError(x.t, err, x.name)
	require.True(x.t, ok, x.name)
	require.Equal(x.t, want, offsets(x.t, r), "%s: Read(%d) of %d bytes below %d", x.name, offset, limit, endOffset)
	require.NoError(x.t, r.Close())
}

func (x *subject) checkTime(ms, from int64) {
	want, found := x.findTime(ms, from)
	f, ok, err := x.s.FindTime(ms, from)
	require.NoError(x.t, err, x.name)
	require.Equal(x.t, found, ok, "%s: FindTime(%d, %d)", x.name, ms, from)
	if ok {
		require.Equal(x.t, want.Offset, f.Offset, "%s: FindTime(%d, %d)", x.name, ms, from)
		require.Equal(x.t, want.Timestamp, f.Timestamp, x.name)
	}
}
