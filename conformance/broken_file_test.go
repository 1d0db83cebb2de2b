package conformance_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/stratalog/strata/fsio"
)

// brokenFiles break the rules of a File's use and of its reads.
var brokenFiles = map[string]breakage{
	"a file may be closed beside its calls": become(fsio.OpSync, fs.ErrClosed, syscall.EBADF),
	"a read sees what was written before":   onFile(writesLate),
	"a read beside a write sees old or new": onFile(func(f opened) {
		between := newGap()
		f.writeAt = func(p []byte, off int64) (n int, err error) {
			if size, err := f.File.Size(); err == nil && off+int64(len(p)) <= size { // written over, it is emptied before
				between.show(func() { _, _ = f.File.WriteAt(make([]byte, len(p)), off) })
			}
			return f.File.WriteAt(p, off)
		}
		f.readAt = func(p []byte, off int64) (n int, err error) {
			between.look(func() { n, err = f.File.ReadAt(p, off) })
			return n, err
		}
	}),
	"writes beside each other stay apart": onFile(func(f opened) {
		var cursor atomic.Int64
		both := newMeeting()
		f.writeAt = func(p []byte, off int64) (int, error) {
			cursor.Store(off)
			both.wait()
			return f.File.WriteAt(p, cursor.Load())
		}
	}),
	"a file may be closed twice": onFile(func(f opened) {
		var closed atomic.Bool
		f.close = func() error {
			if closed.Swap(true) {
				return fs.ErrClosed
			}
			return f.File.Close()
		}
	}),
	"a closed file refuses": onFile(func(f opened) {
		f.size = func() (int64, error) {
			n, err := f.File.Size()
			if errors.Is(err, fs.ErrClosed) {
				return n, nil
			}
			return n, err
		}
	}),
	"maps outlive their file": onFile(func(f opened) {
		var mu sync.Mutex
		var maps []fsio.Map
		f.mapped = func(size int64, prot fsio.Prot) (fsio.Map, error) {
			m, err := f.File.Map(size, prot)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				maps = append(maps, m)
			}
			return m, err
		}
		f.close = func() error {
			mu.Lock()
			defer mu.Unlock()
			for _, m := range maps {
				_ = m.Close()
			}
			return f.File.Close()
		}
	}),
	"negative positions are refused": become(fsio.OpTruncate, fs.ErrInvalid, syscall.EINVAL),
	"sizes without end are refused":  become(fsio.OpWriteAt, syscall.EFBIG, syscall.EIO),
	"what was never written is zeros": onFile(func(f opened) {
		var tail []byte
		f.truncate = func(size int64) error {
			was, err := f.File.Size()
			if err == nil && size < was {
				tail = make([]byte, was-size)
				_, err = f.File.ReadAt(tail, size)
				return errors.Join(err, f.File.Truncate(size))
			}
			err = errors.Join(err, f.File.Truncate(size))
			_, writeErr := f.File.WriteAt(tail[:min(int64(len(tail)), size-was)], was)
			return errors.Join(err, writeErr)
		}
	}),
	"a read-only file refuses changes": onFS(func(t *twistFS) {
		t.openFile = func(name string, flag int, perm fs.FileMode) (fsio.File, error) {
			return t.FS.OpenFile(name, flag|os.O_RDWR, perm)
		}
	}),

	"a short read has an error": onFile(func(f opened) {
		f.readAt = func(p []byte, off int64) (int, error) {
			n, err := f.File.ReadAt(p, off)
			if n > 0 && err == io.EOF {
				err = nil
			}
			return n, err
		}
	}),
	"the end of a file is io.EOF": onFile(func(f opened) {
		f.readAt = func(p []byte, off int64) (int, error) {
			n, err := f.File.ReadAt(p, off)
			if err == io.EOF {
				err = &fs.PathError{Op: "read", Path: f.path, Err: io.EOF}
			}
			return n, err
		}
	}),
	"past the end is nothing": onFile(func(f opened) {
		f.readAt = func(p []byte, off int64) (int, error) {
			n, err := f.File.ReadAt(p, off)
			if size, _ := f.File.Size(); err == io.EOF && off > size {
				err = io.ErrUnexpectedEOF
			}
			return n, err
		}
	}),
	"a full read has no error": onFile(func(f opened) {
		f.readAt = func(p []byte, off int64) (int, error) {
			n, err := f.File.ReadAt(p, off)
			if size, _ := f.File.Size(); err == nil && off+int64(n) == size {
				err = io.EOF
			}
			return n, err
		}
	}),
	"an empty read is nothing": onFile(func(f opened) {
		f.readAt = func(p []byte, off int64) (int, error) {
			if size, _ := f.File.Size(); len(p) == 0 && off >= size {
				return 0, io.EOF
			}
			return f.File.ReadAt(p, off)
		}
	}),
	"a read keeps no buffer": onFile(func(f opened) {
		var kept []byte
		f.readAt = func(p []byte, off int64) (int, error) {
			kept = p
			return f.File.ReadAt(p, off)
		}
		f.writeAt = func(p []byte, off int64) (int, error) {
			copy(kept, p)
			return f.File.WriteAt(p, off)
		}
	}),
	"CopyTo counts what was taken": onFile(func(f opened) {
		f.copyTo = func(w io.Writer, off, n int64) (int64, error) {
			sent, err := f.File.CopyTo(w, off, n)
			if errors.Is(err, io.ErrShortWrite) {
				return n, nil
			}
			return sent, err
		}
	}),
	"CopyTo meets the end": onFile(func(f opened) {
		f.copyTo = func(w io.Writer, off, n int64) (int64, error) {
			return io.Copy(w, io.NewSectionReader(f.File, off, n))
		}
	}),
	"CopyTo passes on the writer's error": onFile(func(f opened) {
		f.copyTo = func(w io.Writer, off, n int64) (int64, error) {
			sent, err := f.File.CopyTo(w, off, n)
			if err != nil {
				err = &fs.PathError{Op: "copy", Path: f.path, Err: err}
			}
			return sent, err
		}
	}),
	"CopyTo of nothing": onFile(func(f opened) {
		f.copyTo = func(w io.Writer, off, n int64) (int64, error) {
			if n == 0 { // as sendfile's caller might take it: to the end
				n, _ = f.File.Size()
			}
			return f.File.CopyTo(w, off, n)
		}
	}),
	"copies do not disturb each other": onFS(func(t *twistFS) {
		var cursor atomic.Int64 // of all Files
		both := newMeeting()
		twistFiles(t, func(f opened) {
			f.copyTo = func(w io.Writer, off, n int64) (int64, error) {
				cursor.Store(off)
				both.wait()
				return f.File.CopyTo(w, cursor.Load(), n)
			}
		})
	}),
}

// writesLate makes a write when the next one comes.
func writesLate(f opened) {
	var late []byte
	var at int64
	f.writeAt = func(p []byte, off int64) (int, error) {
		if late != nil {
			if n, err := f.File.WriteAt(late, at); err != nil {
				return n, err
			}
		}
		late, at = append([]byte(nil), p...), off
		return len(p), nil
	}
}

// brokenWrites break the rules of what changes a File, and of Map.
var brokenWrites = map[string]breakage{
	"a write is whole": onFile(func(f opened) {
		f.writeAt = func(p []byte, off int64) (int, error) { return f.File.WriteAt(p[:min(len(p), 1<<20)], off) }
	}),
	"a failed write is a prefix": onFile(func(f opened) {
		f.writeAt = func(p []byte, off int64) (int, error) {
			n, err := f.File.WriteAt(p, off)
			if errors.Is(err, syscall.EFBIG) {
				_, _ = f.File.WriteAt(p, 0)
			}
			return n, err
		}
	}),
	"a gap is zeros": onFile(func(f opened) {
		f.writeAt = func(p []byte, off int64) (int, error) {
			if size, err := f.File.Size(); err == nil && size > 0 && off > size {
				_, _ = f.File.WriteAt([]byte{0xff}, size)
			}
			return f.File.WriteAt(p, off)
		}
	}),
	"an empty write is nothing": onFile(func(f opened) {
		f.writeAt = func(p []byte, off int64) (int, error) {
			if size, err := f.File.Size(); err == nil && off > size {
				_ = f.File.Truncate(off)
			}
			return f.File.WriteAt(p, off)
		}
	}),
	"a write keeps no buffer": onFile(func(f opened) {
		var kept []byte
		f.writeAt = func(p []byte, off int64) (int, error) {
			kept = p
			return f.File.WriteAt(p, off)
		}
		f.readAt = func(p []byte, off int64) (int, error) {
			n, err := f.File.ReadAt(p, off)
			if off == 0 {
				copy(p, kept)
			}
			return n, err
		}
	}),

	"the size is the present one": onFile(func(f opened) {
		size, _ := f.File.Size()
		f.writeAt = func(p []byte, off int64) (int, error) {
			n, err := f.File.WriteAt(p, off)
			size = max(size, off+int64(n))
			return n, err
		}
		f.size = func() (int64, error) { return size, nil }
	}),
	"Truncate keeps what is below": onFile(func(f opened) {
		f.truncate = func(size int64) error {
			return errors.Join(f.File.Truncate(size/4096*4096), f.File.Truncate(size))
		}
	}),
	"a map outlives its bytes": onMap(func(m mapped) {
		m.view = func(off, n int64, v fsio.Viewer) error {
			err := m.Map.View(off, n, v)
			if _, ok := errors.AsType[*fsio.FaultError](err); ok {
				return v.View(make([]byte, n))
			}
			return err
		}
	}),
	"Allocate grows":           lie(fsio.OpAllocate),
	"Allocate changes no byte": onFile(func(f opened) { f.allocate = f.File.Truncate }),
	"a file has the name it was opened by": onFS(func(t *twistFS) {
		now := map[string]string{}
		twistFiles(t, func(f opened) {
			f.name = func() string {
				if name, ok := now[f.path]; ok {
					return name
				}
				return f.path
			}
		})
		t.rename = func(oldname, newname string) error {
			now[oldname] = newname
			return t.FS.Rename(oldname, newname)
		}
	}),
	"Sync covers all files and maps": onFile(byName),
	"a read-only file can be synced": onFile(func(f opened) {
		f.sync = func() error {
			if f.flag&os.O_RDWR == 0 {
				return fs.ErrPermission
			}
			return f.File.Sync()
		}
	}),
	"Sync leaves the time alone": onFile(func(f opened) {
		f.sync = func() error { return errors.Join(f.File.Sync(), f.fsys.Chtimes(f.path, time.Now())) }
	}),
	"a map is no longer than its file": onFile(func(f opened) {
		f.mapped = func(size int64, prot fsio.Prot) (fsio.Map, error) {
			if have, _ := f.File.Size(); size > have && size < 1<<20 {
				if err := f.File.Allocate(size); err != nil {
					return nil, err
				}
			}
			return f.File.Map(size, prot)
		}
	}),
	"a map may be empty": onFile(func(f opened) {
		f.mapped = func(size int64, prot fsio.Prot) (fsio.Map, error) {
			if size == 0 {
				return nil, fs.ErrInvalid
			}
			return f.File.Map(size, prot)
		}
	}),
	"a read-only file maps read-only": onFile(func(f opened) {
		f.mapped = func(size int64, prot fsio.Prot) (fsio.Map, error) {
			if f.flag&os.O_RDWR == 0 {
				prot = fsio.ReadOnly
			}
			return f.File.Map(size, prot)
		}
	}),
	"a file has many maps": onFile(func(f opened) {
		var maps atomic.Int64
		f.mapped = func(size int64, prot fsio.Prot) (fsio.Map, error) {
			if maps.Add(1) > 1 {
				return nil, fsio.ErrMapBusy
			}
			return f.File.Map(size, prot)
		}
	}),
}
