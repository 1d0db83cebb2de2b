package manager

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"sync/atomic"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/internal/checkpoint"
	"github.com/stratalog/strata/log"
)

// remoteIndexCache is a directory that tiered storage keeps among the partitions. It is none of them.
const remoteIndexCache = "remote-log-index-cache"

// Identity is the cluster and the node that a directory belongs to.
type Identity struct {
	ClusterID string // "" where the directory is of the time of ZooKeeper and belongs to none yet
	NodeID    int32  // −1 in the same case
}

// View is a log directory that is looked at without a lock and without a write, also one that a broker has
// in use, or that cannot be written. Tools stand on it.
//
// Its methods may be called concurrently. What they tell is what was there when it was opened, or at the
// last Refresh.
type View struct {
	fsys fsio.FS
	seen atomic.Pointer[seen]
}

// seen is what a View has read. It is never changed once it is a View's.
type seen struct {
	meta        checkpoint.Meta
	hasMeta     bool
	brokerEpoch int64
	clean       bool
	partitions  []PartitionView
	warnings    []Warning
}

// PartitionView is a partition as a View has it.
type PartitionView struct {
	Partition
	Dir           string // its name in the FS
	Role          Role
	TopicID       [16]byte   // of partition.metadata; zero where there is none
	Resume        log.Resume // as a manager would open the log, or as the log tells of itself
	CleanerOffset int64      // where the last compaction ended; codec.NoOffset where none is known

	// Alone says that no checkpoint of the directory tells of the partition, and that it has a strata.checkpoint, as
	// a log has that is opened alone, or that the directory has no checkpoint and no mark of a clean stop at all.
	// Resume is what strata.checkpoint says then, and Clean in it a claim that log.Open believes only where it fits
	// what is there: who opens the log leaves Options.Resume nil.
	Alone bool
	own   bool // strata.checkpoint is there
}

// Warning says what was done without a file: a checkpoint counts as empty, for example, which costs time,
// not data.
type Warning struct {
	Dir  string // the log directory, as a manager was given it; a View has no name for its own
	File string // in the log directory
	Err  error
}

// OpenView reads what lies in the root of fsys: identity, checkpoints, the names and topic ids of
// partitions. No file of a segment is opened.
//
//   - Small files that are damaged are told by Warnings, and count as missing.
//   - An error is one of reading the directory itself.
func OpenView(ctx context.Context, fsys fsio.FS) (*View, error) {
	v := &View{fsys: fsys}
	if err := v.Refresh(ctx); err != nil {
		return nil, err
	}
	return v, nil
}

// Refresh reads all of it anew. With an error the View tells what it did before.
func (v *View) Refresh(ctx context.Context) error {
	r := viewReader{fsys: v.fsys}
	if err := r.read(ctx); err != nil {
		return fmt.Errorf("view: %w", err)
	}
	v.seen.Store(&r.seen)
	return nil
}

// Identity is what meta.properties says, and ok is false where there is none.
func (v *View) Identity() (id Identity, ok bool) {
	s := v.seen.Load()
	return Identity{ClusterID: s.meta.ClusterID, NodeID: s.meta.NodeID}, s.hasMeta
}

// DirID is the directory's own id in meta.properties, or zero.
func (v *View) DirID() [16]byte { return v.seen.Load().meta.DirID }

// Clean reports whether the clean-shutdown marker is there. brokerEpoch is the number in it, or −1.
func (v *View) Clean() (brokerEpoch int64, clean bool) {
	s := v.seen.Load()
	return s.brokerEpoch, s.clean
}

// Partitions are all partitions, by topic, ID and Role.
func (v *View) Partitions() []PartitionView { return slices.Clone(v.seen.Load().partitions) }

// Warnings are the files that could not be read, and the names that no partition has.
func (v *View) Warnings() []Warning { return slices.Clone(v.seen.Load().warnings) }

// Open opens a partition's log ReadOnly, with o.FS and o.Resume from the View. One that is Alone tells of itself.
func (v *View) Open(ctx context.Context, p PartitionView, o log.Options) (*log.Log, error) {
	o.FS, o.ReadOnly, o.Resume = v.fsys, true, p.resume()
	return log.Open(ctx, p.Dir, o)
}

// resume is what the log is opened with.
func (p PartitionView) resume() *log.Resume {
	if p.Alone {
		return nil
	}
	return &p.Resume
}

// viewReader reads a log directory.
type viewReader struct {
	fsys fsio.FS
	seen seen

	recoveryPoints, startOffsets, highWatermarks, cleanerOffsets map[checkpoint.Partition]int64

	managed bool // checkpoints, or the mark of a clean stop, are there
}

// read reads all. Its errors are those of the directory, and the context's.
func (r *viewReader) read(ctx context.Context) error {
	entries, err := r.fsys.ReadDir(".")
	if err != nil {
		return err
	}
	r.readFiles()
	for _, entry := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		switch name := entry.Name(); {
		case entry.Type().IsRegular() || name == remoteIndexCache:
		case !entry.IsDir():
			r.warn(name, fsio.ErrNotRegular)
		default:
			r.readPartition(name)
		}
	}
	slices.SortFunc(r.seen.partitions, func(a, b PartitionView) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Role, b.Role),
			cmp.Compare(a.Dir, b.Dir))
	})
	return nil
}

// readFiles reads the files that are about the directory as a whole.
func (r *viewReader) readFiles() {
	meta, err := checkpoint.ReadMeta(r.fsys, checkpoint.MetaProperties)
	r.seen.meta, r.seen.hasMeta = meta, err == nil
	r.missing(checkpoint.MetaProperties, err)

	epoch, err := checkpoint.ReadClean(r.fsys, checkpoint.CleanShutdown)
	r.seen.brokerEpoch, r.seen.clean = epoch, err == nil || errors.Is(err, checkpoint.ErrCorrupt)
	r.missing(checkpoint.CleanShutdown, err)
	r.managed = !errors.Is(err, fs.ErrNotExist)

	r.recoveryPoints = r.offsets(checkpoint.RecoveryPoints)
	r.startOffsets = r.offsets(checkpoint.StartOffsets)
	r.highWatermarks = r.offsets(checkpoint.HighWatermarks)
	r.cleanerOffsets = r.offsets(checkpoint.CleanerOffsets)
}

// offsets reads an offset checkpoint.
func (r *viewReader) offsets(name string) map[checkpoint.Partition]int64 {
	offsets, err := checkpoint.ReadOffsets(r.fsys, name)
	r.missing(name, err)
	r.managed = r.managed || !errors.Is(err, fs.ErrNotExist)
	return offsets
}

// missing warns of a file that could not be read though it is there.
func (r *viewReader) missing(name string, err error) {
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.warn(name, err)
	}
}

// warn adds a Warning.
func (r *viewReader) warn(name string, err error) {
	r.seen.warnings = append(r.seen.warnings, Warning{File: name, Err: err})
}

// readPartition reads what there is about the partition in a directory.
func (r *viewReader) readPartition(dir string) {
	p, role, err := parseDir(dir)
	if err != nil {
		r.warn(dir, err)
		return
	}
	metadata := path.Join(dir, checkpoint.PartitionMetadata)
	id, err := checkpoint.ReadTopicID(r.fsys, metadata)
	r.missing(metadata, err)
	view := PartitionView{
		Partition: p, Dir: dir, Role: role, TopicID: id,
		Resume:        log.Resume{Clean: r.seen.clean},
		CleanerOffset: codec.NoOffset,
	}
	told := r.tell(&view)
	own, _, ok, err := checkpoint.ReadSlot(r.fsys, path.Join(dir, checkpoint.Strata))
	r.missing(path.Join(dir, checkpoint.Strata), err)
	view.own = err == nil
	if view.Alone = !told && (!r.managed || view.own); view.Alone {
		view.Resume = log.Resume{Clean: own.Clean, RecoveryPoint: own.RecoveryPoint, StartOffset: own.StartOffset}
		if ok {
			view.CleanerOffset = own.CleanerOffset
		}
	}
	r.seen.partitions = append(r.seen.partitions, view)
}

// tell has the directory's checkpoints tell of a partition, and reports whether they know it.
func (r *viewReader) tell(p *PartitionView) (told bool) {
	if p.Role != Current && p.Role != Future {
		return false // it was taken out of the checkpoints: what is there is of a partition of the same name
	}
	for _, x := range []struct {
		in map[checkpoint.Partition]int64
		to *int64
	}{
		{r.recoveryPoints, &p.Resume.RecoveryPoint},
		{r.startOffsets, &p.Resume.StartOffset},
		{r.highWatermarks, &p.Resume.HighWatermark},
		{r.cleanerOffsets, &p.CleanerOffset},
	} {
		if offset, ok := x.in[checkpoint.Partition(p.Partition)]; ok {
			*x.to, told = offset, true
		}
	}
	return told
}
