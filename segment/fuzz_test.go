package segment_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/aferofs"
	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/segment"
)

// FuzzRecover recovers a segment of any bytes: without a panic, it keeps exactly the batches before the first
// bad one, and another Recover changes nothing.
func FuzzRecover(f *testing.F) {
	good := append(batch(f, 0, 3, 10), batch(f, 3, 1, 300)...)
	good = append(good, batch(f, 10, 2, 20)...)
	f.Add([]byte{})
	f.Add(good)
	f.Add(good[:len(good)-1])
	f.Add(append(bytes.Clone(good), make([]byte, 100)...))
	f.Add(append(bytes.Clone(good), good...))
	flipped := bytes.Clone(good)
	flipped[200] ^= 4
	f.Add(flipped)
	f.Fuzz(func(t *testing.T, content []byte) {
		w := world{fs: aferofs.Mem(), parts: segment.Parts{OpenIndex: index.OpenFile}}
		require.NoError(t, w.fs.MkdirAll("p-0", 0o755))
		w.create(t, logFile, content)
		s := w.open(t, 0, segment.Options{IndexIntervalBytes: -1})
		got, err := s.Recover(t.Context(), segment.RecoverOptions{})
		require.NoError(t, err)
		kept, batches, next := validPrefix(content)
		require.Equal(t, kept, got.KeptBytes)
		require.Equal(t, batches, got.Batches)
		require.Equal(t, next, got.NextOffset)
		require.Equal(t, content[:kept], w.contents(t, logFile))
		again, err := s.Recover(t.Context(), segment.RecoverOptions{})
		require.NoError(t, err)
		got.CutBytes, got.Cause = 0, nil
		require.Equal(t, got, again)
		for d, err := range s.Verify(t.Context()) {
			require.NoError(t, err)
			require.Equal(t, logFile, d.Path, "%+v", d) // inside a batch, or an epoch
		}
	})
}

// validPrefix is what recovery has to keep of b: the batches up to the first that does not verify, or whose
// offsets do not rise, or are taken back by the next.
func validPrefix(b []byte) (kept int64, n int, next int64) {
	c := codec.Kafka()
	header := func(pos int64) (h codec.Header, low int64, ok bool) {
		h, err := c.Header(b[min(pos, int64(len(b))):])
		if err != nil || int64(h.Size) > int64(len(b))-pos {
			return h, 0, false
		}
		if low = h.BaseOffset; low == codec.NoOffset {
			low = h.LastOffset
		}
		return h, low, true
	}
	for {
		h, low, ok := header(kept)
		if !ok || h.LastOffset > 1<<31-1 || h.LastOffset < 0 || low < next ||
			c.Verify(b[kept:kept+int64(h.Size)]) != nil {
			return kept, n, next
		}
		end := kept + int64(h.Size)
		if _, behind, ok := header(end); ok && low > next && behind >= next && behind <= h.LastOffset {
			return kept, n, next
		}
		kept, n, next = end, n+1, h.NextOffset()
	}
}

// FuzzRead reads a segment of any bytes, with any indexes: no panic, and no batch that does not verify.
func FuzzRead(f *testing.F) {
	good := append(batch(f, 0, 3, 10), batch(f, 3, 1, 300)...)
	f.Add(good, []byte{0, 0, 0, 3, 0, 0, 0, 100}, []byte{}, int64(3))
	f.Add(good[:200], []byte{0, 0, 0, 3, 0, 0, 0, 10}, []byte{0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 2}, int64(1))
	f.Add(make([]byte, 300), []byte{}, []byte{}, int64(0))
	f.Fuzz(func(t *testing.T, content, offsets, times []byte, from int64) {
		w := world{fs: aferofs.Mem(), parts: segment.Parts{OpenIndex: index.OpenFile}}
		require.NoError(t, w.fs.MkdirAll("p-0", 0o755))
		w.create(t, logFile, content)
		w.create(t, indexFile, offsets)
		w.create(t, timeIndexFile, times)
		s := w.open(t, 0, segment.Options{Sealed: true})
		if _, _, err := s.FindTime(from, 0); err != nil {
			requireDamage(t, err)
		}
		if _, err := s.NextOffset(); err != nil {
			requireDamage(t, err)
		}
		r, _, err := s.Read(from, segment.Limits{MaxBytes: 1000, AtLeastOne: true})
		require.NoError(t, err)
		for b, err := range r.Batches() {
			if err != nil {
				requireDamage(t, err)
				continue
			}
			require.NoError(t, codec.Kafka().Verify(b.Bytes))
		}
		require.NoError(t, r.Close())
		for _, err := range s.Verify(t.Context()) {
			require.NoError(t, err)
		}
	})
}

func requireDamage(t *testing.T, err error) {
	t.Helper()
	require.ErrorIs(t, err, codec.ErrCorrupt)
	_, placed := errors.AsType[*fsio.PosError](err)
	require.True(t, placed, "%v has no place", err)
}
