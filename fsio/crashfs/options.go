package crashfs

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stratalog/strata/fsio"
)

// Option changes what New makes.
type Option func(*options)

type options struct {
	quota        int64
	sectorBytes  int64
	pageBytes    int64
	windows      bool
	bare         bool // no journal
	clock        func() time.Time
	interceptors []fsio.Interceptor
}

// New returns an empty FS. It panics where options cannot be: a sector that is no power of two, a page that is no
// multiple of the sector, a negative quota, an interceptor that is nil.
func New(opts ...Option) *FS {
	o := &options{sectorBytes: 512, pageBytes: blockBytes}
	for _, opt := range opts {
		opt(o)
	}
	if err := o.check(); err != nil {
		panic(err)
	}
	f := newFS(o, empty())
	if len(o.interceptors) > 0 {
		interceptor := fsio.Chain(o.interceptors...)
		bare := *o
		bare.interceptors = nil
		f.disk.o = &bare // what images get
		f.calls = &watch{FS: f.tree, disk: f.disk, interceptor: interceptor}
	}
	return f
}

// check is nil where the options can be.
func (o *options) check() error {
	switch {
	case o.sectorBytes <= 0 || o.sectorBytes&(o.sectorBytes-1) != 0:
		return fmt.Errorf("crashfs: a sector of %d bytes is no power of two", o.sectorBytes)
	case o.pageBytes <= 0 || o.pageBytes%o.sectorBytes != 0:
		return fmt.Errorf("crashfs: a page of %d bytes is no multiple of a sector of %d", o.pageBytes, o.sectorBytes)
	case slices.ContainsFunc(o.interceptors, func(i fsio.Interceptor) bool { return i == nil }):
		return errors.New("crashfs: an interceptor that is nil")
	case o.quota < 0:
		return fmt.Errorf("crashfs: a quota of %d bytes", o.quota)
	}
	return nil
}

// WithQuota sets how many bytes of blocks there are: 0, as at first, means no limit. A file owns the
// sectors that were written, zeros included, or reserved by Allocate; a directory entry owns none. When
// none is left, a write gives what fitted and syscall.ENOSPC, and a store to a hole through a Map an
// *fsio.FaultError with syscall.ENOSPC. Blocks of a removed file are free when its last File and Map are
// closed.
func WithQuota(bytes int64) Option { return func(o *options) { o.quota = bytes } }

// WithSectorSize sets the unit that a crash keeps or loses: 512 at first. It must be a power of two.
func WithSectorSize(bytes int) Option { return func(o *options) { o.sectorBytes = int64(bytes) } }

// WithPageSize sets the unit of Map.Flush, and of the faults of a Map: 4096 at first. It must be a multiple
// of the sector size.
func WithPageSize(bytes int) Option { return func(o *options) { o.pageBytes = int64(bytes) } }

// WithWindowsSemantics refuses Remove and Rename of an open file, and Rename of a directory above one, with
// fs.ErrPermission; Truncate, Rename and Remove of a mapped file with fsio.ErrMapBusy. Map.Resize still
// works: it unmaps first.
func WithWindowsSemantics() Option { return func(o *options) { o.windows = true } }

// WithClock sets where modification times come from. At first every event is one millisecond after the one
// before it.
func WithClock(now func() time.Time) Option { return func(o *options) { o.clock = now } }

// WithInterceptor runs i around each call, inside: it knows what a *SyncError asks for, and that a sync was
// claimed and not done (History.Unprotected). i runs before the FS takes its lock, so it may call
// CrashClone, Ack and Note. Given more than once, the first is the outermost.
func WithInterceptor(i fsio.Interceptor) Option {
	return func(o *options) { o.interceptors = append(o.interceptors, i) }
}

// WithoutJournal keeps no journal: cheap, for when only rules, quota and Windows' ways are wanted. There is
// one image then, that of Kill, and every FsyncMode acts as FsyncKeep.
func WithoutJournal() Option { return func(o *options) { o.bare = true } }
