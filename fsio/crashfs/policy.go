package crashfs

import (
	"errors"
	"fmt"
)

// DataMode says which pending effects on the bytes of a file an image may have.
type DataMode uint8

// From the least to the most that may happen.
const (
	DataLost    DataMode = iota // none: only what a completed sync covers
	DataKept                    // all: the process died, the machine did not
	DataPrefix                  // of each file a prefix of its effects
	DataWhole                   // of each file any subset of whole calls
	DataSectors                 // of each sector any version since the last sync
	DataTorn                    // as DataSectors, and the next version may have been on its way (see Policy.NoPSOW)
)

// SizeMode says which size a file may have.
type SizeMode uint8

// From the least to the most that may happen.
const (
	SizeFollows SizeMode = iota // where the surviving data ends, each pending Truncate kept or not
	SizeFree                    // any since the last sync, also the ends of pages on the way; bytes without data read as zeros (ext4, seen)
	SizeGarbage                 // as SizeFree, but bytes without data may be those of removed files: good old batches
)

// DirMode says which pending entry changes an image may have.
type DirMode uint8

// From the least to the most that may happen.
const (
	DirLost      DirMode = iota // none
	DirKept                     // all
	DirOrdered                  // a prefix of all of the FS: one journal, as ext4 and XFS have
	DirPerDir                   // a prefix for each directory
	DirUnordered                // any subset (Btrfs, and what POSIX allows)
)

// Policy says which images a crash may leave, and which of them to build.
type Policy struct {
	Name string
	Data DataMode
	Size SizeMode
	Dir  DirMode

	// With DataTorn, in one sector of four the version after the one taken was being written: a part of its
	// own bytes in the sector is garbage, zeros or a mix. NoPSOW (powersafe overwrite) lets that part be
	// any of the sector.
	NoPSOW bool

	SplitRename   bool // a rename may be half there: no journal at all
	FsyncFileDir  bool // the first Sync of a new file also keeps its name (ext4, XFS and Btrfs in practice)
	SyncDirInodes bool // SyncDir also keeps the sizes of the files that it names, without their bytes (ext4, seen)

	EveryNth    int  // build images at every n-th step only; 0 means every step
	Systematic  bool // all prefixes, drop-one and keep-one sets that the modes allow: 3n+2 images, without luck
	ExhaustUpTo int  // build all states that the modes allow, where there are this many at most
	Random      int  // drawn images a step; 0 means 4, negative means none
}

// must panics where a policy cannot be.
func (p *Policy) must() {
	if err := p.check(); err != nil {
		panic(fmt.Sprintf("crashfs: policy %q: %v", p.Name, err))
	}
}

// check is nil where a policy can be.
func (p *Policy) check() error {
	switch {
	case p.Data > DataTorn || p.Size > SizeGarbage || p.Dir > DirUnordered:
		return errors.New("no such mode")
	case p.NoPSOW && p.Data != DataTorn:
		return errors.New("NoPSOW without DataTorn")
	case p.SplitRename && (p.Dir == DirLost || p.Dir == DirKept):
		return errors.New("SplitRename where all entry changes are lost, or all kept")
	case p.EveryNth < 0 || p.ExhaustUpTo < 0:
		return errors.New("a negative count")
	case p.ExhaustUpTo > mostStates:
		return fmt.Errorf("ExhaustUpTo %d, of %d at most", p.ExhaustUpTo, mostStates)
	}
	return nil
}

// The named policies, from the mildest. A change of one in a program changes it for the whole program: copy
// it.
var (
	// Kill is a killed process: everything is kept.
	Kill = Policy{Name: "kill", Data: DataKept, Dir: DirKept, Random: 1}
	// Lost keeps only what was synced.
	Lost = Policy{Name: "lost", Data: DataLost, Dir: DirLost, Random: 1}
	// Ext4 is what ext4 was seen to leave, on its default mount.
	Ext4 = Policy{Name: "ext4", Data: DataSectors, Size: SizeFree, Dir: DirOrdered, FsyncFileDir: true}
	// Strict is what the contract of fsio allows.
	Strict = Policy{
		Name: "strict", Data: DataSectors, Size: SizeFree, Dir: DirUnordered,
		Systematic: true, ExhaustUpTo: 64,
	}
	// Paranoid adds garbage in what was being written and in what never was.
	Paranoid = Policy{
		Name: "paranoid", Data: DataTorn, Size: SizeGarbage, Dir: DirUnordered,
		Systematic: true, ExhaustUpTo: 64,
	}
)
