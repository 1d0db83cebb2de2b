package index_test

import (
	"io/fs"
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/index"
)

const txnName = "00000000000000000000.txnindex"

// four are the aborted transactions of Kafka's tests.
var four = []index.AbortedTxn{
	{ProducerID: 0, FirstOffset: 0, LastOffset: 10, StableOffset: 11},
	{ProducerID: 1, FirstOffset: 5, LastOffset: 15, StableOffset: 13},
	{ProducerID: 2, FirstOffset: 18, LastOffset: 35, StableOffset: 25},
	{ProducerID: 3, FirstOffset: 32, LastOffset: 50, StableOffset: 40},
}

func openTxn(t testing.TB, fsys fsio.FS, base int64) *index.Txn {
	t.Helper()
	x, err := index.OpenTxn(fsys, txnName, base)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, x.Close()) })
	return x
}

func fillTxn(t testing.TB, x *index.Txn, txns ...index.AbortedTxn) {
	t.Helper()
	for _, txn := range txns {
		require.NoError(t, x.Append(txn))
	}
}

func allTxns(x *index.Txn) []index.AbortedTxn {
	txns := []index.AbortedTxn{}
	for i := range x.Len() {
		txns = append(txns, x.At(i))
	}
	return txns
}

// names are the files of fsys.
func names(t testing.TB, fsys fsio.FS) []string {
	t.Helper()
	entries, err := fsys.ReadDir(".")
	require.NoError(t, err)
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// E21 testPositionSetCorrectlyWhenOpened.
func TestE21TxnReopen(t *testing.T) {
	onBoth(t, func(t *testing.T, fsys fsio.FS) {
		x := openTxn(t, fsys, 0)
		fillTxn(t, x, four...)
		require.NoError(t, x.Close())
		x = openTxn(t, fsys, 0)
		assert.Equal(t, four, allTxns(x))
		fifth := index.AbortedTxn{ProducerID: 4, FirstOffset: 32, LastOffset: 60, StableOffset: 50}
		fillTxn(t, x, fifth)
		want := append(four[:4:4], fifth)
		assert.Equal(t, want, allTxns(x))
		require.NoError(t, x.Close())
		assert.Equal(t, want, allTxns(openTxn(t, fsys, 0)))
	})
}

// E22 testSanityCheck.
func TestE22TxnSanity(t *testing.T) {
	fsys := newMem(t)
	fillTxn(t, openTxn(t, fsys, 0), four...)
	_, err := index.OpenTxn(fsys, txnName, 100)
	assert.ErrorIs(t, err, index.ErrCorrupt, "the base is above them all")
	entry := "0000 0000000000000007 000000000000000a 0000000000000014 000000000000000f"
	for _, row := range []struct {
		name  string
		base  int64
		bytes string
		want  int // −1: ErrCorrupt
		pos   int64
	}{
		{"whole", 0, entry, 1, 0},
		{"last offset at the base", 20, entry, 1, 0},
		{"last offset below the base", 21, entry, -1, 0},
		{"empty", 100, "", 0, 0},
		{"a part", 0, entry[:21], -1, 0},
		{"a part at the end", 0, entry + "00", -1, 34},
		{"the same again", 0, entry + entry, -1, 34},
		{"version 1", 0, "0001" + entry[4:], -1, 0},
		{"version 256", 0, "0100" + entry[4:], -1, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, fsys fsio.FS) {
				data := unhex(t, row.bytes)
				write(t, fsys, txnName, data)
				x, err := index.OpenTxn(fsys, txnName, row.base)
				if row.want < 0 {
					assert.ErrorIs(t, err, index.ErrCorrupt)
					var place *fsio.PosError
					require.ErrorAs(t, err, &place)
					assert.Equal(t, txnName, place.Path)
					assert.Equal(t, row.pos, place.Pos)
				} else {
					require.NoError(t, err)
					assert.Equal(t, row.want, x.Len())
					require.NoError(t, x.Close())
				}
				assert.Equal(t, data, read(t, fsys, txnName))
			})
		})
	}
}

// E23 testLastOffsetMustIncrease, testLastOffsetCannotDecrease.
func TestE23TxnOrder(t *testing.T) {
	onBoth(t, func(t *testing.T, fsys fsio.FS) {
		x := openTxn(t, fsys, 5)
		assert.ErrorIs(t, x.Append(index.AbortedTxn{LastOffset: 4}), index.ErrRange)
		assert.Empty(t, names(t, fsys), "a refused Append makes no file")
		fillTxn(t, x, four[1])
		for _, last := range []int64{13, 15} {
			assert.ErrorIs(t, x.Append(index.AbortedTxn{LastOffset: last}), index.ErrOrder)
		}
		assert.Equal(t, four[1:2], allTxns(x))
	})
}

// E24 testCollectAbortedTransactions.
func TestE24TxnCollect(t *testing.T) {
	x := openTxn(t, newMem(t), 0)
	all, done := x.Collect(nil, 0, 100)
	assert.Empty(t, all)
	assert.False(t, done)
	fillTxn(t, x, four...)
	for _, row := range []struct {
		from, to int64
		want     []index.AbortedTxn
		done     bool
	}{
		{0, 100, four, false},
		{0, 32, four[:3], true},
		{0, 35, four, true},
		{10, 35, four, true},
		{11, 35, four[1:], true},
		{20, 41, four[2:], false},
	} {
		all, done := x.Collect(nil, row.from, row.to)
		assert.Equal(t, row.want, all, "Collect(%d, %d)", row.from, row.to)
		assert.Equal(t, row.done, done, "Collect(%d, %d)", row.from, row.to)
	}
	other := index.AbortedTxn{ProducerID: 9}
	all, _ = x.Collect([]index.AbortedTxn{other}, 20, 41)
	assert.Equal(t, []index.AbortedTxn{other, four[2], four[3]}, all)
}

// E25 testTruncate.
func TestE25TxnTruncate(t *testing.T) {
	onBoth(t, func(t *testing.T, fsys fsio.FS) {
		x := openTxn(t, fsys, 0)
		require.NoError(t, x.Truncate(0), "without a file there is nothing to truncate")
		assert.Empty(t, names(t, fsys))
		fillTxn(t, x, four...)
		before, _ := x.Collect(nil, 0, 100)
		for _, row := range []struct {
			offset int64
			kept   int
		}{{51, 4}, {50, 3}, {36, 3}, {15, 1}, {0, 0}} {
			require.NoError(t, x.Truncate(row.offset))
			assert.Equal(t, four[:row.kept], allTxns(x), "truncated to %d", row.offset)
			assert.Len(t, read(t, fsys, txnName), 34*row.kept)
		}
		fillTxn(t, x, four[3])
		assert.Equal(t, four[3:], allTxns(x))
		assert.Equal(t, four, before, "what was collected before")
	})
}

// E26 and the golden vector.
func TestE26TxnBytes(t *testing.T) {
	onBoth(t, func(t *testing.T, fsys fsio.FS) {
		x := openTxn(t, fsys, 0)
		txn := index.AbortedTxn{ProducerID: 7, FirstOffset: 10, LastOffset: 20, StableOffset: 15}
		fillTxn(t, x, txn)
		require.NoError(t, x.Close())
		want := unhex(t, "0000 0000000000000007 000000000000000a 0000000000000014 000000000000000f")
		assert.Equal(t, want, read(t, fsys, txnName))
		assert.Equal(t, []index.AbortedTxn{txn}, allTxns(openTxn(t, fsys, 0)))
	})
}

// E27, E28 and E32: a rename, with the file open, not open, and not there.
func TestE27E28E32TxnMoved(t *testing.T) {
	onBoth(t, func(t *testing.T, fsys fsio.FS) {
		x := openTxn(t, fsys, 0)
		x.Moved("a")
		fillTxn(t, x, four[0])
		assert.Equal(t, []string{"a"}, names(t, fsys))
		require.NoError(t, fsys.Rename("a", "b"))
		x.Moved("b")
		fillTxn(t, x, four[1])
		require.NoError(t, x.Close())

		x, err := index.OpenTxn(fsys, "b", 0)
		require.NoError(t, err)
		require.NoError(t, fsys.Rename("b", "c"))
		x.Moved("c")
		fillTxn(t, x, four[2])
		require.NoError(t, x.Close())
		assert.Equal(t, []string{"c"}, names(t, fsys))
		assert.Len(t, read(t, fsys, "c"), 3*34)
	})
}

// E29 testFlush.
func TestE29TxnSync(t *testing.T) {
	onBoth(t, func(t *testing.T, fsys fsio.FS) {
		x := openTxn(t, fsys, 0)
		require.NoError(t, x.Sync())
		assert.Empty(t, names(t, fsys), "a Sync makes no file")
		fillTxn(t, x, four[0])
		require.NoError(t, x.Sync())
		assert.Equal(t, []string{txnName}, names(t, fsys))
	})
}

// What is there when it is opened may not be durable: a Sync covers it, too.
func TestTxnSyncCoversOldEntries(t *testing.T) {
	fsys := newMem(t)
	fillTxn(t, openTxn(t, fsys, 0), four...)
	var synced []string
	watched := fsio.Intercept(fsys, func(op *fsio.Op, do func() error) error {
		if op.Kind == fsio.OpSync {
			synced = append(synced, op.Path)
		}
		return do()
	})
	require.NoError(t, openTxn(t, watched, 0).Sync())
	assert.Equal(t, []string{txnName}, synced)
}

// Reading holds no descriptor and writes nothing, also where it would not be allowed.
func TestTxnReadOnly(t *testing.T) {
	fsys := newMem(t)
	fillTxn(t, openTxn(t, fsys, 0), four...)
	open := 0
	watched := fsio.Intercept(fsys, func(op *fsio.Op, do func() error) error {
		switch {
		case fsio.Mutates.Has(op.Kind):
			return syscall.EROFS
		case op.Kind == fsio.OpOpen:
			open++
		case op.Kind == fsio.OpClose:
			open--
		}
		return do()
	})
	x := openTxn(t, watched, 0)
	assert.Equal(t, four, allTxns(x))
	assert.Equal(t, 0, open)
	_, err := index.OpenTxn(watched, "missing", 0)
	require.NoError(t, err)
	require.NoError(t, x.Close())
	assert.Equal(t, []string{txnName}, names(t, fsys))
}

func TestTxnClosed(t *testing.T) {
	onBoth(t, func(t *testing.T, fsys fsio.FS) {
		x := openTxn(t, fsys, 0)
		fillTxn(t, x, four...)
		require.NoError(t, x.Close())
		require.NoError(t, x.Close())
		assert.Equal(t, 0, x.Len())
		assert.Panics(t, func() { x.At(0) })
		all, done := x.Collect(nil, 0, 100)
		assert.Empty(t, all)
		assert.False(t, done)
		assert.ErrorIs(t, x.Append(index.AbortedTxn{LastOffset: 100}), fs.ErrClosed)
		assert.ErrorIs(t, x.Truncate(0), fs.ErrClosed)
		assert.ErrorIs(t, x.Sync(), fs.ErrClosed)
	})
}

func TestTxnOpenErrors(t *testing.T) {
	onBoth(t, func(t *testing.T, fsys fsio.FS) {
		require.NoError(t, fsys.MkdirAll(txnName, 0o755))
		_, err := index.OpenTxn(fsys, txnName, 0)
		assert.ErrorIs(t, err, syscall.EISDIR)
	})
}

// I-14 (KAFKA-7866, KAFKA-13727): a failed append leaves nothing behind, and can be made again.
func TestI14TxnFailedAppend(t *testing.T) {
	onBoth(t, func(t *testing.T, fsys fsio.FS) {
		fail := false
		x := openTxn(t, fsio.Intercept(fsys, func(op *fsio.Op, do func() error) error {
			if fail && op.Kind == fsio.OpWriteAt {
				fail = false
				op.Data = op.Data[:20]
				_ = do()
				return syscall.ENOSPC
			}
			return do()
		}), 0)
		fillTxn(t, x, four[0])
		fail = true
		assert.ErrorIs(t, x.Append(four[1]), syscall.ENOSPC)
		assert.Equal(t, four[:1], allTxns(x))
		assert.Len(t, read(t, fsys, txnName), 34, "a part of an entry would be damage")
		fillTxn(t, x, four[1])
		assert.Equal(t, four[:2], allTxns(x))
	})
}

func TestTxnFailedCalls(t *testing.T) {
	var failing fsio.Kind
	x := openTxn(t, fsio.Intercept(newMem(t), func(op *fsio.Op, do func() error) error {
		if op.Kind == failing {
			return syscall.EIO
		}
		return do()
	}), 0)
	failing = fsio.OpCreate
	assert.ErrorIs(t, x.Append(four[0]), syscall.EIO)
	failing = 0
	fillTxn(t, x, four...)
	failing = fsio.OpTruncate
	assert.ErrorIs(t, x.Truncate(20), syscall.EIO)
	assert.Equal(t, four, allTxns(x))
	failing = fsio.OpSync
	assert.ErrorIs(t, x.Sync(), syscall.EIO)
	failing = 0
	assert.ErrorIs(t, x.Sync(), syscall.EIO, "after a failed Sync nothing is believed")
	assert.ErrorIs(t, x.Append(index.AbortedTxn{LastOffset: 100}), syscall.EIO)
	require.NoError(t, x.Close())
}

// What lies under the name of a file that was missing is not the index's own.
func TestTxnLeftover(t *testing.T) {
	fsys := newMem(t)
	x := openTxn(t, fsys, 0)
	write(t, fsys, txnName, make([]byte, 1000))
	fillTxn(t, x, four[0])
	assert.Len(t, read(t, fsys, txnName), 34)
}

func TestTxnModel(t *testing.T) {
	seed := uint64(7)
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, seed))
	onBoth(t, func(t *testing.T, fsys fsio.FS) {
		x := openTxn(t, fsys, 0)
		model := []index.AbortedTxn{}
		last := int64(0)
		for range 600 {
			switch rnd.IntN(20) {
			case 0:
				to := max(0, last-rnd.Int64N(50))
				require.NoError(t, x.Truncate(to))
				for len(model) > 0 && model[len(model)-1].LastOffset >= to {
					model = model[:len(model)-1]
				}
			case 1:
				require.NoError(t, x.Close())
				x = openTxn(t, fsys, 0)
			default:
				last += 1 + rnd.Int64N(9)
				txn := index.AbortedTxn{ProducerID: rnd.Int64(), FirstOffset: last - rnd.Int64N(5), LastOffset: last, StableOffset: last}
				fillTxn(t, x, txn)
				model = append(model, txn)
			}
			if want := model; !assert.Equal(t, want, allTxns(x)) {
				return
			}
		}
	})
}
