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
	t     *testing.T // of eachWorld
}

// worlds are the compositions that every test of behaviour runs on.
var worlds = []struct {
	name      string
	onDisk    bool
	openIndex index.OpenFunc
}{
	{"os+mmap", true, index.OpenMmap},
	{"os+file", true, index.OpenFile},
	{"mem+mmap", false, index.OpenMmap},
	{"mem+file", false, index.OpenFile},
}

func osFS(tb testing.TB) fsio.FS {
	tb.Helper()
	fsys, err := fsio.OS(tb.TempDir())
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, fsys.Close()) })
	return fsys
}

// eachWorld runs test on every composition.
func eachWorld(t *testing.T, test func(w world)) {
	t.Helper()
	for _, row := range worlds {
		t.Run(row.name, func(t *testing.T) {
			w := world{fs: aferofs.Mem(), parts: segment.Parts{OpenIndex: row.openIndex}, t: t}
			if row.onDisk {
				w.fs = osFS(t)
			}
			test(w)
		})
	}
}

// smallIndex keeps the indexes of tests small: in memory they are real bytes.
const smallIndex = 4096

// open opens the segment at base in the directory p-0, which is made if it is not there.
func (w world) open(tb testing.TB, base int64, o segment.Options) *segment.Segment {
	tb.Helper()
	s, err := w.tryOpen(tb, base, o)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, s.Close()) })
	return s
}

func (w world) tryOpen(tb testing.TB, base int64, o segment.Options) (*segment.Segment, error) {
	tb.Helper()
	require.NoError(tb, w.fs.MkdirAll("p-0", 0o755))
	if o.IndexBytes == 0 {
		o.IndexBytes = smallIndex
	}
	return segment.Open(w.fs, w.parts, "p-0", base, o)
}

// batch encodes a batch of n records from offset on, whose values have the given size. The timestamp of
// each is ten times its offset.
func batch(tb testing.TB, offset int64, n, valueBytes int) []byte {
	tb.Helper()
	recs := make([]codec.Record, n)
	for i := range recs {
		value := make([]byte, valueBytes)
		copy(value, fmt.Sprintf("value %d", offset+int64(i)))
		recs[i] = codec.Record{Offset: offset + int64(i), Timestamp: 10 * (offset + int64(i)), Value: value}
	}
	h := codec.NewHeader(2)
	h.BaseOffset, h.LeaderEpoch = offset, 0
	b, err := codec.Kafka().Append(nil, h, recs)
	require.NoError(tb, err)
	return b
}

// put appends batches, which are whole and end to end, to s.
func put(tb testing.TB, s *segment.Segment, batches []byte) int64 {
	tb.Helper()
	pos, err := s.Append(batches, headers(tb, batches))
	require.NoError(tb, err)
	return pos
}

func headers(tb testing.TB, batches []byte) (hs []codec.Header) {
	tb.Helper()
	for b, err := range codec.Batches(codec.Kafka(), batches) {
		require.NoError(tb, err)
		hs = append(hs, b.Header)
	}
	return hs
}

// contents is the content of a file.
func (w world) contents(tb testing.TB, name string) []byte {
	tb.Helper()
	f, err := w.fs.OpenFile(name, os.O_RDONLY, 0)
	require.NoError(tb, err)
	defer func() { require.NoError(tb, f.Close()) }()
	size, err := f.Size()
	require.NoError(tb, err)
	b := make([]byte, size)
	if size > 0 {
		_, err = f.ReadAt(b, 0)
		require.NoError(tb, err)
	}
	return b
}

// offsets are those of the records that r yields.
func offsets(tb testing.TB, r *segment.Slice) (all []int64) {
	tb.Helper()
	for rec, err := range r.Records() {
		require.NoError(tb, err)
		all = append(all, rec.Offset)
	}
	return all
}
