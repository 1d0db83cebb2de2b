package fsio_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
)

var page = int64(os.Getpagesize())

// mapped is a Map of the whole of a new file of pages pages, filled with 'a'.
func mapped(t testing.TB, pages int64) (fsio.Map, fsio.File) {
	t.Helper()
	fsys, _ := openOS(t)
	f := create(t, fsys, "file", strings.Repeat("a", int(pages*page)))
	m, err := f.Map(pages*page, fsio.ReadWrite)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, m.Close()) })
	return m, f
}

// sum adds up the bytes that it views.
type sum struct{ total int }

func (s *sum) View(b []byte) error {
	s.total = 0
	for _, c := range b {
		s.total += int(c)
	}
	return nil
}

func TestMapRefuses(t *testing.T) {
	fsys, _ := openOS(t)
	f := create(t, fsys, "file", "content")
	reader, err := fsys.OpenFile("file", os.O_RDONLY, 0)
	require.NoError(t, err)
	defer reader.Close()
	for _, row := range []struct {
		name string
		file fsio.File
		size int64
		prot fsio.Prot
		want error
	}{
		{"longer than the file", f, 8, fsio.ReadOnly, fs.ErrInvalid},
		{"negative", f, -1, fsio.ReadWrite, fs.ErrInvalid},
		{"huge", f, 1 << 62, fsio.ReadOnly, fs.ErrInvalid},
		{"no such protection", f, 1, fsio.ReadWrite + 1, fs.ErrInvalid},
		{"writes to a reader's", reader, 7, fsio.ReadWrite, fs.ErrPermission},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := row.file.Map(row.size, row.prot)
			refused(t, err, "file", row.want)
		})
	}
}

func TestMapBounds(t *testing.T) {
	m, _ := mapped(t, 2)
	size := m.Len()
	never := fsio.ViewFunc(func([]byte) error { t.Error("viewed a range that is refused"); return nil })
	for _, row := range []struct{ off, n int64 }{
		{-1, 1}, {0, -1}, {0, size + 1}, {size, 1}, {size + 1, 0}, {1, size}, {1<<63 - 1, 1}, {1, 1<<63 - 1}, {-1 << 63, 1},
	} {
		assert.ErrorIs(t, m.View(row.off, row.n, never), fs.ErrInvalid, "View(%d, %d)", row.off, row.n)
		assert.ErrorIs(t, m.Flush(row.off, row.n), fs.ErrInvalid, "Flush(%d, %d)", row.off, row.n)
	}
	for _, off := range []int64{-1, size - 2, size, 1 << 62, 1<<63 - 1} {
		n, err := m.WriteAt([]byte("xyz"), off)
		assert.ErrorIs(t, err, fs.ErrInvalid, "WriteAt(%d)", off)
		assert.Zero(t, n)
	}
	var s sum
	require.NoError(t, m.View(0, size, &s))
	assert.Equal(t, int(size)*'a', s.total, "a refused store changed something")
	for _, row := range []struct{ off, n int64 }{
		{0, 0}, {size, 0}, {size - 1, 1}, {page - 1, 2}, {page + 1, 1}, {0, size},
	} {
		require.NoError(t, m.View(row.off, row.n, &s), "View(%d, %d)", row.off, row.n)
		assert.Equal(t, int(row.n)*'a', s.total)
		require.NoError(t, m.Flush(row.off, row.n), "Flush(%d, %d)", row.off, row.n)
	}
}

func TestMapIsTheFile(t *testing.T) {
	m, f := mapped(t, 2)
	across := page - 2
	n, err := m.WriteAt([]byte("store"), across)
	require.NoError(t, err)
	assert.Equal(t, 5, n)
	b := make([]byte, 5)
	_, err = f.ReadAt(b, across)
	require.NoError(t, err)
	assert.Equal(t, "store", string(b))
	_, err = f.WriteAt([]byte("WRITE"), across)
	require.NoError(t, err)
	reader, err := f.Map(2*page, fsio.ReadOnly)
	require.NoError(t, err)
	defer reader.Close()
	for _, m := range []fsio.Map{m, reader} {
		require.NoError(t, m.View(across, 5, fsio.ViewFunc(func(b []byte) error {
			assert.Equal(t, "WRITE", string(b))
			return nil
		})))
	}
	n, err = reader.WriteAt([]byte("x"), 0)
	assert.ErrorIs(t, err, fs.ErrPermission)
	assert.Zero(t, n)
	assert.ErrorIs(t, reader.Resize(page), fs.ErrPermission)
	require.NoError(t, reader.Flush(0, 2*page))
}

// TestMapFaults cuts the file under its map.
func TestMapFaults(t *testing.T) {
	m, f := mapped(t, 4)
	require.NoError(t, f.Truncate(page+100))
	var s sum
	require.NoError(t, m.View(0, page+100, &s))
	require.NoError(t, m.View(page+100, 100, &s), "the rest of the last page")
	assert.Zero(t, s.total)

	var fault *fsio.FaultError
	err := m.View(page, 2*page, &s)
	require.ErrorAs(t, err, &fault)
	assert.Equal(t, fsio.FaultError{Path: "file", Off: page, Size: 2 * page, Err: io.ErrUnexpectedEOF}, *fault)

	long := make([]byte, 3*page)
	n, err := m.WriteAt(long, 10)
	require.ErrorAs(t, err, &fault)
	assert.Equal(t, fsio.FaultError{Path: "file", Off: 10, Size: 3 * page, Err: io.ErrUnexpectedEOF}, *fault)
	assert.EqualValues(t, 2*page-10, n, "the bytes of whole pages")
	b := make([]byte, 20)
	_, err = f.ReadAt(b, 0)
	require.NoError(t, err)
	assert.Equal(t, "aaaaaaaaaa"+strings.Repeat("\x00", 10), string(b))
	size, err := f.Size()
	require.NoError(t, err)
	assert.Equal(t, page+100, size)

	_, err = m.WriteAt([]byte("x"), 4*page-1)
	require.ErrorAs(t, err, &fault)
	require.NoError(t, f.Truncate(4*page))
	_, err = m.WriteAt([]byte("x"), 4*page-1)
	require.NoError(t, err, "a fault leaves the map usable")

	require.NoError(t, f.Truncate(0))
	require.ErrorAs(t, m.View(0, 1, &s), &fault)
	require.ErrorIs(t, fault, io.ErrUnexpectedEOF)
}

// TestMapFaultAfterClose: the cause of a fault is told also when the File is closed.
func TestMapFaultAfterClose(t *testing.T) {
	m, f := mapped(t, 2)
	require.NoError(t, f.Truncate(0))
	require.NoError(t, f.Close())
	require.ErrorIs(t, m.View(0, 1, new(sum)), io.ErrUnexpectedEOF)
	require.ErrorIs(t, m.Resize(page), fs.ErrClosed)
	assert.Equal(t, 2*page, m.Len())
}

// TestMapLeavesOtherPanics: only a fault of this map becomes an error, and the setting of the goroutine
// comes back.
func TestMapLeavesOtherPanics(t *testing.T) {
	m, f := mapped(t, 1)
	other, otherFile := mapped(t, 1)
	require.NoError(t, otherFile.Truncate(0))
	var nothing *sum
	for _, before := range []bool{false, true} {
		old := debug.SetPanicOnFault(before)
		view := func(do func(b []byte) error) error { return m.View(0, 1, fsio.ViewFunc(do)) }

		assert.PanicsWithValue(t, "own", func() { view(func([]byte) error { panic("own") }) })
		assert.Panics(t, func() { view(func([]byte) error { nothing.total++; return nil }) })
		cause := errors.New("viewer's")
		assert.Equal(t, cause, view(func([]byte) error { return cause }))
		assert.ErrorIs(t, view(func([]byte) error { return other.View(0, 1, new(sum)) }), io.ErrUnexpectedEOF)

		require.NoError(t, f.Truncate(0))
		assert.Error(t, m.View(0, 1, new(sum)))
		require.NoError(t, f.Truncate(page))

		assert.Equal(t, before, debug.SetPanicOnFault(old), "the goroutine's setting")
	}
	// The locks of the views that panicked are free.
	require.NoError(t, m.Resize(2*page))
}

// TestMapOtherFaultPanics: a fault in memory that is not of this map stays a panic.
func TestMapOtherFaultPanics(t *testing.T) {
	m, _ := mapped(t, 1)
	other, otherFile := mapped(t, 1)
	require.NoError(t, otherFile.Truncate(0))
	err := other.View(0, 1, fsio.ViewFunc(func(theirs []byte) error {
		return m.View(0, 1, fsio.ViewFunc(func([]byte) error { return new(sum).View(theirs) }))
	}))
	var fault *fsio.FaultError
	require.ErrorAs(t, err, &fault, "the fault passes the inner map, and is the outer's")
	assert.Equal(t, io.ErrUnexpectedEOF, fault.Err)
}

func TestMapResize(t *testing.T) {
	fsys, _ := openOS(t)
	f := create(t, fsys, "file", "")
	m, err := f.Map(0, fsio.ReadWrite)
	require.NoError(t, err)
	defer m.Close()
	require.NoError(t, m.View(0, 0, new(sum)))
	require.NoError(t, m.Flush(0, 0))
	want := ""
	for _, size := range []int64{3 * page, 3*page + 1, 100, 100, 0, 10, 2 * page} {
		want = (want + strings.Repeat("\x00", int(3*page+1)))[:size]
		require.NoError(t, m.Resize(size))
		assert.Equal(t, size, m.Len())
		assert.True(t, want == content(t, fsys, "file"), "after Resize(%d)", size)
		if size > 0 {
			mark := []byte{byte(size), 1}[:min(size, 2)]
			_, err := m.WriteAt(mark, size/2)
			require.NoError(t, err)
			want = want[:size/2] + string(mark) + want[size/2+int64(len(mark)):]
		}
	}
	require.ErrorIs(t, m.Resize(-1), fs.ErrInvalid)
	require.Error(t, m.Resize(1<<62), "more than a filesystem holds")
	assert.Equal(t, 2*page, m.Len(), "a Resize that failed leaves the map as it was")
	assert.True(t, want == content(t, fsys, "file"))
}

func TestMapAfterClose(t *testing.T) {
	m, f := mapped(t, 1)
	require.NoError(t, f.Close())
	var s sum
	require.NoError(t, m.View(0, page, &s), "a map of a closed file")
	_, err := m.WriteAt([]byte("x"), 0)
	require.NoError(t, err)
	require.NoError(t, m.Flush(0, page))
	require.NoError(t, m.Close())
	require.NoError(t, m.Close(), "a second Close")
	assert.Zero(t, m.Len())
	assert.ErrorIs(t, m.View(0, 0, &s), fs.ErrClosed)
	_, err = m.WriteAt(nil, 0)
	assert.ErrorIs(t, err, fs.ErrClosed)
	assert.ErrorIs(t, m.Flush(0, 0), fs.ErrClosed)
	assert.ErrorIs(t, m.Resize(1), fs.ErrClosed)
}

func TestMapViewAllocatesNothing(t *testing.T) {
	m, _ := mapped(t, 1)
	s := new(sum)
	p := []byte("entry")
	assert.Zero(t, testing.AllocsPerRun(1000, func() { _ = m.View(100, 12, s) }))
	assert.Zero(t, testing.AllocsPerRun(1000, func() { _, _ = m.WriteAt(p, 100) }))
}

// TestMapConcurrently views, stores, flushes, resizes and closes at once.
func TestMapConcurrently(t *testing.T) {
	m, f := mapped(t, 4)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			p := make([]byte, 8)
			for j := range 300 {
				if i == 3 && j == 250 {
					assert.NoError(t, m.Close())
				}
				off := int64(i) * page
				err := firstOf(m.View(off, 8, new(sum)), second(m.WriteAt(p, off)), m.Flush(off, 8))
				if i == 0 && j%10 == 0 {
					err = firstOf(err, m.Resize(int64(2+j%3)*page))
				}
				if err != nil && !errors.Is(err, fs.ErrInvalid) && !errors.Is(err, fs.ErrClosed) {
					t.Error(err)
				}
				runtime.Gosched()
			}
		})
	}
	all.Wait()
	_, err := f.Size()
	require.NoError(t, err)
}
