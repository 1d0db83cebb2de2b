package crashfs_test

import (
	"io"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
)

// stage is a filesystem on which a scenario runs, and what it has open there.
type stage struct {
	tb    testing.TB
	fsys  fsio.FS
	files map[string]fsio.File
	m     fsio.Map
}

// step is one call of a scenario.
type step func(s *stage)

// prepared is what the disk has, durably, before a scenario.
var prepared = map[string]string{"old": "old-", "dir/page": strings.Repeat("p", 4094), "dir/log": strings.Repeat("1", 600)}

// run prepares fsys, makes the calls of a scenario, and calls cut before the first and after each.
func run(tb testing.TB, fsys fsio.FS, steps []step, cut func()) {
	tb.Helper()
	s := &stage{tb: tb, fsys: fsys, files: map[string]fsio.File{}}
	defer s.close()
	require.NoError(tb, fsys.MkdirAll("dir", 0o755))
	require.NoError(tb, fsys.SyncDir("."))
	for name, text := range prepared {
		s.write(name, text, 0)
		require.NoError(tb, s.file(name).Sync())
		require.NoError(tb, fsys.SyncDir(path.Dir(name)))
	}
	cut()
	for _, step := range steps {
		step(s)
		cut()
	}
}

func (s *stage) close() {
	closers := []io.Closer{}
	if s.m != nil {
		closers = append(closers, s.m)
	}
	for _, f := range s.files {
		closers = append(closers, f)
	}
	for _, c := range closers {
		require.NoError(s.tb, c.Close())
	}
}

// file is the open File of a name; a later rename does not change it.
func (s *stage) file(name string) fsio.File {
	if s.files[name] == nil {
		s.files[name] = open(s.tb, s.fsys, name)
	}
	return s.files[name]
}

func (s *stage) write(name, text string, off int64) { write(s.tb, s.file(name), text, off) }

// must is a step of a call that returns an error.
func must(call func(s *stage) error) step {
	return func(s *stage) { require.NoError(s.tb, call(s)) }
}

func doWrite(name, text string, off int64) step { return func(s *stage) { s.write(name, text, off) } }

func doSync(name string) step { return must(func(s *stage) error { return s.file(name).Sync() }) }

func doSyncDir(name string) step { return must(func(s *stage) error { return s.fsys.SyncDir(name) }) }

func doTruncate(name string, size int64) step {
	return must(func(s *stage) error { return s.file(name).Truncate(size) })
}

func doAllocate(name string, size int64) step {
	return must(func(s *stage) error { return s.file(name).Allocate(size) })
}

func doRename(from, to string) step {
	return must(func(s *stage) error { return s.fsys.Rename(from, to) })
}

func doRemove(name string) step {
	return must(func(s *stage) error {
		if f := s.files[name]; f != nil {
			delete(s.files, name)
			require.NoError(s.tb, f.Close())
		}
		return s.fsys.Remove(name)
	})
}

func doMkdir(name string) step {
	return must(func(s *stage) error { return s.fsys.MkdirAll(name, 0o755) })
}

func doMap(name string, size int64) step {
	return must(func(s *stage) (err error) {
		s.m, err = s.file(name).Map(size, fsio.ReadWrite)
		return err
	})
}

func doStore(text string, off int64) step {
	return must(func(s *stage) error {
		_, err := s.m.WriteAt([]byte(text), off)
		return err
	})
}

func doFlush(off, n int64) step { return must(func(s *stage) error { return s.m.Flush(off, n) }) }

func doUnmap() step { return must(func(s *stage) error { return s.m.Close() }) }

// scenarios are the habits of logs: small, since what a power cut may leave is listed in full.
var scenarios = map[string][]step{
	"a new file":       {doWrite("new", "new", 0), doSync("new"), doSyncDir(".")},
	"an empty file":    {must(func(s *stage) error { return s.file("new").Sync() }), doSyncDir(".")},
	"in a new folder":  {doMkdir("d"), doWrite("d/new", "new", 0), doSync("d/new"), doSyncDir("d"), doSyncDir(".")},
	"an append":        {doWrite("old", "more", 4), doWrite("dir/log", "x", 0), doSync("dir/log"), doSync("old")},
	"an overwrite":     {doWrite("old", "NEW", 0), doWrite("other", "x", 0), doSync("other"), doSync("old")},
	"across a page":    {doWrite("dir/page", "abcdefgh", 4092), doWrite("dir/page", "ijkl", 4100), doSync("old"), doSync("dir/page")},
	"across a sector":  {doWrite("dir/log", "22222222", 508), doWrite("dir/log", "3333", 510), doWrite("dir/log", "4", 600), doSync("dir/log")},
	"a hole":           {doWrite("new", "end", 8192), doWrite("new", "begin", 0), doSyncDir("."), doSync("new")},
	"a checkpoint":     {doWrite("tmp", "new", 0), doSync("tmp"), doRename("tmp", "old"), doSyncDir(".")},
	"a hasty one":      {doWrite("tmp", "new", 0), doRename("tmp", "old"), doSyncDir("."), doSync("tmp")},
	"to a new name":    {doWrite("tmp", "new", 0), doRename("tmp", "ckpt"), doSyncDir("."), doSync("tmp")},
	"to another place": {doRename("old", "dir/old"), doWrite("dir/log", "x", 1), doSync("dir/log"), doSyncDir("dir")},
	"moved in": {
		doWrite("dir/new", "new", 0), doSync("dir/new"), doRename("dir/new", "new"), doSyncDir("."),
		doRemove("new"), doSyncDir("."),
	},
	"moved twice": {
		doRename("dir/log", "dir/a"), doRename("dir/a", "dir/b"), doRename("dir/b", "b"), doSyncDir("."), doRename("b", "dir/b"),
		doSyncDir("."), doRemove("dir/b"), doSyncDir("dir"),
	},
	"a folder moves":   {doRename("dir", "moved"), doWrite("dir/log", "x", 600), doSyncDir(".")},
	"remove":           {doRemove("old"), doRemove("dir/log"), doSyncDir("."), doSyncDir("dir")},
	"made again":       {doRemove("old"), doWrite("old", "again", 0), doSync("old"), doSyncDir(".")},
	"replaced twice":   {doWrite("a", "a", 0), doRename("a", "old"), doWrite("b", "b", 0), doSync("b"), doRename("b", "old"), doSyncDir(".")},
	"cut":              {doTruncate("dir/log", 100), doWrite("dir/log", "new", 100), doSync("old"), doSync("dir/log")},
	"cut and grown":    {doTruncate("old", 2), doTruncate("old", 6), doSyncDir("."), doSync("old")},
	"emptied":          {doTruncate("old", 0), doWrite("old", "fresh", 0), doSync("dir/log"), doSync("old")},
	"allocated":        {doAllocate("new", 600), doWrite("new", "abc", 510), doSyncDir("."), doSync("new")},
	"a map":            {doAllocate("index", 8192), doMap("index", 8192), doStore("one", 0), doStore("two", 4096), doFlush(0, 8192), doSyncDir(".")},
	"a map, one page":  {doAllocate("index", 8192), doSync("index"), doMap("index", 8192), doStore("one", 0), doStore("two", 4096), doFlush(4096, 3)},
	"a map and a sync": {doMap("old", 4), doStore("X", 1), doUnmap(), doWrite("dir/log", "x", 0), doSync("dir/log"), doSync("old")},
	"a roll": {
		doWrite("old", "last", 4), doSync("old"), doWrite("next", "first", 0), doSync("next"), doSyncDir("."),
		doWrite("next", "!", 5), doSync("next"),
	},
	"times": {must(func(s *stage) error { return s.fsys.Chtimes("old", time.Unix(1000, 0)) }), doWrite("old", "x", 0), doSync("old")},
}
