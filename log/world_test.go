package log_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/aferofs"
	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/log"
	"github.com/stratalog/strata/scheduler"
	"github.com/stratalog/strata/segment"
)

// started is the time at which the clock of a world begins, in ms.
const started int64 = 1_600_000_000_000

// backend is what a log is composed of.
type backend struct {
	name  string
	newFS func(testing.TB) fsio.FS
	parts segment.Parts
}

// onOS is a filesystem on the disk.
func onOS(tb testing.TB) fsio.FS {
	tb.Helper()
	fsys, err := fsio.OS(tb.TempDir())
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, fsys.Close()) })
	return fsys
}

// inMemory is one in memory.
func inMemory(testing.TB) fsio.FS { return aferofs.Mem() }

var backends = []backend{
	{"mem+file", inMemory, segment.Parts{OpenIndex: index.OpenFile}},
	{"mem+mmap", inMemory, segment.Parts{OpenIndex: index.OpenMmap}},
	{"os+file", onOS, segment.Parts{OpenIndex: index.OpenFile}},
	{"os+mmap", onOS, segment.Parts{OpenIndex: index.OpenMmap}},
	{"mem+mmap set", inMemory, segment.Parts{OpenSet: segment.OpenMmap}},
}

// world is a filesystem, a clock and a log on them.
type world struct {
	testing.TB
	fs    fsio.FS
	dir   string
	clock *scheduler.Manual
	o     log.Options
	l     *log.Log

	reserves bool // the file of the active segment is longer than the segment: a recovery cuts that, too
}

// newWorld is a world without a log.
func newWorld(tb testing.TB, b backend) *world {
	tb.Helper()
	clock := scheduler.NewManual(scheduler.ManualOptions{Start: time.UnixMilli(started)})
	w := &world{TB: tb, fs: b.newFS(tb), dir: "t-0", clock: clock, reserves: b.parts.OpenSet != nil}
	w.o = log.Options{
		FS: w.fs, Parts: b.parts, Clock: clock,
		Config: log.Config{SegmentBytes: 1 << 20, IndexBytes: 4096},
	}
	tb.Cleanup(func() {
		if w.l != nil {
			_ = w.l.Close()
		}
	})
	return w
}

// onEach runs a test on all backends.
func onEach(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	for _, b := range backends {
		t.Run(b.name, func(t *testing.T) { test(t, newWorld(t, b)) })
	}
}

// open opens the log.
func (w *world) open() *log.Log {
	w.Helper()
	l, err := log.Open(w.Context(), w.dir, w.o)
	require.NoError(w, err)
	w.l = l
	return l
}

// close closes the log.
func (w *world) close() {
	w.Helper()
	require.NoError(w, w.l.Close())
	w.l = nil
}

// kill copies the directory as it is, to go on with the copy: what is left when the process dies.
func (w *world) kill() {
	w.Helper()
	fsys := inMemory(w)
	copyTree(w, fsys, w.fs, w.dir)
	if old := w.l; old != nil {
		w.Cleanup(func() { _ = old.Close() })
	}
	w.fs, w.o.FS, w.l = fsys, fsys, nil
}

// copyTree copies a directory.
func copyTree(tb testing.TB, to, from fsio.FS, dir string) {
	tb.Helper()
	require.NoError(tb, to.MkdirAll(dir, 0o755))
	entries, err := from.ReadDir(dir)
	require.NoError(tb, err)
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if e.IsDir() {
			copyTree(tb, to, from, name)
			continue
		}
		write(tb, to, name, read(tb, from, name))
		info, err := from.Stat(name)
		require.NoError(tb, err)
		require.NoError(tb, to.Chtimes(name, info.ModTime()))
	}
}

// read is the content of a file.
func read(tb testing.TB, fsys fsio.FS, name string) []byte {
	tb.Helper()
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	require.NoError(tb, err)
	defer f.Close()
	size, err := f.Size()
	require.NoError(tb, err)
	b := make([]byte, size)
	if size > 0 {
		_, err = f.ReadAt(b, 0)
		require.NoError(tb, err)
	}
	return b
}

// write gives a file its content.
func write(tb testing.TB, fsys fsio.FS, name string, b []byte) {
	tb.Helper()
	f, err := fsys.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	require.NoError(tb, err)
	_, err = f.WriteAt(b, 0)
	require.NoError(tb, err)
	require.NoError(tb, f.Close())
}

// names are the names in the directory.
func (w *world) names() []string {
	w.Helper()
	entries, err := w.fs.ReadDir(w.dir)
	require.NoError(w, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// files are the contents of the files in the directory, without strata.checkpoint.
func (w *world) files() map[string]string {
	w.Helper()
	files := map[string]string{}
	for _, name := range w.names() {
		if name != "strata.checkpoint" {
			files[name] = string(read(w, w.fs, path.Join(w.dir, name)))
		}
	}
	return files
}

// bases are the base offsets of the log's segments.
func (w *world) bases() []int64 {
	var bases []int64
	for _, s := range w.l.State().Segments {
		bases = append(bases, s.BaseOffset)
	}
	return bases
}

// rec is a record without key.
func rec(value string) codec.Record {
	return codec.Record{Timestamp: started, Value: []byte(value)}
}

// set is a batch of magic 2 as a producer sends it.
func set(tb testing.TB, recs ...codec.Record) []byte {
	tb.Helper()
	return batch(tb, codec.NewHeader(2), recs...)
}

// batch is one with the given header.
func batch(tb testing.TB, h codec.Header, recs ...codec.Record) []byte {
	tb.Helper()
	for i := range recs {
		if recs[i].Offset == 0 {
			recs[i].Offset = h.BaseOffset + int64(i)
		}
	}
	b, err := codec.Kafka().Append(nil, h, recs)
	require.NoError(tb, err)
	return b
}

// produced is a batch of a producer.
func produced(tb testing.TB, id int64, epoch int16, sequence int32, txn bool, n int) []byte {
	tb.Helper()
	h := codec.NewHeader(2)
	h.ProducerID, h.ProducerEpoch, h.BaseSequence = id, epoch, sequence
	if txn {
		h.Attributes |= codec.TransactionalBit
	}
	recs := make([]codec.Record, n)
	for i := range recs {
		recs[i] = rec(fmt.Sprintf("p%d-%d", id, int(sequence)+i))
	}
	return batch(tb, h, recs...)
}

// marker is the marker that ends a producer's transaction.
func marker(tb testing.TB, id int64, epoch int16, commit bool, coordinator int32) []byte {
	tb.Helper()
	h := codec.NewHeader(2)
	h.ProducerID, h.ProducerEpoch = id, epoch
	b, err := codec.AppendMarker(nil, h, codec.Marker{Commit: commit, CoordinatorEpoch: coordinator}, started)
	require.NoError(tb, err)
	return b
}

// end appends a marker.
func (w *world) end(id int64, epoch int16, commit bool) log.Appended {
	w.Helper()
	got, err := w.l.AppendWith(marker(w, id, epoch, commit, 0), log.AppendOptions{
		Origin: log.FromCoordinator, TxnVersion: log.TxnV1,
	})
	require.NoError(w, err)
	return got
}

// append appends a set as leader.
func (w *world) append(set []byte) log.Appended {
	w.Helper()
	got, err := w.l.Append(set)
	require.NoError(w, err)
	return got
}

// fill appends one record a batch, of the given values.
func (w *world) fill(values ...string) {
	w.Helper()
	for _, v := range values {
		w.append(set(w, rec(v)))
	}
}

// numbers are so many values.
func numbers(n int) []string {
	values := make([]string, n)
	for i := range values {
		values[i] = fmt.Sprintf("value %d", i)
	}
	return values
}

// values are the values from offset on, with their offsets.
func (w *world) values(from int64, i log.Isolation) map[int64]string {
	w.Helper()
	got := map[int64]string{}
	for r, err := range w.l.RecordsWith(context.Background(), from, log.ReadOptions{Isolation: i}) {
		require.NoError(w, err)
		_, twice := got[r.Offset]
		require.False(w, twice, "offset %d came twice", r.Offset)
		got[r.Offset] = string(r.Value)
	}
	return got
}

// exists reports whether a file is in the directory.
func (w *world) exists(name string) bool {
	w.Helper()
	_, err := w.fs.Stat(path.Join(w.dir, name))
	if err != nil {
		require.ErrorIs(w, err, fs.ErrNotExist)
	}
	return err == nil
}

// firstRecord is the first record that a read gives.
type firstRecord struct {
	offset int64
	value  string
}

// first is the first record at offset or above.
func (w *world) first(offset int64) firstRecord {
	w.Helper()
	for r, err := range w.l.RecordsWith(context.Background(), offset, log.ReadOptions{Isolation: log.ReadToEnd}) {
		require.NoError(w, err)
		return firstRecord{r.Offset, string(r.Value)}
	}
	return firstRecord{offset: -1}
}

// producerHeader is the header of the i-th transactional batch of two records of producer 1.
func producerHeader(i int32) codec.Header {
	h := codec.NewHeader(2)
	h.ProducerID, h.ProducerEpoch, h.BaseSequence = 1, 0, 2*i
	h.Attributes |= codec.TransactionalBit
	return h
}
