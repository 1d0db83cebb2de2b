package trace

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/stratalog/strata/internal/producer"
	"github.com/stratalog/strata/segment"
)

// Outcome is how a replay went.
type Outcome struct {
	Ops        int    // that were replayed
	Skipped    bool   // the rest was not: an operation comes that cannot be replayed yet
	Difference string // the first one, or ""
	Files      string // of a difference between files: the listing of ours
}

// Replay replays t on s, up to the first difference.
func Replay(ctx context.Context, t *Trace, s Store) (o Outcome) {
	w, err := newWorld(s)
	if err != nil {
		return Outcome{Difference: err.Error()}
	}
	defer func() {
		if err := w.end(ctx); err != nil && o.Difference == "" {
			o.Difference = fmt.Sprintf("end: %v", err)
		}
	}()
	for i := range t.Ops {
		op := &t.Ops[i]
		if op.later() {
			o.Skipped = true
			return o
		}
		diff, err := w.step(ctx, t, i)
		if err != nil {
			diff = err.Error()
		}
		if diff != "" {
			o.Difference = fmt.Sprintf("operation %d, %s: %s", i, op.Op, diff)
			o.Files = listing(w.listed)
			return o
		}
		o.Ops++
	}
	diff, err := w.compareFinal(t)
	if err != nil {
		diff = err.Error()
	}
	if diff != "" {
		o.Difference, o.Files = "at the end: "+diff, listing(w.listed)
	}
	return o
}

// end frees the log that is still open.
func (w *world) end(ctx context.Context) error {
	err := w.tasks.Close(ctx)
	if w.log == nil {
		return err
	}
	return errors.Join(err, w.log.Close())
}

// step replays the i-th operation, and says what differs.
func (w *world) step(ctx context.Context, t *Trace, i int) (diff string, err error) {
	op, want := &t.Ops[i], &t.Want[i]
	result, refused, err := w.run(ctx, op, t.Meta)
	if err != nil {
		return "", err
	}
	files, err := w.settle()
	if err != nil {
		return "", err
	}
	files = w.lazy.files(files, w.activeBase(), want.Dir)
	if op.Op == "kill" {
		if err := w.removeLazy(); err != nil {
			return "", err
		}
	}
	if diff = compareAnswer(want, result, refused, ignored(op, t.Meta)); diff != "" {
		return diff, nil
	}
	if diff, err = w.compareShort(want, t.Meta); diff != "" || err != nil {
		return diff, err
	}
	return w.compareDigests(want, files, t.Meta), nil
}

// run makes an operation. A panic is an error, so that the other traces can go on.
func (w *world) run(ctx context.Context, op *Op, m Meta) (result any, refused, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	result, refused = w.do(ctx, op, m)
	return result, refused, nil
}

// compareShort compares what is noted of the log after each operation.
func (w *world) compareShort(want *Line, m Meta) (string, error) {
	if w.log == nil {
		if want.Short != nil {
			return "no log is open, Kafka's is", nil
		}
		return "", nil
	}
	if want.Short == nil {
		return "a log is open, Kafka's is not", nil
	}
	return diffObjects(want.Short, w.short(m), "s", nil)
}

// compareDigests compares the directory. Indexes count where no log is open, and the last one was closed:
// Kafka makes them when they are first looked at.
func (w *world) compareDigests(want *Line, files []File, m Meta) string {
	if m.decoded() || m.entries() || w.padded() {
		return ""
	}
	data, dir := digests(files)
	if data != want.Data {
		return fmt.Sprintf("data = %s, want %s", data, want.Data)
	}
	if w.log == nil && !w.loose && dir != want.Dir {
		return fmt.Sprintf("dir = %s, want %s", dir, want.Dir)
	}
	return ""
}

// activeBase is the base offset of the active segment, or of that of the last log.
func (w *world) activeBase() int64 {
	if w.log == nil {
		return w.active
	}
	segments := w.log.State().Segments
	return segments[len(segments)-1].BaseOffset
}

// removeLazy removes the indexes that Kafka's killed log had not made yet.
func (w *world) removeLazy() error {
	for _, name := range w.lazy.missing {
		if err := w.FS.Remove(w.path(name)); err != nil {
			return err
		}
	}
	w.lazy.missing = nil
	return nil
}

// padded reports whether Kafka's active segment is followed by zeros that those of a set with space of its
// own are not.
func (w *world) padded() bool {
	return w.Reserved && (w.log != nil || w.loose) && w.config["preallocate"] == "true"
}

// compareFinal compares the directory at the end.
func (w *world) compareFinal(t *Trace) (string, error) {
	files, err := w.list()
	if err != nil {
		return "", err
	}
	want := t.Final
	if files = w.lazy.without(files, nil); w.log != nil || w.loose || t.Meta.decoded() {
		files, want = withoutIndexes(files), withoutIndexes(want)
	}
	if t.Meta.decoded() {
		if files, err = w.decodeLogs(files); err != nil {
			return "", err
		}
		if files, want, err = w.decodeDeleted(files, want, t.Files); err != nil {
			return "", err
		}
	}
	if t.Meta.entries() {
		if diff, err := w.compareSnapshots(files, t); diff != "" || err != nil {
			return diff, err
		}
		files, want = withoutCRCs(files), withoutCRCs(want)
	}
	return diffFiles(want, files), nil
}

// diffFiles is the first difference between listings.
func diffFiles(want, got []File) string {
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(got) || i < len(want) && want[i].Name < got[i].Name:
			return fmt.Sprintf("%s is missing", want[i].Name)
		case i >= len(want) || got[i].Name < want[i].Name:
			return fmt.Sprintf("%s should not be there", got[i].Name)
		case got[i] != want[i]:
			return fmt.Sprintf("file %v, want %v", got[i], want[i])
		}
	}
	return ""
}

// isSnapshot reports whether a file is a producer snapshot.
func isSnapshot(name string) bool {
	_, ext, _, ok := segment.ParseFileName(name)
	return ok && ext == producer.SnapshotExt
}

// withoutCRCs takes the CRCs of snapshots out.
func withoutCRCs(files []File) []File {
	files = slices.Clone(files)
	for i := range files {
		if isSnapshot(files[i].Name) {
			files[i].CRC = ""
		}
	}
	return files
}

// compareSnapshots compares the entries of producer snapshots, in whatever order they are.
func (w *world) compareSnapshots(files []File, t *Trace) (string, error) {
	for _, f := range files {
		want, ok := t.Files[f.Name]
		if !ok || !isSnapshot(f.Name) {
			continue
		}
		b, err := readFile(w.FS, w.path(f.Name))
		if err != nil {
			return "", err
		}
		if got, want := snapshotEntries(b), snapshotEntries(want); got != want {
			return fmt.Sprintf("%s holds %s, want %s", f.Name, got, want), nil
		}
	}
	return "", nil
}

// snapshotEntries are the entries of a snapshot, by rising producer.
func snapshotEntries(b []byte) string {
	entries, err := producer.DecodeSnapshot(b)
	if err != nil {
		return err.Error()
	}
	lines := make([]string, len(entries))
	for i, e := range entries {
		lines[i] = fmt.Sprintf("%+v", e)
	}
	slices.Sort(lines)
	return fmt.Sprint(lines)
}
