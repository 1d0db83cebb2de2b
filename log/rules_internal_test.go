package log

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio/aferofs"
)

// ninePlusOne is a log of nine segments of a record each and an empty active one.
func ninePlusOne(t *testing.T) *Log {
	t.Helper()
	l, err := Open(t.Context(), "t-0", Options{FS: aferofs.Mem()})
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	for range 9 {
		_, err := l.AppendRecords(codec.Record{Value: []byte("v")})
		require.NoError(t, err)
		_, err = l.Roll()
		require.NoError(t, err)
	}
	require.Len(t, l.view.Load().segs, 10)
	return l
}

// G65 testDeletableSegmentsFilter: how many segments go by a rule.
func TestG65RulesFilter(t *testing.T) {
	always := func(*view, int) (bool, error) { return true, nil }
	for _, row := range []struct {
		name   string
		filled bool // the active segment is not empty
		r      rule
		want   int
	}{
		{"base offsets up to 5", false, func(v *view, i int) (bool, error) { return v.segs[i].BaseOffset() <= 5, nil }, 6},
		{"always: an empty active one stays", false, always, 9},
		{"always", true, always, 10},
	} {
		t.Run(row.name, func(t *testing.T) {
			l := ninePlusOne(t)
			if row.filled {
				_, err := l.AppendRecords(codec.Record{Value: []byte("v")})
				require.NoError(t, err)
			}
			l.mu.Lock()
			n, _, err := l.retain(row.r)
			l.mu.Unlock()
			require.NoError(t, err)
			require.Equal(t, row.want, n)
		})
	}
}

// G65 testDeletableSegmentsIteration: a rule is asked in the order of the segments, and sees the next one.
func TestG65RulesIteration(t *testing.T) {
	l := ninePlusOne(t)
	_, err := l.AppendRecords(codec.Record{Value: []byte("v")})
	require.NoError(t, err)
	asked := int64(0)
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _, err = l.retain(func(v *view, i int) (bool, error) {
		require.Equal(t, asked, v.segs[i].BaseOffset())
		require.Equal(t, asked+1, v.next(i), "the next one's, of the last one the end")
		asked++
		return true, nil
	})
	require.NoError(t, err)
	require.EqualValues(t, 10, asked)
}

// G31 testRollSegmentErrorWhenNextOffsetIsIllegal.
func TestG31RollBelowTheActiveSegment(t *testing.T) {
	l := ninePlusOne(t)
	l.mu.Lock()
	defer l.mu.Unlock()
	next := *l.view.Load()
	next.end = next.active().BaseOffset() - 1
	_, err := l.roll(&next, 0, RollByCall)
	require.ErrorIs(t, err, fs.ErrExist)
}

// G80 testGetFirstBatchTimestampForSegments: of an empty segment there is none, for which Kafka says the largest.
func TestG80FirstTimestamps(t *testing.T) {
	l, err := Open(t.Context(), "t-0", Options{FS: aferofs.Mem()})
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	want := []int64{1000, 2000, codec.NoTimestamp}
	for _, ms := range want[:2] {
		_, err := l.AppendRecords(codec.Record{Timestamp: ms, Value: []byte("v")})
		require.NoError(t, err)
		_, err = l.Roll()
		require.NoError(t, err)
	}
	for i, s := range l.view.Load().segs {
		got, err := s.FirstTimestamp()
		require.NoError(t, err)
		require.Equal(t, want[i], got)
	}
}
