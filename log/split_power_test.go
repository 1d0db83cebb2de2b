package log_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"testing"
	"time"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/crashfs"
	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/log"
	"github.com/stratalog/strata/scheduler"
	"github.com/stratalog/strata/segment"
)

// splitLoad is a directory whose first segment is split by a load.
type splitLoad struct {
	name    string
	files   map[string][]byte
	resume  *log.Resume
	records map[int64]string // all of them
	aborted []index.AbortedTxn
	bases   []int64
}

// splitLoads are loads that split: one that recovers all, one whose new segments have no name in common with
// the old one, one below the recovery point, where no recovery comes to the new segments later.
func splitLoads(tb testing.TB) []splitLoad {
	all, aborted := txnLog(tb)
	records := map[int64]string{}
	for b, err := range codec.Batches(codec.Kafka(), all) {
		if err != nil || b.Attributes.Control() {
			continue
		}
		for r := range codec.Kafka().Records(b.Bytes) {
			records[r.Offset] = string(r.Value)
		}
	}
	plain := slices.Concat(at(tb, 3, 0, "a"), at(tb, farthest, 0, "b"), at(tb, farthest+9, 0, "c"))
	return []splitLoad{
		{
			"its own manager",
			map[string][]byte{name20(0) + ".log": all},
			nil,
			records, aborted,
			[]int64{0, farthest + 1, 3 * farthest},
		},
		{
			"with another name",
			map[string][]byte{name20(0) + ".log": plain, name20(0) + ".index": nil},
			&log.Resume{},
			map[int64]string{3: "a", farthest: "b", farthest + 9: "c"},
			nil,
			[]int64{3, farthest + 9},
		},
		{
			"below the recovery point",
			map[string][]byte{
				name20(0) + ".log": all, name20(4*farthest) + ".log": at(tb, 4*farthest, 0, "z"), name20(4*farthest) + ".index": nil,
			},
			&log.Resume{RecoveryPoint: 4 * farthest},
			withRecord(records, 4*farthest, "z"), aborted,
			[]int64{0, farthest + 1, 3 * farthest, 4 * farthest},
		},
	}
}

// withRecord is a copy of records with one more.
func withRecord(records map[int64]string, offset int64, value string) map[int64]string {
	more := map[int64]string{offset: value}
	maps.Copy(more, records)
	return more
}

func (s splitLoad) open(fsys fsio.FS, parts segment.Parts) (*log.Log, error) {
	return log.Open(context.Background(), "t-0", log.Options{
		FS: fsys, Parts: parts, Clock: scheduler.NewManual(scheduler.ManualOptions{Start: time.UnixMilli(started)}),
		Config: log.Config{SegmentBytes: 1 << 20, IndexBytes: 64, IndexIntervalBytes: log.Zero, DeleteDelay: log.Zero}, Resume: s.resume,
	})
}

// lay makes the directory, durably.
func (s splitLoad) lay(fsys fsio.FS) error {
	if err := errors.Join(fsys.MkdirAll("t-0", 0o755), fsys.SyncDir(".")); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		content := s.files[name]
		f, err := fsys.OpenFile(path.Join("t-0", name), os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			return err
		}
		if len(content) > 0 {
			_, err = f.WriteAt(content, 0)
		}
		if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
			return err
		}
	}
	return fsys.SyncDir("t-0")
}

// judge opens what a power cut left of a load, and finds all records and all aborted transactions.
func (s splitLoad) judge(image fsio.FS, parts segment.Parts) error {
	l, err := s.open(image, parts)
	if err != nil {
		return err
	}
	if err := s.holds(l); err != nil {
		return errors.Join(err, l.Close())
	}
	end := l.EndOffset()
	got, err := l.AppendRecords(codec.Record{Timestamp: started, Value: []byte(extra)})
	if err == nil && got.LastOffset != end {
		err = fmt.Errorf("a record after the end %d is at %d", end, got.LastOffset)
	}
	_, reaped := l.Reap(context.Background())
	if err := errors.Join(err, reaped, l.Sync(end+1), l.Close()); err != nil {
		return err
	}
	if l, err = s.open(image, parts); err != nil {
		return fmt.Errorf("opened again: %w", err)
	}
	return errors.Join(s.holds(l), l.Close(), s.sameBytes(image))
}

// holds compares records, aborted transactions and segments of l.
func (s splitLoad) holds(l *log.Log) error {
	found := 0
	for r, err := range l.RecordsWith(context.Background(), l.StartOffset(), log.ReadOptions{Isolation: log.ReadToEnd}) {
		switch want, ok := s.records[r.Offset]; {
		case err != nil:
			return err
		case string(r.Value) == extra:
		case !ok || want != string(r.Value):
			return fmt.Errorf("record %d is %q, want %q", r.Offset, r.Value, want)
		default:
			found++
		}
	}
	if found != len(s.records) {
		return fmt.Errorf("%d of %d records are there", found, len(s.records))
	}
	aborted, err := l.Aborted(0, l.EndOffset())
	if err == nil && !slices.Equal(aborted, s.aborted) {
		err = fmt.Errorf("aborted %v, want %v", aborted, s.aborted)
	}
	var bases []int64
	for _, x := range l.State().Segments {
		bases = append(bases, x.BaseOffset)
	}
	if err == nil && !slices.Equal(bases, s.bases) {
		err = fmt.Errorf("segments %d, want %d", bases, s.bases)
	}
	return err
}

// sameBytes sees that the log files together begin with what the old ones were.
func (s splitLoad) sameBytes(image fsio.FS) error {
	var want, got []byte
	for _, base := range append([]int64{0}, s.bases...) {
		name := name20(base) + ".log"
		if old, ok := s.files[name]; ok && !bytes.HasPrefix(want, old) {
			want = append(want, old...)
		}
	}
	for _, base := range s.bases {
		f, err := image.OpenFile(path.Join("t-0", name20(base)+".log"), os.O_RDONLY, 0)
		if err != nil {
			return err
		}
		size, err := f.Size()
		b := make([]byte, size)
		if err == nil {
			_, err = f.ReadAt(b, 0)
		}
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
		got = append(got, b...)
	}
	if !bytes.HasPrefix(got, want) {
		return fmt.Errorf("the bytes are others: %w", fs.ErrInvalid)
	}
	return nil
}

// TestPowerCutWhileSplitting cuts the power after each event of a load that splits, in every way that a policy
// knows, and fails each of its calls: every record is kept, in every image, and so is every aborted
// transaction.
func TestPowerCutWhileSplitting(t *testing.T) {
	var total crashfs.Report
	for name, parts := range map[string]segment.Parts{"file": {OpenIndex: index.OpenFile}, "mmap": {OpenIndex: index.OpenMmap}} {
		for i, s := range splitLoads(t) {
			if i > 0 && name == "mmap" {
				break // the way is the same
			}
			workload := func(_ testing.TB, fsys *crashfs.FS) error {
				if err := s.lay(fsys); err != nil {
					return err
				}
				fsys.Ack("laid")
				l, err := s.open(fsys, parts)
				if err != nil {
					return err
				}
				_, err = l.AppendRecords(codec.Record{Timestamp: started, Value: []byte(extra)})
				return errors.Join(err, l.Close())
			}
			check := func(_ testing.TB, image *crashfs.FS, h crashfs.History) error {
				if len(h.Acks) == 0 {
					return nil
				}
				return s.judge(image, parts)
			}
			t.Run(name+"/"+s.name, func(t *testing.T) {
				for _, config := range powerConfigs() {
					report := crashfs.CrashEverywhere(t, config, workload, check)
					total.Unique += report.Unique
					total.Nested += report.Nested
					total.Failures += report.Failures
				}
			})
		}
	}
	fmt.Printf("RESULT log split images=%d nested=%d failures=%d\n", total.Unique, total.Nested, total.Failures)
}
