package segment_test

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/aferofs"
	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/segment"
)

// TestSparse makes entries by Kafka's rule: a batch gets one where more than the interval lies between it and
// the last that got one, or the size at Open, and never the first (F25, F26).
func TestSparse(t *testing.T) {
	size := int64(len(batch(t, 0, 1, 20)))
	for _, row := range []struct {
		name     string
		interval int64
		appends  []int // batches each
		reopen   int   // before this append
		want     []int // the batches with an entry
	}{
		{"every batch but the first", -1, []int{1, 1, 1, 1}, -1, []int{1, 2, 3}},
		{"also in one append", -1, []int{4}, -1, []int{1, 2, 3}},
		{"exactly the interval is not more", size, []int{5}, -1, []int{2, 4}},
		{"a byte less is", size - 1, []int{5}, -1, []int{1, 2, 3, 4}},
		{"across appends", 2*size - 1, []int{1, 2, 3, 1}, -1, []int{2, 4, 6}},
		{"counting begins anew", 2*size - 1, []int{1, 2, 3, 1}, 2, []int{2, 5}},
		{"default", 0, []int{9}, -1, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			eachWorld(t, func(w world) {
				t := w.t
				o := segment.Options{IndexIntervalBytes: row.interval}
				s := w.open(t, 0, o)
				offset := int64(0)
				for i, n := range row.appends {
					if i == row.reopen {
						require.NoError(t, s.Close())
						s = w.open(t, 0, o)
					}
					var batches []byte
					for range n {
						batches = append(batches, batch(t, offset, 1, 20)...)
						offset++
					}
					put(t, s, batches)
				}
				require.NoError(t, s.Seal())
				wantOffsets, wantTimes := []byte{}, []byte{}
				for _, i := range row.want {
					wantOffsets = binary.BigEndian.AppendUint32(wantOffsets, uint32(i))
					wantOffsets = binary.BigEndian.AppendUint32(wantOffsets, uint32(int64(i)*size))
				}
				times := row.want
				if row.reopen > 0 { // closing has left one
					times = append([]int{row.appends[0] + row.appends[1] - 1}, times[1:]...)
				}
				if last := int(offset - 1); len(times) == 0 || times[len(times)-1] != last {
					times = append(times, last)
				}
				for _, i := range times {
					wantTimes = binary.BigEndian.AppendUint64(wantTimes, uint64(10*i))
					wantTimes = binary.BigEndian.AppendUint32(wantTimes, uint32(i))
				}
				assert.Equal(t, wantOffsets, w.contents(t, indexFile))
				assert.Equal(t, wantTimes, w.contents(t, timeIndexFile))
			})
		})
	}
}

// TestFull is Kafka's: of 245 bytes, the time index has room for 19 entries and the one that Seal writes (E15,
// E17).
func TestFull(t *testing.T) {
	eachWorld(t, func(w world) {
		t := w.t
		s := w.open(t, 0, segment.Options{IndexIntervalBytes: -1, IndexBytes: 245})
		for offset := range int64(20) {
			assert.False(t, s.Full(1, offset), "at %d", offset)
			put(t, s, batch(t, offset, 1, 1))
		}
		assert.True(t, s.Full(1, 20))
		for offset := int64(20); offset < 50; offset++ { // goes without
			put(t, s, batch(t, offset, 1, 1))
		}
		require.NoError(t, s.Seal())
		assert.Len(t, w.contents(t, indexFile), 30*8)
		times := w.contents(t, timeIndexFile)
		assert.Len(t, times, 20*12)
		assert.EqualValues(t, 49, binary.BigEndian.Uint32(times[19*12+8:]))

		s = w.open(t, 100, segment.Options{})
		assert.False(t, s.Full(1<<31-1, 100+1<<31-1))
		assert.True(t, s.Full(1<<31, 100))
		assert.True(t, s.Full(1, 100+1<<31))
		assert.True(t, s.Full(1, 99))
	})
}

// TestTimestampsOfAnyOrder: the time index has absolute times that rise, whatever comes (I-09).
func TestTimestampsOfAnyOrder(t *testing.T) {
	eachWorld(t, func(w world) {
		t := w.t
		s := w.open(t, 0, segment.Options{IndexIntervalBytes: -1})
		for i, timestamp := range []int64{1e12, 1e12 - 5, 0, -1, 1e12 + 1<<33, 1 << 62, 1 << 61} {
			h := codec.NewHeader(2)
			h.BaseOffset = int64(i)
			b, err := codec.Kafka().Append(nil, h, []codec.Record{{Offset: int64(i), Timestamp: timestamp}})
			require.NoError(t, err)
			put(t, s, b)
		}
		timestamp, offset, err := s.MaxTimestamp()
		require.NoError(t, err)
		assert.Equal(t, []int64{1 << 62, 5}, []int64{timestamp, offset})
		first, err := s.FirstTimestamp()
		require.NoError(t, err)
		assert.EqualValues(t, 1e12, first)
		require.NoError(t, s.Seal())
		var got []int64
		for times := w.contents(t, timeIndexFile); len(times) > 0; times = times[12:] {
			got = append(got, int64(binary.BigEndian.Uint64(times)))
		}
		assert.Equal(t, []int64{1e12, 1e12 + 1<<33, 1 << 62}, got)
	})
}

func TestTruncateEmptyAndFull(t *testing.T) { // F9, F11, I-04
	eachWorld(t, func(w world) {
		t := w.t
		s := w.open(t, 40, segment.Options{IndexIntervalBytes: -1, IndexBytes: 80})
		cut, err := s.Truncate(57)
		require.NoError(t, err)
		assert.Zero(t, cut)
		assert.False(t, s.Full(1, 57))
		assert.True(t, s.Full(1, 40+1<<31), "the offset does not fit, also into an empty segment")
		for offset := int64(40); offset < 46; offset++ {
			put(t, s, batch(t, offset, 1, 1))
		}
		first, err := s.FirstTimestamp()
		require.NoError(t, err)
		assert.EqualValues(t, 400, first)
		require.NoError(t, s.Seal())
		size := s.Size()
		cut, err = s.Truncate(40)
		require.NoError(t, err)
		assert.Equal(t, size, cut)
		assert.False(t, s.Sealed())
		assert.False(t, s.Full(1, 41))
		_, ok, err := s.Read(40, segment.Limits{MaxBytes: 300})
		require.NoError(t, err)
		assert.False(t, ok)
		first, err = s.FirstTimestamp()
		require.NoError(t, err)
		assert.Equal(t, codec.NoTimestamp, first)
		timestamp, offset, err := s.MaxTimestamp()
		require.NoError(t, err)
		assert.Equal(t, []int64{-1, -1}, []int64{timestamp, offset})
		for offset := int64(41); offset < 46; offset++ {
			put(t, s, batch(t, offset, 1, 1))
		}
		first, err = s.FirstTimestamp()
		require.NoError(t, err)
		assert.EqualValues(t, 410, first)
		offsetBytes, _ := s.IndexBytes()
		assert.EqualValues(t, 4*8, offsetBytes)
	})
}

func TestPreallocate(t *testing.T) { // F19, R9
	eachWorld(t, func(w world) {
		t := w.t
		o := segment.Options{SegmentBytes: 5000, Preallocate: true}
		s := w.open(t, 0, o)
		want := batch(t, 0, 2, 50)
		put(t, s, want)
		assert.Len(t, w.contents(t, logFile), 5000)
		assert.EqualValues(t, len(want), s.Size())
		require.NoError(t, s.Close())
		assert.Equal(t, want, w.contents(t, logFile))
		s = w.open(t, 0, o)
		assert.EqualValues(t, len(want), s.Size())
		put(t, s, batch(t, 2, 1, 50))
	})
}

// TestModTime: opening and closing a segment leave its age alone (S-17).
func TestModTime(t *testing.T) {
	eachWorld(t, func(w world) {
		t := w.t
		w.filled(t, 3)
		old := time.UnixMilli(1_500_000_000_000)
		s := w.open(t, 0, segment.Options{Sealed: true})
		require.NoError(t, s.SetModTime(old))
		require.NoError(t, s.Close())
		for _, sealed := range []bool{true, false} {
			s := w.open(t, 0, segment.Options{Sealed: sealed})
			_, err := s.NextOffset()
			require.NoError(t, err)
			require.NoError(t, s.Close())
			s = w.open(t, 0, segment.Options{Sealed: true})
			got, err := s.ModTime()
			require.NoError(t, err)
			assert.True(t, old.Equal(got), "%v, want %v", got, old)
			require.NoError(t, s.Close())
		}
	})
}

// moveTo gives the directory of a segment another name.
func moveTo(t *testing.T, w world, s *segment.Segment, from, to string) {
	t.Helper()
	require.NoError(t, segment.Move([]*segment.Segment{s}, to, func() error { return w.fs.Rename(from, to) }))
}

// TestMoved: after its directory got another name, nothing appears under the old one (S-16).
func TestMoved(t *testing.T) {
	eachWorld(t, func(w world) {
		t := w.t
		w.filled(t, 3)
		for _, sealed := range []bool{true, false} {
			s := w.open(t, 0, segment.Options{Sealed: sealed})
			moveTo(t, w, s, "p-0", "p-0.x-delete")
			lookUpAll(t, s, 3)
			require.NoError(t, s.Sync())
			if !sealed {
				put(t, s, batch(t, 6, 1, 1))
				require.NoError(t, s.AppendAborted(index.AbortedTxn{LastOffset: 6}))
			}
			require.NoError(t, s.Close())
			_, err := w.fs.Stat("p-0")
			assert.ErrorIs(t, err, fs.ErrNotExist)
			require.NoError(t, w.fs.Rename("p-0.x-delete", "p-0"))
		}
	})
}

// TestAppendIndexFails: where a batch cannot be indexed, nothing of it stays.
func TestAppendIndexFails(t *testing.T) {
	failing := false
	mem := aferofs.Mem()
	w := world{fs: fsio.Intercept(mem, func(op *fsio.Op, do func() error) error {
		if failing && op.Kind == fsio.OpWriteAt && op.Path == timeIndexFile {
			return syscall.ENOSPC
		}
		return do()
	}), parts: segment.Parts{OpenIndex: index.OpenFile}}
	s := w.open(t, 0, segment.Options{IndexIntervalBytes: -1})
	put(t, s, batch(t, 0, 1, 10))
	put(t, s, batch(t, 1, 1, 10))
	size := s.Size()
	failing = true
	more := append(batch(t, 2, 1, 10), batch(t, 3, 1, 10)...)
	_, err := s.Append(more, headers(t, more))
	assert.ErrorIs(t, err, syscall.ENOSPC)
	assert.False(t, errors.Is(err, segment.ErrBroken))
	assert.Equal(t, size, s.Size())
	next, err := s.NextOffset()
	require.NoError(t, err)
	assert.EqualValues(t, 2, next)
	failing = false
	pos := put(t, s, more)
	assert.Equal(t, size, pos)
	assert.Empty(t, verify(t, s))
	offsetBytes, _ := s.IndexBytes()
	assert.EqualValues(t, 3*8, offsetBytes)
}

// TestSyncFails: a segment that could not be synced once is not synced again, also when it was closed and
// opened by its Handles in between.
func TestSyncFails(t *testing.T) {
	failing := false
	w := world{fs: fsio.Intercept(aferofs.Mem(), func(op *fsio.Op, do func() error) error {
		if failing && op.Kind == fsio.OpSync {
			return syscall.EIO
		}
		return do()
	})}
	w.filled(t, 3)
	h := segment.NewHandles(segment.HandleOptions{MaxFiles: 1, MaxMaps: 1})
	s := w.open(t, 0, segment.Options{Sealed: true, Handles: h})
	require.NoError(t, s.Sync())
	failing = true
	assert.ErrorIs(t, s.Sync(), syscall.EIO)
	failing = false
	assert.ErrorIs(t, s.Sync(), segment.ErrBroken)
	assert.ErrorIs(t, s.Sync(), syscall.EIO)
}
