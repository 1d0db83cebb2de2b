package segment_test

import (
	"errors"
	"io/fs"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/segment"
)

// The scenarios in these tests, by their ids, are those of Kafka's LogSegmentTest.

func TestAppendOverflow(t *testing.T) { // F1
	eachWorld(t, func(w world) {
		t := w.t
		for _, row := range []struct{ base, last int64 }{
			{0, math.MinInt32},
			{0, math.MaxInt32 + 1},
			{1, 0},
			{100, 10},
			{math.MaxInt32 + 1, 0},
			{math.MaxInt32 + 1, math.MaxUint32 + 1},
		} {
			s := w.open(t, row.base, segment.Options{})
			b := batch(t, 0, 1, 10)
			hs := headers(t, b)
			hs[0].LastOffset = row.last
			_, err := s.Append(b, hs)
			assert.ErrorIs(t, err, segment.ErrOverflow, "base %d, last offset %d", row.base, row.last)
			assert.Zero(t, s.Size())
		}
		_, err := w.tryOpen(t, math.MinInt32, segment.Options{})
		assert.ErrorIs(t, err, segment.ErrOverflow, "a base below 0")
	})
}

func TestReadEmpty(t *testing.T) { // F2
	eachWorld(t, func(w world) {
		t := w.t
		s := w.open(t, 40, segment.Options{})
		r, ok, err := s.Read(40, segment.Limits{MaxBytes: 300})
		require.NoError(t, err)
		assert.False(t, ok)
		assert.Zero(t, r.Len())
		_, _, placed := r.Place()
		assert.False(t, placed)
		next, err := s.NextOffset()
		require.NoError(t, err)
		assert.EqualValues(t, 40, next)
	})
}

func TestRead(t *testing.T) { // F3, F4, F5, C96
	eachWorld(t, func(w world) {
		t := w.t
		s := w.open(t, 40, segment.Options{})
		put(t, s, batch(t, 50, 4, 10))
		put(t, s, batch(t, 60, 2, 10))
		for _, row := range []struct {
			offset int64
			max    int64
			ok     bool
			want   []int64
			next   int64
		}{
			{41, 1 << 20, true, []int64{50, 51, 52, 53, 60, 61}, 62},
			{41, 200, true, []int64{50, 51, 52, 53}, 54},
			{52, 1 << 20, true, []int64{52, 53, 60, 61}, 62},
			{55, 1 << 20, true, []int64{60, 61}, 62},
			{61, 1, true, []int64{61}, 62},
			{62, 1 << 20, false, nil, 62},
		} {
			r, ok, err := s.Read(row.offset, segment.Limits{MaxBytes: row.max, AtLeastOne: true})
			require.NoError(t, err)
			assert.Equal(t, row.ok, ok, "Read(%d)", row.offset)
			assert.Equal(t, row.want, offsets(t, r), "Read(%d)", row.offset)
			assert.Equal(t, row.next, r.NextOffset(), "Read(%d)", row.offset)
			require.NoError(t, r.Close())
		}
		next, err := s.NextOffset() // F13
		require.NoError(t, err)
		assert.EqualValues(t, 62, next)
	})
}

func TestReadLimits(t *testing.T) { // F6, F7, C97
	eachWorld(t, func(w world) {
		t := w.t
		s := w.open(t, 40, segment.Options{IndexIntervalBytes: -1})
		var pos []int64
		for offset := int64(50); offset < 80; offset++ {
			pos = append(pos, put(t, s, batch(t, offset, 1, 10)))
		}
		size := pos[1]
		for _, row := range []struct {
			name   string
			offset int64
			l      segment.Limits
			want   int64 // the number of records
		}{
			{"nothing fits", 50, segment.Limits{MaxBytes: size - 1}, 0},
			{"one fits", 50, segment.Limits{MaxBytes: size}, 1},
			{"at least one", 50, segment.Limits{AtLeastOne: true}, 1},
			{"many fit", 52, segment.Limits{MaxBytes: 20*size + 1}, 20},
			{"all fit", 50, segment.Limits{MaxBytes: math.MaxInt64}, 30},
			{"up to a position", 51, segment.Limits{MaxBytes: math.MaxInt64, EndPos: pos[9]}, 8},
			{"from behind a position", 65, segment.Limits{MaxBytes: math.MaxInt64, EndPos: pos[9], AtLeastOne: true}, 0},
			{"up to an offset", 51, segment.Limits{MaxBytes: math.MaxInt64, EndOffset: 71}, 20},
			{"up to its own offset", 51, segment.Limits{MaxBytes: math.MaxInt64, EndOffset: 51, AtLeastOne: true}, 0},
		} {
			r, ok, err := s.Read(row.offset, row.l)
			require.NoError(t, err)
			assert.True(t, ok, row.name)
			assert.Equal(t, row.want*size, r.Len(), row.name)
			assert.Equal(t, row.offset+row.want, r.NextOffset(), row.name)
			base, at, ok := r.Place()
			assert.True(t, ok, row.name)
			assert.EqualValues(t, 40, base, row.name)
			assert.Equal(t, pos[row.offset-50], at, row.name)
			require.NoError(t, r.Close())
		}
		// Below the first batch, behind the last.
		r, ok, err := s.Read(48, segment.Limits{MaxBytes: 300, EndOffset: 48, AtLeastOne: true})
		require.NoError(t, err)
		assert.True(t, ok)
		assert.Zero(t, r.Len())
		base, at, ok := r.Place()
		assert.Equal(t, []any{int64(40), int64(0), true}, []any{base, at, ok})
		_, ok, err = s.Read(80, segment.Limits{MaxBytes: 300, EndOffset: 80})
		require.NoError(t, err)
		assert.False(t, ok)
	})
}

func TestTruncateRepeatedly(t *testing.T) { // F8, F20
	eachWorld(t, func(w world) {
		t := w.t
		s := w.open(t, 40, segment.Options{IndexIntervalBytes: -1})
		for offset := int64(40); offset < 70; offset++ {
			put(t, s, batch(t, offset, 1, 10))
			put(t, s, batch(t, offset+10, 1, 10))
			cut, err := s.Truncate(offset + 1)
			require.NoError(t, err)
			assert.Positive(t, cut)
			r, ok, err := s.Read(offset, segment.Limits{MaxBytes: 1000})
			require.NoError(t, err)
			require.True(t, ok)
			assert.Equal(t, []int64{offset}, offsets(t, r))
			require.NoError(t, r.Close())
		}
	})
}

func TestTimestampsAfterTruncate(t *testing.T) { // F10
	eachWorld(t, func(w world) {
		t := w.t
		size := len(batch(t, 40, 1, 10))
		s := w.open(t, 40, segment.Options{IndexIntervalBytes: int64(2*size - 1)})
		for offset := int64(40); offset < 70; offset++ {
			put(t, s, batch(t, offset, 1, 10))
		}
		offsetBytes, timeBytes := s.IndexBytes()
		assert.EqualValues(t, 14*8, offsetBytes)
		assert.EqualValues(t, 14*12, timeBytes)
		_, err := s.Truncate(41)
		require.NoError(t, err)
		_, timeBytes = s.IndexBytes()
		assert.Zero(t, timeBytes)
		timestamp, offset, err := s.MaxTimestamp()
		require.NoError(t, err)
		assert.EqualValues(t, 400, timestamp)
		assert.EqualValues(t, 40, offset)
		next, err := s.NextOffset()
		require.NoError(t, err)
		assert.EqualValues(t, 41, next)
	})
}

func TestFindTime(t *testing.T) { // F12, C101
	eachWorld(t, func(w world) {
		t := w.t
		s := w.open(t, 40, segment.Options{IndexIntervalBytes: 10})
		for offset := int64(40); offset < 50; offset++ {
			put(t, s, batch(t, offset, 1, 10))
		}
		for _, row := range []struct{ timestamp, from, want int64 }{
			{420, 40, 42},
			{421, 40, 43},
			{430, 40, 43},
			{431, 40, 44},
			{491, 40, -1},
			{401, 40, 41},
			{399, 40, 40},
			{399, 45, 45},
			{-1, 40, 40},
		} {
			f, ok, err := s.FindTime(row.timestamp, row.from)
			require.NoError(t, err)
			if !assert.Equal(t, row.want >= 0, ok, "FindTime(%d)", row.timestamp) || !ok {
				continue
			}
			assert.Equal(t, segment.Found{Offset: row.want, Timestamp: 10 * row.want, LeaderEpoch: 0}, f)
		}
	})
}

func TestRename(t *testing.T) { // F14, F24 testDeleteIfExists
	eachWorld(t, func(w world) {
		t := w.t
		s := w.open(t, 40, segment.Options{})
		put(t, s, batch(t, 40, 1, 10))
		require.NoError(t, s.Rename(segment.Deleted))
		assert.Equal(t, segment.Deleted, s.State())
		for _, extension := range []string{segment.LogExt, segment.IndexExt, segment.TimeIndexExt} {
			_, err := w.fs.Stat("p-0/" + segment.FileName(40, extension, segment.Deleted))
			assert.NoError(t, err)
		}
		put(t, s, batch(t, 41, 1, 10))
		require.NoError(t, s.Seal())
		require.NoError(t, s.Remove())
		entries, err := w.fs.ReadDir("p-0")
		require.NoError(t, err)
		assert.Empty(t, entries)
	})
}

func TestSealAndClose(t *testing.T) { // F25, F26
	eachWorld(t, func(w world) {
		t := w.t
		s := w.open(t, 7, segment.Options{})
		put(t, s, batch(t, 7, 2, 10))
		require.NoError(t, s.Close())
		require.NoError(t, s.Close())
		assert.False(t, s.Acquire())
		_, err := s.Append(batch(t, 9, 1, 1), headers(t, batch(t, 9, 1, 1)))
		assert.ErrorIs(t, err, fs.ErrClosed)
		assert.Empty(t, w.contents(t, "p-0/00000000000000000007.index"))
		assert.Equal(t, []byte{0, 0, 0, 0, 0, 0, 0, 80, 0, 0, 0, 1}, w.contents(t, "p-0/00000000000000000007.timeindex"))

		s = w.open(t, 7, segment.Options{Sealed: true})
		assert.True(t, s.Sealed())
		timestamp, offset, err := s.MaxTimestamp()
		require.NoError(t, err)
		assert.Equal(t, []int64{80, 8}, []int64{timestamp, offset})
		next, err := s.NextOffset()
		require.NoError(t, err)
		assert.EqualValues(t, 9, next)
		_, err = s.Append(batch(t, 9, 1, 1), headers(t, batch(t, 9, 1, 1)))
		assert.ErrorIs(t, err, fs.ErrClosed)
	})
}

func TestOpenReadOnly(t *testing.T) {
	eachWorld(t, func(w world) {
		t := w.t
		_, err := w.tryOpen(t, 7, segment.Options{ReadOnly: true})
		assert.ErrorIs(t, err, fs.ErrNotExist)
		s := w.open(t, 7, segment.Options{IndexIntervalBytes: -1})
		for offset := int64(7); offset < 20; offset++ {
			put(t, s, batch(t, offset, 1, 10))
		}
		require.NoError(t, s.Close())
		for _, extension := range []string{segment.IndexExt, segment.TimeIndexExt} {
			require.NoError(t, w.fs.Remove("p-0/"+segment.FileName(7, extension, segment.Live)))
		}
		s = w.open(t, 7, segment.Options{ReadOnly: true})
		assert.ErrorIs(t, s.IndexErr(), fs.ErrNotExist)
		b, ok, err := s.Find(15)
		require.NoError(t, err)
		assert.True(t, ok)
		assert.EqualValues(t, 15, b.LastOffset)
		timestamp, _, err := s.MaxTimestamp()
		require.NoError(t, err)
		assert.EqualValues(t, 190, timestamp)
		f, ok, err := s.FindTime(151, 0)
		require.NoError(t, err)
		assert.True(t, ok)
		assert.EqualValues(t, 16, f.Offset)
		_, err = s.Truncate(8)
		assert.ErrorIs(t, err, fs.ErrPermission)
		_, err = s.Append(batch(t, 20, 1, 1), headers(t, batch(t, 20, 1, 1)))
		assert.ErrorIs(t, err, fs.ErrPermission)
		require.NoError(t, s.Close())
		entries, err := w.fs.ReadDir("p-0")
		require.NoError(t, err)
		assert.Len(t, entries, 1)
	})
}

func TestSliceKeepsFiles(t *testing.T) {
	eachWorld(t, func(w world) {
		t := w.t
		s := w.open(t, 0, segment.Options{})
		put(t, s, batch(t, 0, 3, 10))
		r, ok, err := s.Read(1, segment.Limits{MaxBytes: 1 << 20})
		require.NoError(t, err)
		require.True(t, ok)
		require.NoError(t, s.Remove())
		assert.Equal(t, []int64{1, 2}, offsets(t, r))
		require.NoError(t, r.Close())
		require.NoError(t, r.Close())
		assert.Zero(t, r.Len())
		_, err = r.WriteTo(nil)
		assert.ErrorIs(t, err, fs.ErrClosed)
		_, err = w.fs.Stat("p-0/00000000000000000000.log")
		assert.True(t, errors.Is(err, fs.ErrNotExist))
	})
}

// TestLeftovers: indexes without a log are those of an older segment, which a crash brought back (L-05).
func TestLeftovers(t *testing.T) {
	eachWorld(t, func(w world) {
		t := w.t
		w.filled(t, 20)
		require.NoError(t, w.fs.Remove(logFile))
		s := w.open(t, 0, segment.Options{IndexIntervalBytes: 200})
		require.NoError(t, s.IndexErr())
		offsetBytes, timeBytes := s.IndexBytes()
		assert.Equal(t, []int64{0, 0}, []int64{offsetBytes, timeBytes})
		put(t, s, batch(t, 0, 1, 10))
	})
}

// TestDisown: files that took the place of a segment's own are neither read nor removed by it.
func TestDisown(t *testing.T) {
	eachWorld(t, func(w world) {
		t := w.t
		w.filled(t, 3)
		h := segment.NewHandles(segment.HandleOptions{})
		s := w.open(t, 0, segment.Options{Sealed: true, Handles: h})
		r, ok, err := s.Read(0, segment.Limits{MaxBytes: 1 << 20})
		require.NoError(t, err)
		require.True(t, ok)
		require.NoError(t, s.Rename(segment.Deleted))
		s.Disown()
		want := w.files(t, "p-0")
		_, _, err = s.Aborted(nil, 0, 10)
		require.ErrorIs(t, err, fs.ErrClosed, "not open yet")
		require.NoError(t, s.Remove())
		n := 0
		for _, err := range r.Records() {
			require.NoError(t, err)
			n++
		}
		require.Equal(t, 6, n)
		require.NoError(t, r.Close())
		require.Equal(t, want, w.files(t, "p-0"))
		require.Zero(t, h.Stats().Files)
	})
}
