package trace

import (
	"context"
	"fmt"
	"maps"
	"path"
	"strings"
	"time"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/log"
	"github.com/stratalog/strata/scheduler"
	"github.com/stratalog/strata/segment"
)

// Store is what a trace is replayed on.
type Store struct {
	FS       fsio.FS // holds the partition below a directory of its own; nothing else
	Parts    segment.Parts
	Reserved bool // the message set reserves space behind its batches
}

// partition is the directory's name: that of topic t, partition 0.
const partition = "t-0"

// world is all that a trace acts on.
type world struct {
	Store
	settings Op // of open, for every later load
	config   map[string]string
	clock    *scheduler.Manual // has no tasks: it jumps
	tasks    *scheduler.Manual // of the log that is open

	generation int // counts kills
	log        *log.Log
	guards     map[log.Guard]string
	failed     bool // the log is read-only

	stored points
	lazy   lazy
	active int64 // the base offset of the active segment when the last log ended

	files  map[string]seen  // after the last operation
	sizes  map[string]int64 // how much of .log files counts, with reserved space
	listed []File           // the files, last looked at
	loose  bool             // the last log did not close, or did not open: Kafka may have other indexes
}

// seen is a .log file after an operation.
type seen struct {
	time time.Time
	size int64
	crc  string
}

// newWorld is an empty directory.
func newWorld(s Store) (*world, error) {
	w := &world{Store: s, config: maps.Clone(defaults), files: map[string]seen{}}
	w.clock = scheduler.NewManual(scheduler.ManualOptions{})
	w.tasks = scheduler.NewManual(scheduler.ManualOptions{})
	return w, s.FS.MkdirAll(w.dir(), 0o755)
}

// dir is the partition's directory.
func (w *world) dir() string { return path.Join(fmt.Sprintf("run-%d", w.generation), partition) }

// path is the name of a file of the partition.
func (w *world) path(name string) string { return path.Join(w.dir(), name) }

// nowMs is the time.
func (w *world) nowMs() int64 { return w.clock.Now().UnixMilli() }

// setNow moves the clock to ms.
func (w *world) setNow(ms int64) { w.clock.Advance(time.UnixMilli(ms).Sub(w.clock.Now())) }

// configure takes the keys of config into account.
func (w *world) configure(config map[string]string) (log.Config, error) {
	maps.Copy(w.config, config)
	c, err := log.ParseConfig(w.config)
	if ms := w.settings.ExpireMs; ms != nil {
		c.ProducerAge = time.Duration(*ms) * time.Millisecond
	}
	return c, err
}

// dropTasks drops what was scheduled.
func (w *world) dropTasks(ctx context.Context) error {
	err := w.tasks.Close(ctx)
	w.tasks = scheduler.NewManual(scheduler.ManualOptions{Start: w.clock.Now()})
	return err
}

// settle ends an operation: what it scheduled without delay runs, and the files that it wrote get the clock's
// time.
func (w *world) settle() ([]File, error) {
	w.tasks.Advance(w.clock.Now().Sub(w.tasks.Now()))
	all, err := w.list()
	if err != nil {
		return nil, err
	}
	now := map[string]seen{}
	for _, f := range all {
		if !isLog(f.Name) {
			continue
		}
		s, err := w.date(f)
		if err != nil {
			return nil, err
		}
		now[f.Name] = s
	}
	w.files = now
	return all, nil
}

// realTime is before any time that a filesystem gives to a file by itself, and behind those of traces.
var realTime = time.UnixMilli(1_704_067_200_000)

// date gives a .log file that was written the clock's time. What only gave back reserved space was not
// written, and keeps the time that it had.
func (w *world) date(f File) (seen, error) {
	info, err := w.FS.Stat(w.path(f.Name))
	if err != nil {
		return seen{}, err
	}
	s := seen{info.ModTime(), f.Size, f.CRC}
	was, known := w.files[f.Name]
	if !known {
		was, known = w.files[strings.TrimSuffix(f.Name, string(segment.Deleted))]
	}
	changed := !known || was.size != f.Size || was.crc != f.CRC
	switch {
	case changed && (known || s.time.After(realTime)) || !w.Reserved && s.time.After(realTime):
		s.time = w.clock.Now()
	case s.time.After(realTime):
		s.time = was.time
	default:
		return s, nil
	}
	return s, w.FS.Chtimes(w.path(f.Name), s.time)
}

// isLog reports whether a file is one of batches, in whatever state.
func isLog(name string) bool {
	_, ext, _, ok := segment.ParseFileName(name)
	return ok && ext == segment.LogExt
}

// list lists the partition's files.
func (w *world) list() ([]File, error) {
	all, err := names(w.FS, w.dir())
	if err != nil {
		return nil, err
	}
	if err := w.noteSizes(all); err != nil {
		return nil, err
	}
	files := make([]File, 0, len(all))
	for _, name := range all {
		b, err := readFile(w.FS, w.path(name))
		if err != nil {
			return nil, err
		}
		b = b[:w.sizeOf(name, int64(len(b)))]
		files = append(files, File{name, int64(len(b)), checksum(b)})
	}
	w.listed = files
	return files, nil
}

// noteSizes notes how much of the .log files counts: of the segments of the log that is open what they say,
// and of deleted ones what they said before.
func (w *world) noteSizes(all []string) error {
	if !w.Reserved || w.log == nil {
		w.sizes = nil
		return nil
	}
	sizes := map[string]int64{}
	for _, name := range all {
		live, deleted := strings.CutSuffix(name, string(segment.Deleted))
		if !deleted || !isLog(name) {
			continue
		}
		b, err := readFile(w.FS, w.path(name))
		if err != nil {
			return err
		}
		// It may be the one that had this name before, or another that was renamed over it. Where it begins
		// with the bytes of either, it is the longer one: behind the other's there would be zeros.
		for _, was := range []seen{w.files[name], w.files[live]} {
			if was.size <= int64(len(b)) && checksum(b[:was.size]) == was.crc {
				sizes[name] = max(sizes[name], was.size)
			}
		}
	}
	for _, s := range w.log.State().Segments {
		sizes[segment.FileName(s.BaseOffset, segment.LogExt, segment.Live)] = s.Size
	}
	w.sizes = sizes
	return nil
}

// sizeOf is how much of a file counts.
func (w *world) sizeOf(name string, actual int64) int64 {
	if size, ok := w.sizes[name]; ok {
		return min(size, actual)
	}
	return actual
}
