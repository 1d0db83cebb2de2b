package manager_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/internal/checkpoint"
	"github.com/stratalog/strata/log"
	"github.com/stratalog/strata/manager"
)

// lone makes a log of five records in dir, opened alone, of which the first two are deleted.
func lone(tb testing.TB, fsys fsio.FS, dir string) {
	tb.Helper()
	l, err := log.Open(tb.Context(), dir, log.Options{FS: fsys})
	require.NoError(tb, err)
	for range 5 {
		_, err := l.AppendRecords(codec.Record{Value: []byte("x")})
		require.NoError(tb, err)
	}
	_, err = l.DeleteBefore(2)
	require.NoError(tb, err)
	require.NoError(tb, l.Close())
}

// TestViewAlone looks at logs that were opened alone: as long as no checkpoint of the directory knows them, a View
// answers as log.Open does.
func TestViewAlone(t *testing.T) {
	alone := log.Resume{Clean: true, RecoveryPoint: 5, StartOffset: 2}
	for _, row := range []struct {
		name   string
		files  map[string]string
		alone  bool
		resume log.Resume
	}{
		{"no checkpoint", nil, true, alone},
		{"checkpoints of others", map[string]string{checkpoint.RecoveryPoints: "0\n1\norders 1 3\n", checkpoint.StartOffsets: "0\n0\n"}, true, alone},
		{"a clean stop of others", map[string]string{checkpoint.CleanShutdown: ""}, true, alone},
		{"a damaged one", map[string]string{checkpoint.HighWatermarks: "damage"}, true, alone},
		{"a broker's", map[string]string{checkpoint.RecoveryPoints: "0\n1\norders 0 4\n"}, false, log.Resume{RecoveryPoint: 4}},
		{"a broker's high watermark", map[string]string{checkpoint.HighWatermarks: "0\n1\norders 0 3\n", checkpoint.CleanShutdown: ""}, false, log.Resume{Clean: true, HighWatermark: 3}},
	} {
		t.Run(row.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, fsys fsio.FS) {
				lone(t, fsys, "orders-0")
				for name, content := range row.files {
					put(t, fsys, name, content)
				}
				v := view(t, fsys)
				require.Len(t, v.Partitions(), 1)
				p := v.Partitions()[0]
				assert.Equal(t, row.alone, p.Alone)
				assert.Equal(t, row.resume, p.Resume)
				l, err := v.Open(t.Context(), p, log.Options{})
				require.NoError(t, err)
				st := l.State()
				require.NoError(t, l.Close())
				assert.Equal(t, []int64{row.resume.StartOffset, 5, 5}, []int64{st.StartOffset, st.EndOffset, st.HighWatermark})
			})
		})
	}
}

// TestViewAloneSetAside looks at one that was put aside: the checkpoints are about another of the same name.
func TestViewAloneSetAside(t *testing.T) {
	onEach(t, func(t *testing.T, fsys fsio.FS) {
		put(t, fsys, checkpoint.StartOffsets, "0\n1\norders 0 4\n")
		lone(t, fsys, "orders-0.131d091d1c14421fa24f76acf770a0ed-delete")
		p := view(t, fsys).Partitions()[0]
		assert.Equal(t, manager.Deleting, p.Role)
		assert.True(t, p.Alone)
		assert.EqualValues(t, 2, p.Resume.StartOffset)
	})
}

// TestVerifyAlone verifies logs that were opened alone: whether their stop was clean, and up to where they were
// synced, is what they say themselves.
func TestVerifyAlone(t *testing.T) {
	onEach(t, func(t *testing.T, fsys fsio.FS) {
		lone(t, fsys, "orders-0")
		assert.Empty(t, found(t, fsys))
		content := read(t, fsys, "orders-0/"+checkpoint.Strata)
		require.NoError(t, fsys.Remove("orders-0/"+checkpoint.Strata)) // then nothing tells
		of := found(t, fsys)
		require.Len(t, of, 1)
		assert.Equal(t, log.CodeUncleanStop, of[0].Code)
		assert.Equal(t, checkpoint.CleanShutdown, of[0].File)
		put(t, fsys, "orders-0/"+checkpoint.Strata, content)
		l, err := log.Open(t.Context(), "orders-0", log.Options{FS: fsys})
		require.NoError(t, err)
		_, err = l.AppendRecords(codec.Record{Value: []byte("more")})
		require.NoError(t, err)
		got := found(t, fsys) // beside the log
		require.NoError(t, l.Close())
		got = slices.DeleteFunc(got, func(f log.Finding) bool { return f.Code != log.CodeUncleanStop })
		require.Len(t, got, 1)
		assert.Equal(t, "orders-0", got[0].File)
		assert.EqualValues(t, 5, got[0].FirstOffset, "the recovery point")
	})
}

// found is what Verify finds.
func found(tb testing.TB, fsys fsio.FS) (all []log.Finding) {
	tb.Helper()
	for f, err := range manager.Verify(tb.Context(), fsys, manager.VerifyOptions{}) {
		require.NoError(tb, err)
		all = append(all, f)
	}
	return all
}

// read is what a file holds.
func read(tb testing.TB, fsys fsio.FS, name string) string {
	tb.Helper()
	content, err := checkpoint.ReadFile(fsys, name, 1<<20)
	require.NoError(tb, err)
	return string(content)
}
