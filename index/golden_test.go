package index_test

import (
	"bufio"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/aferofs"
	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/internal/fixture"
)

// TestGolden holds every index file that a Kafka wrote to what kafka-dump-log of that version says of it. The
// tool dies where the log or the index is not as it should be, and of old versions shows the reserved space of a
// time index.
func TestGolden(t *testing.T) {
	versions := fixture.Versions()
	if testing.Short() {
		versions = versions[len(versions)-1:]
	}
	files := 0
	for _, version := range versions {
		for _, c := range fixture.Cases(t, version) {
			t.Run(c, func(t *testing.T) {
				dir := fixture.Golden(t, c)
				fsys, err := fsio.OS(filepath.Join(dir, "data"))
				require.NoError(t, err)
				g := goldenCase{fsys: fsys, damaged: path.Base(c) == "damaged"}
				if slices.Index(fixture.Versions(), version) < slices.Index(fixture.Versions(), "3.9.2") {
					g.old, g.damaged = true, fixture.ReadLegacyCase(t, dir).Damaged
				}
				for file, d := range dumps(t, filepath.Join(dir, "expected")) {
					if strings.HasSuffix(file, "index") {
						files++
						g.check(t, file, d)
					}
				}
				require.NoError(t, fsys.Close())
			})
		}
	}
	assert.Greater(t, files, 100)
}

type goldenCase struct {
	fsys         fsio.FS
	old, damaged bool
}

// dump is what kafka-dump-log printed of a file.
type dump struct {
	entries []string
	died    bool // with an exception, where the log or the index was not as it should be
}

// dumps are those of a case, by file.
func dumps(t *testing.T, dir string) map[string]*dump {
	t.Helper()
	all := map[string]*dump{}
	for _, name := range fixture.Files(t, dir, "dump-*.txt") {
		if name == "dump-index-sanity-check.txt" || name == "dump-verify-index-only.txt" {
			continue
		}
		f, err := os.Open(filepath.Join(dir, name))
		require.NoError(t, err)
		d := new(dump)
		for in := bufio.NewScanner(f); in.Scan(); {
			line := in.Text()
			file, dumping := strings.CutPrefix(line, "Dumping ")
			switch {
			case dumping:
				d = &dump{entries: []string{}}
				all[file] = d
			case strings.Contains(line, "Exception: "), strings.HasSuffix(line, "Exception"):
				d.died = true
			case strings.HasPrefix(line, "offset: "), strings.HasPrefix(line, "timestamp: "), strings.HasPrefix(line, "version: "):
				d.entries = append(d.entries, line)
			}
		}
		require.NoError(t, f.Close())
	}
	return all
}

// check compares what is read from file with the dump, and writes it anew.
func (g goldenCase) check(t *testing.T, file string, want *dump) {
	t.Helper()
	number, extension, _ := strings.Cut(path.Base(file), ".")
	base, err := strconv.ParseInt(number, 10, 64)
	require.NoError(t, err)
	switch extension {
	case "index":
		g.checkIndex(t, file, base, want, index.OffsetLayout, "offset: %d position: %d")
	case "timeindex":
		if zero := fmt.Sprintf("timestamp: 0 offset: %d", base); g.old {
			for n := len(want.entries) - 1; n > 0 && want.entries[n] == zero; n-- {
				want.entries = want.entries[:n]
			}
		}
		g.checkIndex(t, file, base, want, index.TimeLayout, "timestamp: %d offset: %d")
	case "txnindex":
		g.checkTxn(t, file, base, want.entries)
	}
}

func (g goldenCase) checkIndex(t *testing.T, file string, base int64, want *dump, l index.Layout, text string) {
	t.Helper()
	got := []string{}
	for e, err := range index.Entries(g.fsys, file, l, base) {
		if g.damaged && err != nil {
			break
		}
		require.NoError(t, err, file)
		offset := e.Key
		if l == index.TimeLayout {
			offset = e.Value
		}
		if len(got) > 0 && offset == base { // so the tool tells where the reserved space begins
			break
		}
		got = append(got, fmt.Sprintf(text, e.Key, e.Value))
	}
	shown := got
	if want.died {
		shown = got[:min(len(got), len(want.entries))]
	}
	assert.Equal(t, want.entries, shown, file)
	if !g.damaged {
		g.rewrite(t, file, index.Options{Layout: l, Base: base, ReadOnly: true, Check: true}, len(got))
	}
}

// rewrite opens file with all checks, and writes its entries anew: the bytes must be Kafka's.
func (g goldenCase) rewrite(t *testing.T, file string, o index.Options, shown int) {
	t.Helper()
	x, err := index.OpenMmap(g.fsys, file, o)
	require.NoError(t, err, file)
	entries := all(x)
	require.NoError(t, x.Close())
	if len(entries) != shown { // the tool takes the first entry of an empty index for one
		assert.Empty(t, entries, file)
		assert.Equal(t, 1, shown, file)
	}
	f, err := g.fsys.OpenFile(file, os.O_RDONLY, 0)
	require.NoError(t, err)
	o.ReadOnly, o.MaxBytes = false, 1<<20
	mem := aferofs.Mem()
	for part, open := range map[string]index.OpenFunc{"mmap": index.OpenMmap, "file": index.OpenFile} {
		x, err := open(mem, part, o)
		require.NoError(t, err)
		fill(t, x, entries...)
		require.NoError(t, x.Close())
		written := read(t, mem, part)
		kafkas := make([]byte, len(written))
		_, err = f.ReadAt(kafkas, 0)
		require.NoError(t, err)
		assert.Equal(t, kafkas, written, file)
	}
	require.NoError(t, f.Close())
}

func (g goldenCase) checkTxn(t *testing.T, file string, base int64, want []string) {
	t.Helper()
	x, err := index.OpenTxn(g.fsys, file, base)
	if g.damaged && err != nil {
		assert.ErrorIs(t, err, index.ErrCorrupt)
		return
	}
	require.NoError(t, err, file)
	got := []string{}
	mem := aferofs.Mem()
	anew, err := index.OpenTxn(mem, txnName, base)
	require.NoError(t, err)
	for _, txn := range allTxns(x) {
		got = append(got, fmt.Sprintf("version: 0 producerId: %d firstOffset: %d lastOffset: %d lastStableOffset: %d",
			txn.ProducerID, txn.FirstOffset, txn.LastOffset, txn.StableOffset))
		fillTxn(t, anew, txn)
	}
	assert.Equal(t, want, got, file)
	require.NoError(t, x.Close())
	require.NoError(t, anew.Close())
	if len(want) > 0 {
		assert.Equal(t, read(t, g.fsys, file), read(t, mem, txnName), file)
	}
}
