package segment_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/aferofs"
	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/internal/fixture"
	"github.com/stratalog/strata/segment"
)

// indexesDiffer are the cases whose indexes are not what the batches alone give: the broker was killed, or
// had started again, which adds a time entry.
var indexesDiffer = map[string]bool{
	"damaged": true, "unclean": true, "epochs": true,
	"default-index-killed": true, "retention-killed": true,
}

// tails are the cases that have reserved space behind their batches, which was never given back.
var tails = map[string]bool{"preallocate": true, "unclean": true}

// TestGolden opens the segments that Kafka wrote, finds nothing wrong with them, and builds the indexes anew
// from the batches alone, which gives Kafka's bytes. Kafka up to 3.9.0 made other indexes: an entry a batch
// is 3.9.1's (KAFKA-806).
func TestGolden(t *testing.T) {
	versions := []string{"3.9.2", "4.0.2", "4.4.0", "2.8.2", "0.10.2.2", "0.8.2.2"}
	if testing.Short() {
		versions = []string{"4.4.0"}
	}
	for _, version := range versions {
		for _, name := range fixture.Cases(t, version) {
			t.Run(name, func(t *testing.T) {
				dir, kind := fixture.Golden(t, name), path.Base(name)
				legacy := version[0] < '3'
				damaged := kind == "damaged" || legacy && fixture.ReadLegacyCase(t, dir).Damaged
				if !tails[kind] && !damaged && kind != "inner-crc" {
					verifyCase(t, dir)
				}
				if !legacy && !indexesDiffer[kind] {
					reindexCase(t, dir)
				}
			})
		}
	}
}

// verifyCase finds nothing wrong in the segments of a case.
func verifyCase(t *testing.T, dir string) {
	t.Helper()
	fsys, err := fsio.OS(dir)
	require.NoError(t, err)
	defer func() { require.NoError(t, fsys.Close()) }()
	for _, file := range fixture.Files(t, dir, "*.log*") {
		base, _, state, ok := segment.ParseFileName(path.Base(file))
		if !ok { // a dump of one
			continue
		}
		s, err := segment.Open(fsys, segment.Parts{}, path.Dir(file), base, segment.Options{ReadOnly: true, State: state})
		require.NoError(t, err)
		for _, damage := range verify(t, s) {
			t.Errorf("%s: %+v", file, damage)
		}
		findAll(t, file, s)
		require.NoError(t, s.Close())
	}
}

// findAll looks up every batch, by offsets that it has and by such that no record has. Index entries of Kafka before 2.0 have
// the first offset of an append, those up to 3.9.0 the last, which may lie far behind the batch.
func findAll(t *testing.T, file string, s *segment.Segment) {
	t.Helper()
	next := s.BaseOffset()
	for b, err := range s.Batches(0) {
		require.NoError(t, err)
		for _, offset := range []int64{next, (next + b.LastOffset) / 2, b.LastOffset} {
			got, ok, err := s.Find(offset)
			if err != nil || !ok || got.Pos != b.Pos {
				t.Fatalf("%s: Find(%d) = %+v, %v, %v, want the batch at %d", file, offset, got, ok, err, b.Pos)
			}
		}
		next = b.NextOffset()
	}
	got, err := s.NextOffset()
	require.NoError(t, err)
	assert.Equal(t, next, got, file)
	_, ok, err := s.Find(next)
	require.NoError(t, err)
	assert.False(t, ok, file)
}

func reindexCase(t *testing.T, dir string) {
	t.Helper()
	c := fixture.ReadCase(t, dir)
	compared := 0
	require.NoError(t, filepath.WalkDir(filepath.Join(dir, "data"), func(file string, _ fs.DirEntry, err error) error {
		base, extension, state, ok := segment.ParseFileName(filepath.Base(file))
		partition := filepath.Base(filepath.Dir(file))
		switch {
		case err != nil || !ok || extension != segment.LogExt || state != segment.Live:
			return err
		case strings.HasSuffix(partition, "-delete"), strings.HasSuffix(partition, "-stray"):
			return nil
		case partition == "__cluster_metadata-0":
			return nil // the indexes of the metadata log are not cut when it is closed
		}
		compared++
		reindexOne(t, filepath.Dir(file), base, intervalOf(c, partition))
		return nil
	}))
	if compared == 0 && path.Base(c.Name) != "kraft-metadata" {
		t.Error("no segment found")
	}
}

// intervalOf is index.interval.bytes of the topic of a partition's directory, as Options have it.
func intervalOf(c fixture.Case, partition string) int64 {
	topic := partition[:strings.LastIndexByte(partition, '-')]
	value, ok := c.TopicConfigs[topic]["index.interval.bytes"]
	switch n, err := strconv.ParseInt(value, 10, 64); {
	case !ok || err != nil:
		return 0
	case n == 0:
		return -1
	default:
		return n
	}
}

func reindexOne(t *testing.T, dir string, base, interval int64) {
	t.Helper()
	mem := aferofs.Mem()
	require.NoError(t, mem.MkdirAll("p-0", 0o755))
	name := func(extension string) string { return segment.FileName(base, extension, segment.Live) }
	batches, err := os.ReadFile(filepath.Join(dir, name(segment.LogExt)))
	require.NoError(t, err)
	w := world{fs: mem, parts: segment.Parts{OpenIndex: index.OpenFile}}
	w.create(t, "p-0/"+name(segment.LogExt), batches)
	s := w.open(t, base, segment.Options{Sealed: true, IndexIntervalBytes: interval, IndexBytes: 1 << 20})
	require.NoError(t, s.Reindex(t.Context()))
	require.NoError(t, s.IndexErr())
	for _, extension := range []string{segment.IndexExt, segment.TimeIndexExt} {
		want, err := os.ReadFile(filepath.Join(dir, name(extension)))
		require.NoError(t, err)
		assert.Equal(t, want, w.contents(t, "p-0/"+name(extension)), "%s of %s", name(extension), filepath.Base(dir))
	}
}

// create makes a file with the given content.
func (w world) create(tb testing.TB, name string, content []byte) {
	tb.Helper()
	f, err := w.fs.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	require.NoError(tb, err)
	_, err = f.WriteAt(content, 0)
	require.NoError(tb, err)
	require.NoError(tb, f.Close())
}
