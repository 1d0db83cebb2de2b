package epoch_test

import (
	"errors"
	"io/fs"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/aferofs"
	"github.com/stratalog/strata/internal/checkpoint"
	"github.com/stratalog/strata/internal/epoch"
)

const file = checkpoint.LeaderEpochs

func open(tb testing.TB, fsys fsio.FS) *epoch.Cache {
	tb.Helper()
	c, err := epoch.Open(fsys, file, epoch.Options{})
	require.NoError(tb, err)
	return c
}

// assign makes a Cache by assignments.
func assign(tb testing.TB, entries ...epoch.Entry) *epoch.Cache {
	tb.Helper()
	c := open(tb, aferofs.Mem())
	for _, e := range entries {
		require.NoError(tb, c.Assign(e.Epoch, e.StartOffset))
	}
	return c
}

// list is entries, from epochs and start offsets in turn.
func list(numbers ...int64) (entries []epoch.Entry) {
	for i := 0; i < len(numbers); i += 2 {
		entries = append(entries, epoch.Entry{Epoch: int32(numbers[i]), StartOffset: numbers[i+1]})
	}
	return entries
}

// TestAssign is J1, J2, J4, J5, J8, J12, J14, J15, J16 and J17 of Kafka's LeaderEpochFileCacheTest: what is kept.
func TestAssign(t *testing.T) {
	for _, row := range []struct {
		name           string
		assigned, want []epoch.Entry
	}{
		{"J1 one", list(2, 10), list(2, 10)},
		{"J2 the same epoch again is ignored", list(2, 11, 2, 12), list(2, 11)},
		{"J4 the first start stays", list(2, 9, 2, 10), list(2, 9)},
		{"J12 epochs need not begin with 0", list(2, 6), list(2, 6)},
		{"J4 the first start stays, twice", list(2, 6, 2, 7), list(2, 6)},
		{"the same epoch at a lower offset", list(2, 9, 2, 8), list(2, 8)},
		{"J5 an epoch without records goes", list(2, 9, 3, 9), list(3, 9)},
		{"J8 several go", list(5, 11, 6, 12, 7, 13, 7, 12), list(5, 11, 7, 12)},
		{"J14 an epoch does not fall", list(1, 5, 2, 6, 1, 7), list(1, 7)},
		{"J15 an offset does not fall", list(2, 6, 3, 5), list(3, 5)},
		{"J16 leaders change without data", list(0, 0, 1, 0, 2, 5), list(1, 0, 2, 5)},
		{"J17 a follower", list(0, 0, 0, 1, 0, 2, 1, 3, 1, 4, 2, 6, 2, 7), list(0, 0, 1, 3, 2, 6)},
		{"a lower epoch erases the higher", list(1, 10, 5, 20, 9, 30, 4, 40), list(1, 10, 4, 40)},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := assign(t, row.assigned...)
			assert.Equal(t, row.want, c.Entries())
			last, ok := c.Latest()
			assert.True(t, ok)
			assert.Equal(t, row.want[len(row.want)-1], last)
		})
	}
}

func TestAssignRefuses(t *testing.T) {
	c := assign(t, list(1, 1)...)
	require.ErrorIs(t, c.Assign(-1, 5), fs.ErrInvalid)
	require.ErrorIs(t, c.Assign(2, -1), fs.ErrInvalid)
	assert.Equal(t, list(1, 1), c.Entries())
}

// TestEndOffset is J1, J2, J3, J6, J7, J8, J9, J10, J11, J12, J14, J16 and J17: where epochs end.
func TestEndOffset(t *testing.T) {
	type question struct {
		epoch int32
		end   int64
		want  epoch.End
		ok    bool
	}
	for _, row := range []struct {
		name      string
		assigned  []epoch.Entry
		questions []question
	}{
		{"J3 J6 empty", nil, []question{{epoch: -1}, {epoch: 0}, {epoch: 7}}},
		{"J1 latest", list(2, 10), []question{{2, 11, epoch.End{Epoch: 2, Offset: 11}, true}, {epoch: -1}}},
		{"J2", list(2, 11, 2, 12), []question{{2, 14, epoch.End{Epoch: 2, Offset: 14}, true}}},
		{"J12 epochs need not begin with 0", list(2, 6), []question{{2, 7, epoch.End{Epoch: 2, Offset: 7}, true}}},
		{"J7 below the first", list(5, 11, 6, 12, 7, 13), []question{{4, 14, epoch.End{Epoch: 4, Offset: 11}, true}}},
		{"J8 of an erased one", list(5, 11, 6, 12, 7, 13, 7, 12), []question{
			{5, 14, epoch.End{Epoch: 5, Offset: 12}, true}, {6, 14, epoch.End{Epoch: 5, Offset: 12}, true},
		}},
		{"J9 in between", list(1, 11, 1, 12, 2, 13, 2, 14, 3, 15, 3, 16), []question{{2, 17, epoch.End{Epoch: 2, Offset: 15}, true}}},
		{"J10 one that never was", list(0, 10, 2, 13, 4, 17), []question{
			{1, 20, epoch.End{Epoch: 0, Offset: 13}, true},
			{2, 20, epoch.End{Epoch: 2, Offset: 17}, true},
			{3, 20, epoch.End{Epoch: 2, Offset: 17}, true},
		}},
		{"J11 above the latest", list(2, 100), []question{{epoch: 3, end: 200}}},
		{"J14", list(1, 5, 2, 6, 1, 7), []question{{1, 8, epoch.End{Epoch: 1, Offset: 8}, true}, {epoch: 2, end: 8}}},
		{"J16", list(0, 0, 1, 0), []question{
			{1, 0, epoch.End{Epoch: 1, Offset: 0}, true},
			{0, 0, epoch.End{Epoch: 0, Offset: 0}, true},
			{1, 5, epoch.End{Epoch: 1, Offset: 5}, true},
		}},
		{"J16 later", list(0, 0, 1, 0, 2, 5), []question{
			{2, 10, epoch.End{Epoch: 2, Offset: 10}, true},
			{1, 10, epoch.End{Epoch: 1, Offset: 5}, true},
			{0, 10, epoch.End{Epoch: 0, Offset: 0}, true},
		}},
		{"J17", list(0, 0, 1, 3, 2, 6), []question{
			{0, 9, epoch.End{Epoch: 0, Offset: 3}, true},
			{1, 9, epoch.End{Epoch: 1, Offset: 6}, true},
			{2, 9, epoch.End{Epoch: 2, Offset: 9}, true},
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := assign(t, row.assigned...)
			for _, q := range row.questions {
				got, ok := c.EndOffset(q.epoch, q.end)
				assert.Equal(t, q.ok, ok, "EndOffset(%d, %d)", q.epoch, q.end)
				assert.Equal(t, q.want, got, "EndOffset(%d, %d)", q.epoch, q.end)
			}
		})
	}
}

// TestForOffset is J22.
func TestForOffset(t *testing.T) {
	c := assign(t, list(0, 10, 1, 20, 5, 30)...)
	for _, row := range []struct {
		offset int64
		want   int32
		ok     bool
	}{{25, 1, true}, {20, 1, true}, {30, 5, true}, {50, 5, true}, {10, 0, true}, {5, 0, false}, {-1, 0, false}} {
		got, ok := c.ForOffset(row.offset)
		assert.Equal(t, row.ok, ok, "ForOffset(%d)", row.offset)
		assert.Equal(t, row.want, got, "ForOffset(%d)", row.offset)
	}
	_, ok := assign(t).ForOffset(0)
	assert.False(t, ok)
}

// TestTruncate is J18, J19 and J20.
func TestTruncate(t *testing.T) {
	three := list(2, 6, 3, 8, 4, 11)
	fromEnd := func(offset int64) func(c *epoch.Cache) bool {
		return func(c *epoch.Cache) bool { return c.TruncateFromEnd(offset) }
	}
	fromStart := func(offset int64) func(c *epoch.Cache) bool {
		return func(c *epoch.Cache) bool { return c.TruncateFromStart(offset) }
	}
	for _, row := range []struct {
		name   string
		before []epoch.Entry
		do     func(c *epoch.Cache) bool
		want   []epoch.Entry
	}{
		{"end at a start", three, fromEnd(8), list(2, 6)},
		{"end behind a start", three, fromEnd(9), list(2, 6, 3, 8)},
		{"end at the last start", three, fromEnd(11), list(2, 6, 3, 8)},
		{"end behind the last start", three, fromEnd(12), three},
		{"end at 0", three, fromEnd(0), nil},
		{"end at -1", three, fromEnd(-1), three},
		{"end of nothing", nil, fromEnd(5), nil},
		{"start at a start", three, fromStart(8), list(3, 8, 4, 11)},
		{"start behind a start", three, fromStart(9), list(3, 9, 4, 11)},
		{"start at the first start", three, fromStart(6), three},
		{"start before the first start", three, fromStart(1), three},
		{"start at the last start", three, fromStart(11), list(4, 11)},
		{"start behind the last start", three, fromStart(15), list(4, 15)},
		{"start at -1", three, fromStart(-1), three},
		{"start of nothing", nil, fromStart(5), nil},
		{"start inside of the first", list(0, 0, 1, 7, 2, 10), fromStart(5), list(0, 5, 1, 7, 2, 10)},
		{"clear", three, (*epoch.Cache).Clear, nil},
		{"clear nothing", nil, (*epoch.Cache).Clear, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := assign(t, row.before...)
			kept := c.Entries()
			changed := row.do(c)
			assert.Equal(t, len(row.want), len(c.Entries()))
			assert.ElementsMatch(t, row.want, c.Entries())
			assert.ElementsMatch(t, row.before, kept, "a list that was given out has changed")
			assert.Equal(t, !assert.ObjectsAreEqual(row.want, row.before), changed)
			assert.False(t, row.do(c), "twice changes twice")
		})
	}
}

// TestFile is J13 and J23: what the file holds after each step.
func TestFile(t *testing.T) {
	onEach(t, func(t *testing.T, fsys fsio.FS) {
		c := open(t, fsys)
		_, err := fsys.Stat(file)
		require.ErrorIs(t, err, fs.ErrNotExist, "Open creates nothing")
		for _, e := range list(2, 6, 3, 8, 4, 11) {
			require.NoError(t, c.Assign(e.Epoch, e.StartOffset))
			assert.Equal(t, c.Entries(), open(t, fsys).Entries(), "Assign writes")
		}
		assert.True(t, c.TruncateFromEnd(11))
		assert.True(t, c.TruncateFromStart(8))
		assert.Equal(t, list(2, 6, 3, 8, 4, 11), open(t, fsys).Entries(), "truncations do not write")
		require.NoError(t, c.Flush())
		assert.Equal(t, list(3, 8), open(t, fsys).Entries(), "Flush writes")
		assert.True(t, c.Clear())
		require.NoError(t, c.Flush())
		assert.Empty(t, open(t, fsys).Entries())
	})
}

// TestFlushWritesOnce counts the writes.
func TestFlushWritesOnce(t *testing.T) {
	renames := 0
	fsys := fsio.Intercept(aferofs.Mem(), func(op *fsio.Op, do func() error) error {
		if op.Kind == fsio.OpRename {
			renames++
		}
		return do()
	})
	c := open(t, fsys)
	require.NoError(t, c.Flush())
	assert.Equal(t, 0, renames, "nothing has changed")
	require.NoError(t, c.Assign(1, 0))
	require.NoError(t, c.Assign(1, 5))
	require.NoError(t, c.Flush())
	assert.Equal(t, 1, renames, "an assignment, and nothing new")
	c.TruncateFromStart(5)
	require.NoError(t, c.Flush())
	require.NoError(t, c.Flush())
	assert.Equal(t, 2, renames, "a truncation")
}

// TestAssignFails has a disk that fails: the Cache stays what it was, and Flush mends the file.
func TestAssignFails(t *testing.T) {
	broken := errors.New("broken")
	var failing error
	fsys := fsio.Intercept(aferofs.Mem(), func(op *fsio.Op, do func() error) error {
		if op.Kind == fsio.OpSyncDir && failing != nil { // the rename is done
			return failing
		}
		return do()
	})
	c := open(t, fsys)
	require.NoError(t, c.Assign(1, 0))
	failing = broken
	require.ErrorIs(t, c.Assign(2, 10), broken)
	assert.Equal(t, list(1, 0), c.Entries())
	failing = nil
	require.NoError(t, c.Flush())
	assert.Equal(t, list(1, 0), open(t, fsys).Entries())
}

func TestOpen(t *testing.T) {
	for _, row := range []struct {
		name, content string
		want          []epoch.Entry
		corrupt       bool
	}{
		{"Kafka's", "0\n2\n0 0\n3 120\n", list(0, 0, 3, 120), false},
		{"empty", "", nil, false},
		{"epochs that fall", "0\n3\n0 0\n5 10\n3 20\n", list(0, 0, 3, 20), false},
		{"offsets that fall", "0\n3\n0 0\n5 10\n6 5\n", list(0, 0, 6, 5), false},
		{"cut", "0\n2\n0 0\n3 12", nil, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			fsys := aferofs.Mem()
			put(t, fsys, row.content)
			c, err := epoch.Open(fsys, file, epoch.Options{})
			if row.corrupt {
				require.ErrorIs(t, err, checkpoint.ErrCorrupt)
				c, err = epoch.Open(fsys, file, epoch.Options{Empty: true})
				require.NoError(t, err)
				require.NoError(t, c.Flush())
			}
			require.NoError(t, err)
			assert.ElementsMatch(t, row.want, c.Entries())
			require.NoError(t, c.Flush())
			assert.Equal(t, c.Entries(), open(t, fsys).Entries(), "Flush mends the file")
		})
	}
}

func TestReadOnly(t *testing.T) {
	fsys := aferofs.Mem()
	put(t, fsys, "0\n1\n1 0\n")
	c, err := epoch.Open(fsys, file, epoch.Options{ReadOnly: true})
	require.NoError(t, err)
	require.NoError(t, c.Assign(2, 10))
	require.NoError(t, c.Flush())
	assert.Equal(t, list(1, 0, 2, 10), c.Entries())
	assert.Equal(t, list(1, 0), open(t, fsys).Entries())
}

// TestConcurrentReaders has readers beside a writer: what they see always rises.
func TestConcurrentReaders(t *testing.T) {
	c := assign(t, list(0, 0)...)
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				entries := c.Entries()
				for i := 1; i < len(entries); i++ {
					if entries[i].Epoch <= entries[i-1].Epoch || entries[i].StartOffset <= entries[i-1].StartOffset {
						t.Errorf("entries %v do not rise", entries)
						return
					}
				}
				c.EndOffset(5, 1000)
				c.ForOffset(50)
			}
		})
	}
	for i := range int32(100) {
		require.NoError(t, c.Assign(i, int64(i)*10))
		if i%7 == 0 {
			c.TruncateFromEnd(int64(i) * 9)
		}
	}
	close(done)
	readers.Wait()
}

// onEach runs a test on the disk and in memory.
func onEach(t *testing.T, test func(t *testing.T, fsys fsio.FS)) {
	t.Helper()
	t.Run("disk", func(t *testing.T) {
		fsys, err := fsio.OS(t.TempDir())
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, fsys.Close()) })
		test(t, fsys)
	})
	t.Run("memory", func(t *testing.T) { test(t, aferofs.Mem()) })
}

// put makes content that of the file.
func put(tb testing.TB, fsys fsio.FS, content string) {
	tb.Helper()
	f, err := fsys.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o644)
	require.NoError(tb, err)
	_, err = f.WriteAt([]byte(content), 0)
	require.NoError(tb, err)
	require.NoError(tb, f.Close())
}

// TestOpenCut cuts a file at every byte. Without content, as Kafka makes it at first, or with the version alone it has no
// epochs, as in Kafka; otherwise it is damaged.
func TestOpenCut(t *testing.T) {
	const whole = "0\n3\n0 0\n3 120\n4 130\n"
	for size := range len(whole) {
		fsys := aferofs.Mem()
		put(t, fsys, whole[:size])
		c, err := epoch.Open(fsys, file, epoch.Options{})
		if size == 0 || whole[:size] == "0\n" {
			require.NoError(t, err)
			assert.Empty(t, c.Entries())
			continue
		}
		require.ErrorIs(t, err, checkpoint.ErrCorrupt, "cut at %d", size)
	}
}

// TestOpenFlipped flips every bit of a file. There is no checksum in it: what is not refused is still a list
// that rises, which a log compares with its batches.
func TestOpenFlipped(t *testing.T) {
	const whole = "0\n3\n0 0\n3 120\n4 130\n"
	refused := 0
	for bit := range len(whole) * 8 {
		content := []byte(whole)
		content[bit/8] ^= 1 << (bit % 8)
		fsys := aferofs.Mem()
		put(t, fsys, string(content))
		c, err := epoch.Open(fsys, file, epoch.Options{})
		if err != nil {
			require.ErrorIs(t, err, checkpoint.ErrCorrupt, "bit %d", bit)
			refused++
			continue
		}
		before := epoch.Entry{Epoch: -1, StartOffset: -1}
		for _, e := range c.Entries() {
			require.Greater(t, e.Epoch, before.Epoch, "bit %d: %v", bit, c.Entries())
			require.Greater(t, e.StartOffset, before.StartOffset, "bit %d: %v", bit, c.Entries())
			before = e
		}
	}
	assert.Greater(t, refused, len(whole)*5, "of %d flipped bits", len(whole)*8)
}
