package segment_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/aferofs"
	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/segment"
)

// world is what a segment lives in.
type world struct {
	fs    fsio.FS
	parts segment.Parts
}

// worlds are the compositions that every test of behaviour runs on.
var worlds = []struct {
	name string
	make func(t testing.TB) world
}{
	{"os+mmap", func(t testing.TB) world { return world{osFS(t), segment.Parts{}} }},
	{"os+file", func(t testing.TB) world { return world{osFS(t), segment.Parts{OpenIndex: index.OpenFile}} }},
	{"mem+mmap", func(testing.TB) world { return world{aferofs.Mem(), segment.Parts{}} }},
	{"mem+file", func(testing.TB) world { return world{aferofs.Mem(), segment.Parts{OpenIndex: index.OpenFile}} }},
}

func osFS(t testing.TB) fsio.FS {
	t.Helper()
	fsys, err := fsio.OS(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, fsys.Close()) })
	return fsys
}

// eachWorld runs test on every composition.
func eachWorld(t *testing.T, test func(t *testing.T, w world)) {
	t.Helper()
	for _, row := range worlds {
		t.Run(row.name, func(t *testing.T) { test(t, row.make(t)) })
	}
}

// smallIndex keeps the indexes of tests small: in memory they are real bytes.
const smallIndex = 4096

// open opens the segment at base in the directory p-0, which is made if it is not there.
func (w world) open(t testing.TB, base int64, o segment.Options) *segment.Segment {
	t.Helper()
	s, err := w.tryOpen(t, base, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func (w world) tryOpen(t testing.TB, base int64, o segment.Options) (*segment.Segment, error) {
	t.Helper()
	require.NoError(t, w.fs.MkdirAll("p-0", 0o755))
	if o.IndexBytes == 0 {
		o.IndexBytes = smallIndex
	}
	return segment.Open(w.fs, w.parts, "p-0", base, o)
}

// batch encodes a batch of n records from offset on, whose values have the given size. The timestamp of
// each is ten times its offset.
func batch(t testing.TB, offset int64, n, valueBytes int) []byte {
	t.Helper()
	recs := make([]codec.Record, n)
	for i := range recs {
		value := make([]byte, valueBytes)
		copy(value, fmt.Sprintf("value %d", offset+int64(i)))
		recs[i] = codec.Record{Offset: offset + int64(i), Timestamp: 10 * (offset + int64(i)), Value: value}
	}
	h := codec.NewHeader(2)
	h.BaseOffset, h.LeaderEpoch = offset, 0
	b, err := codec.Kafka().Append(nil, h, recs)
	require.NoError(t, err)
	return b
}

// put appends batches, which are whole and end to end, to s.
func put(t testing.TB, s *segment.Segment, batches []byte) int64 {
	t.Helper()
	pos, err := s.Append(batches, headers(t, batches))
	require.NoError(t, err)
	return pos
}

func headers(t testing.TB, batches []byte) (hs []codec.Header) {
	t.Helper()
	for b, err := range codec.Batches(codec.Kafka(), batches) {
		require.NoError(t, err)
		hs = append(hs, b.Header)
	}
	return hs
}

// contents is the content of a file.
func (w world) contents(t testing.TB, name string) []byte {
	t.Helper()
	f, err := w.fs.OpenFile(name, os.O_RDONLY, 0)
	require.NoError(t, err)
	defer f.Close()
	size, err := f.Size()
	require.NoError(t, err)
	b := make([]byte, size)
	if size > 0 {
		_, err = f.ReadAt(b, 0)
		require.NoError(t, err)
	}
	return b
}

// offsets are those of the records that r yields.
func offsets(t testing.TB, r *segment.Slice) (all []int64) {
	t.Helper()
	for rec, err := range r.Records() {
		require.NoError(t, err)
		all = append(all, rec.Offset)
	}
	return all
}
