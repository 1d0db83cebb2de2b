package fsio_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
)

// trace is an Interceptor that changes nothing and keeps what it saw.
type trace struct {
	mu  sync.Mutex
	ops []string
}

func (tr *trace) intercept(op *fsio.Op, do func() error) error {
	before := fmt.Sprintf("%v %s", op.Kind, op.Path)
	if op.To != "" {
		before += " to " + op.To
	}
	if op.Off != 0 || op.Size != 0 {
		before += fmt.Sprintf(" [%d %d]", op.Off, op.Size)
	}
	err := do()
	if op.Data != nil {
		before += fmt.Sprintf(" %q", op.Data)
	}
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.ops = append(tr.ops, before)
	return err
}

// take is what was seen since the last take.
func (tr *trace) take() []string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	ops := tr.ops
	tr.ops = nil
	return ops
}

// everyCall calls each method once, and tells what each returned.
func everyCall(t *testing.T, fsys fsio.FS) []string {
	var results []string
	result := func(values ...any) {
		for i, v := range values {
			if info, ok := v.(fs.FileInfo); ok {
				values[i] = fmt.Sprint(info.Name(), info.Size(), info.ModTime())
			}
		}
		results = append(results, fmt.Sprint(values...))
	}
	result(fsys.MkdirAll("dir", 0o755))
	f, err := fsys.OpenFile("dir/file", os.O_RDWR|os.O_CREATE, 0o644)
	require.NoError(t, err)
	result(f.Name())
	result(f.WriteAt([]byte("content"), 2))
	result(f.Truncate(8))
	result(f.Allocate(9))
	result(f.Size())
	p := make([]byte, 20)
	n, err := f.ReadAt(p, 1)
	result(string(p[:n]), err)
	result(f.Sync())
	var out bytes.Buffer
	result(f.CopyTo(&out, 2, 3))
	result(out.String())
	m, err := f.Map(9, fsio.ReadWrite)
	require.NoError(t, err)
	result(m.Len())
	result(m.WriteAt([]byte("C"), 2))
	result(m.View(2, 3, fsio.ViewFunc(func(b []byte) error { result(string(b)); return nil })))
	result(m.View(8, 2, nil))
	result(m.Flush(0, 9))
	result(m.Resize(5))
	result(m.Close(), m.Len())
	result(f.Close())
	result(f.Sync())
	result(fsys.Chtimes("dir/file", time.Unix(1000, 0)))
	result(fsys.Stat("dir/file"))
	list, err := fsys.ReadDir("dir")
	require.NoError(t, err)
	result(list[0].Name(), list[0].IsDir(), list[0].Type(), list[0])
	result(list[0].Info())
	r, err := fsys.OpenFile("dir/file", os.O_RDONLY, 0)
	require.NoError(t, err)
	result(r.Close())
	result(fsys.Rename("dir/file", "dir/new"))
	result(fsys.Remove("dir/new"))
	result(fsys.Remove("dir/new"))
	result(fsys.SyncDir("dir"))
	lock, err := fsys.Lock(".lock")
	require.NoError(t, err)
	result(lock.Close())
	result(fsys.OpenFile("..", os.O_RDONLY, 0))
	return results
}

// wantTrace is what an Interceptor sees of everyCall.
var wantTrace = []string{
	`mkdir dir`,
	`create dir/file`,
	`write dir/file [2 7] "content"`,
	`truncate dir/file [0 8]`,
	`allocate dir/file [0 9]`,
	`size dir/file`,
	`read dir/file [1 20] "\x00conten\x00"`,
	`sync dir/file`,
	`copy dir/file [2 3]`,
	`map dir/file [0 9]`,
	`mapwrite dir/file [2 1] "C"`,
	`view dir/file [2 3] "Con"`,
	`view dir/file [8 2]`,
	`flush dir/file [0 9]`,
	`resize dir/file [0 5]`,
	`unmap dir/file`,
	`close dir/file`,
	`sync dir/file`,
	`chtimes dir/file`,
	`stat dir/file`,
	`readdir dir`,
	`stat dir/file`,
	`open dir/file`,
	`close dir/file`,
	`rename dir/file to dir/new`,
	`remove dir/new`,
	`remove dir/new`,
	`syncdir dir`,
	`lock .lock`,
	`unlock .lock`,
	`open ..`,
}

// TestInterceptPassesOn: without changes results and errors are the inner's, and each call is seen once.
func TestInterceptPassesOn(t *testing.T) {
	plain, _ := openOS(t)
	want := everyCall(t, plain)
	inner, _ := openOS(t)
	var tr trace
	assert.Equal(t, want, everyCall(t, fsio.Intercept(inner, tr.intercept)))
	assert.Equal(t, wantTrace, tr.take())

	inner, _ = openOS(t)
	var outer trace
	assert.Equal(t, want, everyCall(t, fsio.Intercept(fsio.Intercept(inner, tr.intercept), outer.intercept)))
	assert.Equal(t, wantTrace, tr.take())
	assert.Equal(t, wantTrace, outer.take())
}

// TestInterceptSeesEveryMethod compares the trace with the methods of the interfaces, so that a new method
// is not forgotten.
func TestInterceptSeesEveryMethod(t *testing.T) {
	methods := 1 // Close of a lock
	for _, i := range []reflect.Type{
		reflect.TypeFor[fsio.FS](), reflect.TypeFor[fsio.File](), reflect.TypeFor[fsio.Map](),
	} {
		methods += i.NumMethod()
	}
	seen := map[string]bool{}
	for _, op := range wantTrace {
		var kind string
		fmt.Sscan(op, &kind)
		seen[kind] = true
	}
	// Name and Len have no kind, OpenFile has two.
	assert.Len(t, seen, methods-2+1)
	var all fsio.Kind
	for word := range seen {
		kind, err := fsio.ParseKind(word)
		require.NoError(t, err)
		all |= kind
	}
	assert.Equal(t, fsio.All, all)
}

var errOwn = errors.New("interceptor's own")

// on is an Interceptor that does what it is told for one kind.
func on(kind fsio.Kind, i fsio.Interceptor) fsio.Interceptor {
	return func(op *fsio.Op, do func() error) error {
		if op.Kind != kind {
			return do()
		}
		return i(op, do)
	}
}

// callOf makes one call of each kind on an FS that holds file and dir/file. The File and the Map are open.
var callOf = map[fsio.Kind]func(fsys fsio.FS, f fsio.File, m fsio.Map) error{
	fsio.OpOpen: func(fsys fsio.FS, _ fsio.File, _ fsio.Map) error {
		return opened(fsys.OpenFile("file", os.O_RDONLY, 0))
	},
	fsio.OpCreate: func(fsys fsio.FS, _ fsio.File, _ fsio.Map) error {
		return opened(fsys.OpenFile("new", os.O_RDWR|os.O_CREATE, 0o644))
	},
	fsio.OpRename:   func(fsys fsio.FS, _ fsio.File, _ fsio.Map) error { return fsys.Rename("file", "new") },
	fsio.OpRemove:   func(fsys fsio.FS, _ fsio.File, _ fsio.Map) error { return fsys.Remove("file") },
	fsio.OpMkdirAll: func(fsys fsio.FS, _ fsio.File, _ fsio.Map) error { return fsys.MkdirAll("new", 0o755) },
	fsio.OpReadDir:  func(fsys fsio.FS, _ fsio.File, _ fsio.Map) error { return second(fsys.ReadDir(".")) },
	fsio.OpStat:     func(fsys fsio.FS, _ fsio.File, _ fsio.Map) error { return second(fsys.Stat("file")) },
	fsio.OpChtimes:  func(fsys fsio.FS, _ fsio.File, _ fsio.Map) error { return fsys.Chtimes("file", time.Unix(1, 0)) },
	fsio.OpSyncDir:  func(fsys fsio.FS, _ fsio.File, _ fsio.Map) error { return fsys.SyncDir(".") },
	fsio.OpLock:     func(fsys fsio.FS, _ fsio.File, _ fsio.Map) error { return opened(fsys.Lock(".lock")) },
	fsio.OpUnlock:   func(fsys fsio.FS, _ fsio.File, _ fsio.Map) error { return opened(fsys.Lock(".lock")) },
	fsio.OpReadAt:   func(_ fsio.FS, f fsio.File, _ fsio.Map) error { return second(f.ReadAt(make([]byte, 4), 0)) },
	fsio.OpWriteAt:  func(_ fsio.FS, f fsio.File, _ fsio.Map) error { return second(f.WriteAt([]byte("new"), 0)) },
	fsio.OpSize:     func(_ fsio.FS, f fsio.File, _ fsio.Map) error { return second(f.Size()) },
	fsio.OpTruncate: func(_ fsio.FS, f fsio.File, _ fsio.Map) error { return f.Truncate(1) },
	fsio.OpAllocate: func(_ fsio.FS, f fsio.File, _ fsio.Map) error { return f.Allocate(10) },
	fsio.OpSync:     func(_ fsio.FS, f fsio.File, _ fsio.Map) error { return f.Sync() },
	fsio.OpMap:      func(_ fsio.FS, f fsio.File, _ fsio.Map) error { return opened(f.Map(1, fsio.ReadOnly)) },
	fsio.OpCopyTo:   func(_ fsio.FS, f fsio.File, _ fsio.Map) error { return second(f.CopyTo(io.Discard, 0, 4)) },
	fsio.OpClose:    func(_ fsio.FS, f fsio.File, _ fsio.Map) error { return f.Close() },
	fsio.OpMapView:  func(_ fsio.FS, _ fsio.File, m fsio.Map) error { return m.View(0, 4, new(sum)) },
	fsio.OpMapWriteAt: func(_ fsio.FS, _ fsio.File, m fsio.Map) error {
		return second(m.WriteAt([]byte("new"), 0))
	},
	fsio.OpMapFlush:  func(_ fsio.FS, _ fsio.File, m fsio.Map) error { return m.Flush(0, 4) },
	fsio.OpMapResize: func(_ fsio.FS, _ fsio.File, m fsio.Map) error { return m.Resize(2) },
	fsio.OpMapClose:  func(_ fsio.FS, _ fsio.File, m fsio.Map) error { return m.Close() },
}

// opened closes what a call returned.
func opened[C io.Closer](c C, err error) error {
	if err != nil {
		return err
	}
	return c.Close()
}

// callWith makes the call of a kind on a fresh FS under i, whose File and Map are closed past it.
func callWith(t *testing.T, kind fsio.Kind, i fsio.Interceptor) error {
	t.Helper()
	inner, _ := openOS(t)
	create(t, inner, "file", "content")
	f := create(t, inner, "other", "content")
	m, err := f.Map(7, fsio.ReadWrite)
	require.NoError(t, err)
	t.Cleanup(func() { m.Close() })
	active := false
	fsys := fsio.Intercept(inner, func(op *fsio.Op, do func() error) error {
		if !active || op.Kind != kind {
			return do()
		}
		return i(op, do)
	})
	file, err := fsys.OpenFile("other", os.O_RDWR, 0)
	require.NoError(t, err)
	through, err := file.Map(7, fsio.ReadWrite)
	require.NoError(t, err)
	active = true
	t.Cleanup(func() {
		active = false
		assert.NoError(t, firstOf(through.Close(), file.Close()))
	})
	return callOf[kind](fsys, file, through)
}

// TestInterceptReturns checks for every kind what the caller gets for what an Interceptor does.
func TestInterceptReturns(t *testing.T) {
	claimable := fsio.Mutates&^fsio.OpCreate | fsio.Closes
	for kind := range callOf {
		t.Run(kind.String(), func(t *testing.T) {
			assert.NoError(t, callWith(t, kind, func(_ *fsio.Op, do func() error) error { return do() }))
			assert.Equal(t, errOwn, callWith(t, kind, func(*fsio.Op, func() error) error { return errOwn }), "an error without do")
			assert.ErrorIs(t, callWith(t, kind, func(_ *fsio.Op, do func() error) error {
				assert.NoError(t, do())
				return errOwn
			}), errOwn, "an error after do")
			assert.ErrorIs(t, callWith(t, kind, func(_ *fsio.Op, do func() error) error {
				assert.NoError(t, do())
				return do()
			}), fs.ErrInvalid, "do called twice")

			err := callWith(t, kind, func(*fsio.Op, func() error) error { return nil })
			if claimable.Has(kind) {
				assert.NoError(t, err, "nil without do")
			} else {
				assert.ErrorIs(t, err, fs.ErrInvalid, "nil without do")
			}
			var late func() error
			_ = callWith(t, kind, func(_ *fsio.Op, do func() error) error { late = do; return errOwn })
			assert.ErrorIs(t, late(), fs.ErrInvalid, "do after the end")
		})
	}
}

func TestInterceptChangesOp(t *testing.T) {
	inner, _ := openOS(t)
	create(t, inner, "file", "0123456789")
	change := func(*fsio.Op) {}
	fsys := fsio.Intercept(inner, func(op *fsio.Op, do func() error) error {
		change(op)
		return do()
	})
	change = func(op *fsio.Op) { op.Path = "file" }
	f, err := fsys.OpenFile("elsewhere", os.O_RDWR, 0)
	require.NoError(t, err)
	defer func() { change = func(*fsio.Op) {}; f.Close() }()
	assert.NoError(t, second(fsys.Stat("elsewhere")))

	change = func(op *fsio.Op) { op.Off += 5 }
	b := make([]byte, 3)
	n, err := f.ReadAt(b, 0)
	require.NoError(t, err)
	assert.Equal(t, "567", string(b[:n]), "a moved Off")
	_, err = f.WriteAt([]byte("F"), 0)
	require.NoError(t, err)
	assert.Equal(t, "01234F6789", content(t, inner, "file"))
	var out bytes.Buffer
	require.NoError(t, second(f.CopyTo(&out, 1, 2)))
	assert.Equal(t, "67", out.String())

	change = func(*fsio.Op) {}
	m, err := f.Map(4, fsio.ReadOnly)
	require.NoError(t, err)
	change = func(op *fsio.Op) { op.Off += 5 }
	require.NoError(t, m.View(0, 3, fsio.ViewFunc(func(b []byte) error {
		assert.Equal(t, "F67", string(b), "a View elsewhere")
		return nil
	})))
	var fault *fsio.FaultError
	change = func(op *fsio.Op) { op.Off += 8 }
	assert.ErrorAs(t, m.View(0, 3, fsio.ViewFunc(func([]byte) error { return nil })), &fault, "past the file's end")
	change = func(*fsio.Op) {}
	require.NoError(t, m.Close())

	change = func(op *fsio.Op) { op.Size = 4 }
	require.NoError(t, f.Truncate(7))
	require.NoError(t, f.Allocate(9))
	assert.Equal(t, "0123", content(t, inner, "file"), "another Size")

	change = func(op *fsio.Op) { op.To = "moved" }
	require.NoError(t, fsys.Rename("file", "nowhere"))
	assert.Equal(t, "0123", content(t, inner, "moved"), "another To")
}

// TestInterceptData checks what shortened and replaced Data mean for a File and its Map.
func TestInterceptData(t *testing.T) {
	type result struct {
		n   int
		err error
		got string // what was read, or is in the file afterwards
	}
	read := func(f fsio.File, _ fsio.Map) result {
		b := []byte("......")
		n, err := f.ReadAt(b, 2)
		return result{n, err, string(b)}
	}
	write := func(f fsio.File, _ fsio.Map) result {
		n, err := f.WriteAt([]byte("abcdef"), 2)
		return result{n, err, ""}
	}
	mapWrite := func(_ fsio.File, m fsio.Map) result {
		n, err := m.WriteAt([]byte("abcdef"), 2)
		return result{n, err, ""}
	}
	view := func(_ fsio.File, m fsio.Map) result {
		got := "not called"
		err := m.View(2, 6, fsio.ViewFunc(func(b []byte) error { got = string(b); return nil }))
		return result{0, err, got}
	}
	shorten := func(op *fsio.Op, do func() error) error { op.Data = op.Data[:2]; return do() }
	shortenAfter := func(op *fsio.Op, do func() error) error {
		err := do()
		op.Data = op.Data[:2]
		return err
	}
	replace := func(op *fsio.Op, do func() error) error {
		op.Data = bytes.ToUpper(op.Data)
		return do()
	}
	lengthen := func(op *fsio.Op, do func() error) error {
		op.Data = append(slices.Clip(op.Data), "XYZ"...)
		return do()
	}
	flip := func(op *fsio.Op, do func() error) error {
		err := do()
		op.Data[0] = '*'
		return err
	}
	claim := func(*fsio.Op, func() error) error { return nil }
	claimPart := func(op *fsio.Op, _ func() error) error { op.Data = op.Data[:2]; return nil }
	fail := func(op *fsio.Op, do func() error) error { op.Data = op.Data[:2]; return firstOf(do(), errOwn) }
	drop := func(_ *fsio.Op, do func() error) error { _ = do(); return nil }
	const text = "0123456789"
	for _, row := range []struct {
		name string
		call func(fsio.File, fsio.Map) result
		i    fsio.Interceptor
		want result
		file string // its content afterwards
	}{
		{"read shortened before", read, shorten, result{2, io.ErrUnexpectedEOF, "23...."}, text},
		{"read shortened after", read, shortenAfter, result{2, io.ErrUnexpectedEOF, "234567"}, text},
		{"read into another slice", read, replace, result{6, nil, "234567"}, text},
		{"read changed", read, flip, result{6, nil, "*34567"}, text},
		{"read and failed", read, fail, result{2, errOwn, "23...."}, text},
		{"read not made", read, claim, result{0, fs.ErrInvalid, "......"}, text},
		{"write shortened", write, shorten, result{2, io.ErrShortWrite, ""}, "01ab456789"},
		{"write replaced", write, replace, result{6, nil, ""}, "01ABCDEF89"},
		{"write lengthened", write, lengthen, result{6, nil, ""}, "01abcdefXYZ"},
		{"write and failed", write, fail, result{2, errOwn, ""}, "01ab456789"},
		{"write claimed", write, claim, result{6, nil, ""}, text},
		{"write claimed in part", write, claimPart, result{2, io.ErrShortWrite, ""}, text},
		{"store shortened", mapWrite, shorten, result{2, io.ErrShortWrite, ""}, "01ab456789"},
		{"store replaced", mapWrite, replace, result{6, nil, ""}, "01ABCDEF89"},
		{"store claimed", mapWrite, claim, result{6, nil, ""}, text},
		{"store past the end", mapWrite, lengthen, result{0, fs.ErrInvalid, ""}, text},
		{"view shortened", view, shorten, result{0, io.ErrUnexpectedEOF, "not called"}, text},
		{"view replaced", view, func(op *fsio.Op, do func() error) error {
			op.Data = bytes.Repeat([]byte("v"), len(op.Data))
			return do()
		}, result{0, nil, "vvvvvv"}, text},
		{"view lengthened", view, lengthen, result{0, nil, "234567"}, text},
		{"view not made", view, claim, result{0, fs.ErrInvalid, "not called"}, text},
		{"dropped end of the file", func(f fsio.File, _ fsio.Map) result {
			b := make([]byte, 6)
			n, err := f.ReadAt(b, 7)
			return result{n, err, string(b[:n])}
		}, drop, result{3, io.ErrUnexpectedEOF, "789"}, text},
		{"copy cut", func(f fsio.File, _ fsio.Map) result {
			var out bytes.Buffer
			n, err := f.CopyTo(&out, 2, 6)
			return result{int(n), err, out.String()}
		}, func(op *fsio.Op, do func() error) error { op.Size = 2; return do() }, result{2, io.ErrUnexpectedEOF, "23"}, text},
	} {
		t.Run(row.name, func(t *testing.T) {
			inner, _ := openOS(t)
			create(t, inner, "file", text)
			active := false
			fsys := fsio.Intercept(inner, func(op *fsio.Op, do func() error) error {
				if !active {
					return do()
				}
				return row.i(op, do)
			})
			f, err := fsys.OpenFile("file", os.O_RDWR, 0)
			require.NoError(t, err)
			m, err := f.Map(9, fsio.ReadWrite)
			require.NoError(t, err)
			active = true
			got := row.call(f, m)
			active = false
			require.NoError(t, firstOf(m.Close(), f.Close()))
			assert.Equal(t, row.want.n, got.n)
			assert.Equal(t, row.want.got, got.got)
			assert.ErrorIs(t, got.err, row.want.err)
			assert.Equal(t, row.file, content(t, inner, "file"))
		})
	}
}

// order is an Interceptor that tells when it begins and ends.
func order(log *[]string, name string) fsio.Interceptor {
	return func(_ *fsio.Op, do func() error) error {
		*log = append(*log, name)
		defer func() { *log = append(*log, "/"+name) }()
		return do()
	}
}

func TestInterceptOrder(t *testing.T) {
	inner, _ := openOS(t)
	f := create(t, inner, "file", "content")
	require.NoError(t, f.Truncate(7))
	for name, wrap := range map[string]func(log *[]string) fsio.FS{
		"wrapper around wrapper": func(log *[]string) fsio.FS {
			return fsio.Intercept(fsio.Intercept(fsio.Intercept(inner, order(log, "c")), order(log, "b")), order(log, "a"))
		},
		"chain": func(log *[]string) fsio.FS {
			return fsio.Intercept(inner, fsio.Chain(order(log, "a"), order(log, "b"), order(log, "c")))
		},
		"chain around wrapper": func(log *[]string) fsio.FS {
			return fsio.Intercept(fsio.Intercept(inner, order(log, "c")), fsio.Chain(order(log, "a"), fsio.Chain(), order(log, "b")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			var log []string
			fsys := wrap(&log)
			want := []string{"a", "b", "c", "/c", "/b", "/a"}
			f, err := fsys.OpenFile("file", os.O_RDONLY, 0)
			require.NoError(t, err)
			assert.Equal(t, want, log, "of OpenFile")
			m, err := f.Map(7, fsio.ReadOnly)
			require.NoError(t, err)
			log = nil
			require.NoError(t, m.View(0, 7, new(sum)))
			assert.Equal(t, want, log, "of View")
			require.NoError(t, firstOf(m.Close(), f.Close()))
		})
	}
}

// TestChainKeepsTheRules: each Interceptor of a chain is held to them.
func TestChainKeepsTheRules(t *testing.T) {
	inner, _ := openOS(t)
	runs := 0
	twice := on(fsio.OpStat, func(_ *fsio.Op, do func() error) error { return firstOf(do(), do()) })
	count := on(fsio.OpStat, func(_ *fsio.Op, do func() error) error { runs++; return do() })
	_, err := fsio.Intercept(inner, fsio.Chain(twice, count)).Stat(".")
	refused(t, err, ".", fs.ErrInvalid)
	assert.Equal(t, 1, runs)

	lie := on(fsio.OpStat, func(*fsio.Op, func() error) error { return nil })
	var seen error
	watch := on(fsio.OpStat, func(_ *fsio.Op, do func() error) error { seen = do(); return seen })
	_, err = fsio.Intercept(inner, fsio.Chain(watch, lie)).Stat(".")
	refused(t, err, ".", fs.ErrInvalid)
	assert.ErrorIs(t, seen, fs.ErrInvalid, "what the outer one is told")
}

// TestInterceptNested: a call that an Interceptor makes on the same FS is intercepted, too.
func TestInterceptNested(t *testing.T) {
	inner, _ := openOS(t)
	var tr trace
	var fsys fsio.FS
	fsys = fsio.Intercept(inner, fsio.Chain(tr.intercept, on(fsio.OpSyncDir, func(_ *fsio.Op, do func() error) error {
		return firstOf(second(fsys.Stat(".")), do())
	})))
	require.NoError(t, fsys.SyncDir("."))
	assert.Equal(t, []string{"stat .", "syncdir ."}, tr.take())
}
