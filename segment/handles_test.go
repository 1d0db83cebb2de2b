package segment_test

import (
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/aferofs"
	"github.com/stratalog/strata/segment"
)

// counted counts the files and mappings that are open in inner.
func counted(inner fsio.FS, files, maps *atomic.Int64) fsio.FS {
	return fsio.Intercept(inner, func(op *fsio.Op, do func() error) error {
		err := do()
		if err != nil {
			return err
		}
		switch op.Kind { // the others open and close nothing
		case fsio.OpOpen, fsio.OpCreate:
			files.Add(1)
		case fsio.OpClose:
			files.Add(-1)
		case fsio.OpMap:
			maps.Add(1)
		case fsio.OpMapClose:
			maps.Add(-1)
		}
		return nil
	})
}

func TestHandlesAreBounded(t *testing.T) {
	eachWorld(t, func(w world) {
		t := w.t
		const n, maxFiles, maxMaps = 60, 14, 5
		var files, maps atomic.Int64
		w.fs = counted(w.fs, &files, &maps)
		h := segment.NewHandles(segment.HandleOptions{MaxFiles: maxFiles, MaxMaps: maxMaps})
		open := func(base int64, sealed bool) *segment.Segment {
			s, err := w.tryOpen(t, base, segment.Options{Handles: h, Sealed: sealed, IndexIntervalBytes: -1})
			require.NoError(t, err)
			return s
		}
		var all []*segment.Segment
		for base := int64(0); base < 10*n; base += 10 {
			s := open(base, false)
			for i := range int64(3) {
				put(t, s, batch(t, base+i, 1, 5))
			}
			require.NoError(t, s.Seal())
			require.LessOrEqual(t, h.Stats().Files, maxFiles)
			all = append(all, s)
		}
		read := func(s *segment.Segment) {
			r, ok, err := s.Read(s.BaseOffset()+1, segment.Limits{MaxBytes: 1000})
			require.NoError(t, err)
			require.True(t, ok)
			assert.Len(t, offsets(t, r), 2)
			require.NoError(t, r.Close())
		}
		for range 2 {
			for _, s := range all {
				read(s)
				require.LessOrEqual(t, files.Load(), int64(maxFiles))
				require.LessOrEqual(t, maps.Load(), int64(maxMaps))
				assert.LessOrEqual(t, h.Stats().Files, maxFiles)
			}
		}
		assert.Positive(t, h.Stats().Evictions)
		assert.Zero(t, h.Stats().Pinned)

		// What was used last is open still; who holds more than the bound gets it.
		opens := h.Stats().Opens
		read(all[n-1])
		assert.Equal(t, opens, h.Stats().Opens)
		var held []*segment.Slice
		for _, s := range all[:2*maxFiles] {
			r, _, err := s.Read(s.BaseOffset(), segment.Limits{MaxBytes: 1000})
			require.NoError(t, err)
			held = append(held, r)
		}
		assert.Equal(t, 2*maxFiles, h.Stats().Held)
		for _, r := range held {
			assert.Len(t, offsets(t, r), 3)
			require.NoError(t, r.Close())
		}
		assert.LessOrEqual(t, h.Stats().Files, maxFiles)
		assert.LessOrEqual(t, files.Load(), int64(maxFiles))

		active := open(10*n, false)
		assert.Positive(t, h.Stats().Pinned)
		for i := range int64(n) {
			put(t, active, batch(t, 10*n+i, 1, 5))
			read(all[i])
		}
		for _, s := range append(all, active) {
			require.NoError(t, s.Close())
		}
		assert.Zero(t, files.Load())
		assert.Zero(t, maps.Load())
		assert.Equal(t, [4]int{}, [4]int{h.Stats().Files, h.Stats().Maps, h.Stats().Pinned, h.Stats().Held})
	})
}

// TestHandlesTryAgain: a file that cannot be opened is one reader's error.
func TestHandlesTryAgain(t *testing.T) {
	w := world{fs: aferofs.Mem()}
	w.filled(t, 10)
	failing := true
	w.fs = fsio.Intercept(w.fs, func(op *fsio.Op, do func() error) error {
		if failing && op.Kind == fsio.OpOpen {
			return syscall.EMFILE
		}
		return do()
	})
	s := w.open(t, 0, segment.Options{Sealed: true})
	_, _, err := s.Find(3)
	assert.ErrorIs(t, err, syscall.EMFILE)
	failing = false
	_, ok, err := s.Find(3)
	require.NoError(t, err)
	assert.True(t, ok)
	require.NoError(t, s.IndexErr())
}

// TestOpenFailures opens, creates and cuts a segment while every call in turn fails: an error, no panic, and
// nothing stays open (I-16).
func TestOpenFailures(t *testing.T) {
	for _, work := range []struct {
		name string
		do   func(w world) error
	}{
		{"create", func(w world) error {
			s, err := w.tryOpen(t, 100, segment.Options{})
			if err == nil {
				err = s.Close()
			}
			return err
		}},
		{"open and cut", func(w world) error {
			s, err := w.tryOpen(t, 0, segment.Options{Sealed: true, Check: true})
			if err != nil {
				return err
			}
			_, err = s.Truncate(7)
			if closeErr := s.Close(); err == nil {
				err = closeErr
			}
			return err
		}},
	} {
		for n := 1; ; n++ {
			inner := world{fs: aferofs.Mem()}
			inner.filled(t, 10)
			var files, maps atomic.Int64
			calls := 0
			w := world{fs: fsio.Intercept(counted(inner.fs, &files, &maps), func(op *fsio.Op, do func() error) error {
				if !fsio.Closes.Has(op.Kind) && op.Kind != fsio.OpMkdirAll {
					if calls++; calls == n {
						return syscall.EIO
					}
				}
				return do()
			})}
			err := work.do(w)
			assert.Zero(t, files.Load(), "%s with call %d failing", work.name, n)
			assert.Zero(t, maps.Load(), "%s with call %d failing", work.name, n)
			if calls < n {
				require.NoError(t, err)
				break
			}
		}
	}
}
