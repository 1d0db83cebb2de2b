package producer_test

import (
	"fmt"
	"io/fs"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/internal/producer"
)

// file is the name of a snapshot.
func file(offset int64) string { return fmt.Sprintf("%020d.snapshot", offset) }

// files are the names of snapshots.
func files(offsets ...int64) (names []string) {
	for _, o := range offsets {
		names = append(names, file(o))
	}
	return names
}

// appended appends n batches of one record by producer 1, the first with the given sequence, and takes a
// snapshot behind each.
func appended(tb testing.TB, s *producer.State, n int) {
	tb.Helper()
	seq := int32(0)
	if p, ok := s.Producer(1); ok {
		seq = p.LastSequence() + 1
	}
	for range n {
		must(tb, s, follower, data(1, 0, seq, s.End()))
		_, err := s.TakeSnapshot(true)
		require.NoError(tb, err)
		seq++
	}
}

// TestTakeSnapshot is I29.
func TestTakeSnapshot(t *testing.T) {
	for _, sync := range []bool{true, false} {
		onEach(t, func(t *testing.T, fsys fsio.FS) {
			s := open(t, fsys)
			name, err := s.TakeSnapshot(sync)
			require.NoError(t, err)
			assert.Empty(t, name, "there is nothing before offset 0")
			must(t, s, client, data(1, 0, 0, 0), data(1, 0, 1, 1))
			name, err = s.TakeSnapshot(sync)
			require.NoError(t, err)
			assert.Equal(t, dir+"/"+file(2), name)
			name, err = s.TakeSnapshot(sync)
			require.NoError(t, err)
			assert.Empty(t, name, "there is one")
			assert.Equal(t, files(2), names(t, fsys))
			assert.Equal(t, []int64{2}, s.Snapshots())
			got, err := producer.ReadSnapshot(fsys, dir+"/"+file(2))
			require.NoError(t, err)
			assert.Equal(t, []producer.Entry{{
				ProducerID: 1, LastSequence: 1, LastOffset: 1, Timestamp: 1, CoordinatorEpoch: -1, TxnFirstOffset: -1,
			}}, got)
			s.SetEnd(5) // G87: also behind batches without producer
			_, err = s.TakeSnapshot(sync)
			require.NoError(t, err)
			assert.Equal(t, files(2, 5), names(t, fsys))
		})
	}
}

// TestSnapshotsAreSorted has producers in the order of their ids.
func TestSnapshotsAreSorted(t *testing.T) {
	fsys := memory(t)
	s := open(t, fsys)
	for i, id := range []int64{900, 1, 1 << 40, 33, 17} {
		must(t, s, client, data(id, 0, 0, int64(i)))
	}
	_, err := s.TakeSnapshot(true)
	require.NoError(t, err)
	got, err := producer.ReadSnapshot(fsys, dir+"/"+file(5))
	require.NoError(t, err)
	for i, id := range []int64{1, 17, 33, 900, 1 << 40} {
		assert.Equal(t, id, got[i].ProducerID)
	}
}

// TestReload is I30, I15, I26, I27 and I28: what is left of producers in a State that is opened anew.
func TestReload(t *testing.T) {
	day := (24 * time.Hour).Milliseconds()
	for _, row := range []struct {
		name   string
		before []step
		now    int64
		then   []step
	}{
		{
			"an open transaction",
			[]step{{client, txn(data(1, 0, 0, 0)), nil}, {client, txn(data(1, 0, 1, 1)), nil}},
			0,
			[]step{{client, data(1, 0, 2, 2), producer.ErrInvalidTxnState}, {client, txn(data(1, 0, 2, 2)), nil}},
		},
		{
			"an open transaction does not expire",
			[]step{{client, txn(data(1, 0, 0, 0)), nil}, {client, txn(data(1, 0, 1, 1)), nil}},
			2 * day,
			[]step{{client, txn(data(1, 0, 7, 2)), producer.ErrOutOfOrderSequence}},
		},
		{
			"an ended transaction",
			[]step{{client, txn(data(1, 0, 0, 0)), nil}, {coordinator, commit(1, 0, 1), nil}},
			0,
			[]step{{client, data(1, 0, 1, 2), nil}},
		},
		{
			"a marker alone",
			[]step{{client, data(2, 0, 0, 0), nil}, {coordinator, commit(1, 3, 1), nil}},
			0,
			[]step{
				{client, data(1, 2, 0, 2), producer.ErrFenced},
				{client, data(1, 3, 1, 2), producer.ErrOutOfOrderSequence},
				{client, data(1, 3, 0, 2), nil},
			},
		},
		{
			"an old coordinator",
			[]step{{client, data(1, 0, 0, 0), nil}, {coordinator, marker(1, 0, 7, true, 1), nil}},
			0,
			[]step{{coordinator, marker(1, 0, 6, true, 2), producer.ErrCoordinatorFenced}},
		},
		{
			"an expired producer begins anywhere",
			[]step{{client, data(1, 0, 0, 0), nil}, {client, data(1, 0, 1, 1), nil}},
			1 + day,
			[]step{{client, data(1, 0, 5, 2), nil}},
		},
		{
			"so does one that a replica has",
			[]step{{follower, data(1, 0, 0, 0), nil}, {follower, data(1, 0, 1, 1), nil}},
			1 + day,
			[]step{{follower, data(1, 0, 2, 2), nil}, {client, data(1, 0, 3, 3), nil}},
		},
		{
			"one that is not goes on",
			[]step{{client, data(1, 0, 0, 0), nil}, {client, data(1, 0, 1, 1), nil}},
			day,
			[]step{{client, data(1, 0, 5, 2), producer.ErrOutOfOrderSequence}, {client, data(1, 0, 2, 2), nil}},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			fsys := memory(t)
			s := open(t, fsys)
			run(t, s, row.before)
			_, err := s.TakeSnapshot(true)
			require.NoError(t, err)
			open := open(t, fsys)
			require.NoError(t, open.Reload(0, 2, row.now))
			assert.Equal(t, int64(2), open.End())
			assert.Equal(t, s.FirstOpen(), open.FirstUnstable())
			run(t, open, row.then)
		})
	}
}

// TestReloadKeepsOneBatch has a producer's last batch as the only one that a duplicate is told by.
func TestReloadKeepsOneBatch(t *testing.T) {
	fsys := memory(t)
	s := open(t, fsys)
	must(t, s, client, count(3, data(1, 0, 0, 0)), at(9, count(2, data(1, 0, 3, 3))))
	_, err := s.TakeSnapshot(true)
	require.NoError(t, err)
	s = open(t, fsys)
	require.NoError(t, s.Reload(0, 5, 0))
	dup, duplicate, err := s.Analyze(client).Add(count(2, data(1, 0, 3, 5)))
	require.NoError(t, err)
	assert.True(t, duplicate)
	assert.Equal(t, int64(3), dup.FirstOffset)
	assert.Equal(t, int64(9), dup.Timestamp)
	_, _, err = s.Analyze(client).Add(count(3, data(1, 0, 0, 5)))
	require.ErrorIs(t, err, producer.ErrOutOfOrderSequence)
}

// TestReloadRemoves is I31 and I34.
func TestReloadRemoves(t *testing.T) {
	for _, row := range []struct {
		name       string
		start, end int64
		left       []int64
		want       int64 // End
	}{
		{"out of range", 1, 3, []int64{2, 3}, 3},
		{"at the start", 3, 5, []int64{4, 5}, 5},
		{"all above", 0, 0, nil, 0},
		{"in between", 0, 9, []int64{1, 2, 3, 4, 5}, 5},
		{"all below", 6, 9, nil, 6},
	} {
		t.Run(row.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, fsys fsio.FS) {
				appended(t, open(t, fsys), 5)
				s := open(t, fsys)
				require.NoError(t, s.Reload(row.start, row.end, 0))
				assert.ElementsMatch(t, row.left, s.Snapshots())
				assert.ElementsMatch(t, files(row.left...), names(t, fsys))
				assert.Equal(t, row.want, s.End())
			})
		})
	}
}

// TestReloadPassesDamage is I35: a snapshot that is damaged is removed, and the one before it taken.
func TestReloadPassesDamage(t *testing.T) {
	whole := producer.AppendSnapshot(nil, []producer.Entry{{ProducerID: 1, LastOffset: 1, LastSequence: 1, CoordinatorEpoch: -1, TxnFirstOffset: -1}})
	zeroed := append(make([]byte, 37), whole[37:]...)
	for name, content := range map[string][]byte{"empty": {}, "half": whole[:len(whole)/2], "zeros first": zeroed} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, fsys fsio.FS) {
				appended(t, open(t, fsys), 2)
				put(t, fsys, file(2), content)
				s := open(t, fsys)
				require.NoError(t, s.Reload(0, 2, 0))
				p, ok := s.Producer(1)
				require.True(t, ok)
				assert.Equal(t, int64(0), p.LastOffset())
				assert.Equal(t, int64(1), s.End())
				assert.Equal(t, files(1), names(t, fsys))
			})
		})
	}
}

// TestReloadFails has a disk that does not read: that is not damage, and nothing is removed.
func TestReloadFails(t *testing.T) {
	inner := memory(t)
	appended(t, open(t, inner), 2)
	fsys := fsio.Intercept(inner, func(op *fsio.Op, do func() error) error {
		if op.Kind == fsio.OpReadAt {
			return fs.ErrPermission
		}
		return do()
	})
	s := open(t, fsys)
	require.ErrorIs(t, s.Reload(0, 2, 0), fs.ErrPermission)
	assert.Equal(t, files(1, 2), names(t, inner))
}

// TestReset is I33.
func TestReset(t *testing.T) {
	onEach(t, func(t *testing.T, fsys fsio.FS) {
		s := open(t, fsys)
		appended(t, s, 2)
		must(t, s, client, txn(data(2, 0, 0, 2)))
		require.NoError(t, s.Reset(0))
		assert.Empty(t, names(t, fsys))
		assert.Equal(t, 0, s.Len())
		assert.Equal(t, int64(-1), s.FirstUnstable())
		appended(t, s, 1)
		assert.Equal(t, files(1), names(t, fsys))
		require.NoError(t, s.Reset(29)) // G77
		assert.Equal(t, int64(29), s.End())
		assert.Empty(t, s.Snapshots())
	})
}

// TestRemoveSnapshots is I32 and I37.
func TestRemoveSnapshots(t *testing.T) {
	onEach(t, func(t *testing.T, fsys fsio.FS) {
		s := open(t, fsys)
		appended(t, s, 5)
		require.NoError(t, s.RemoveSnapshotsBefore(3))
		assert.Equal(t, files(3, 4, 5), names(t, fsys))
		require.NoError(t, s.RemoveSnapshot(4))
		require.NoError(t, s.RemoveSnapshot(4))
		require.NoError(t, s.RemoveSnapshot(77))
		assert.Equal(t, []int64{3, 5}, s.Snapshots())
		name, err := s.MarkSnapshot(3)
		require.NoError(t, err)
		assert.Equal(t, dir+"/"+file(3)+".deleted", name)
		assert.Equal(t, []string{file(3) + ".deleted", file(5)}, names(t, fsys))
		name, err = s.MarkSnapshot(3)
		require.NoError(t, err)
		assert.Empty(t, name)
		require.NoError(t, fsys.Remove(dir+"/"+file(5)))
		name, err = s.MarkSnapshot(5)
		require.NoError(t, err, "somebody was faster")
		assert.Empty(t, name)
		assert.Empty(t, s.Snapshots())
	})
}

// TestRemoveFails keeps what may be there still.
func TestRemoveFails(t *testing.T) {
	inner := memory(t)
	appended(t, open(t, inner), 3)
	fsys := fsio.Intercept(inner, func(op *fsio.Op, do func() error) error {
		if op.Kind == fsio.OpRemove && op.Path == dir+"/"+file(2) {
			return fs.ErrPermission
		}
		return do()
	})
	s := open(t, fsys)
	require.ErrorIs(t, s.RemoveSnapshotsBefore(4), fs.ErrPermission)
	assert.Equal(t, []int64{2, 3}, s.Snapshots())
	assert.Equal(t, files(2, 3), names(t, inner))
}

// TestRemoveStraySnapshots is I36, and what a broker's directory showed.
func TestRemoveStraySnapshots(t *testing.T) {
	for _, row := range []struct {
		name          string
		there, bases  []int64
		left, removed []int64
	}{
		{name: "that of a clean close stays", there: []int64{2, 5, 42}, bases: []int64{5}, left: []int64{5, 42}, removed: []int64{2}},
		{name: "all go", there: []int64{2, 5, 42}, bases: []int64{42}, left: []int64{42}, removed: []int64{2, 5}},
		{name: "of two strays the largest stays", there: []int64{12, 15, 23}, bases: []int64{0, 12}, left: []int64{12, 23}, removed: []int64{15}},
		{name: "below the last segment none", there: []int64{12, 15}, bases: []int64{0, 12, 20}, left: []int64{12}, removed: []int64{15}},
		{name: "without segments the largest stays", there: []int64{12, 15}, left: []int64{15}, removed: []int64{12}},
		{name: "nothing", bases: []int64{0}},
	} {
		t.Run(row.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, fsys fsio.FS) {
				s := open(t, fsys)
				for _, o := range row.there {
					put(t, fsys, file(o), nil)
				}
				put(t, fsys, "42.snapshot", nil) // not Kafka's name
				put(t, fsys, file(3)+".deleted", nil)
				removed, err := s.RemoveStraySnapshots(row.bases)
				require.NoError(t, err)
				assert.ElementsMatch(t, row.removed, removed)
				assert.ElementsMatch(t, row.left, s.Snapshots())
				assert.ElementsMatch(t, append(files(row.left...), "42.snapshot", file(3)+".deleted"), names(t, fsys))
			})
		})
	}
}

// TestSetStart is G66: producers stay, whatever becomes of their batches.
func TestSetStart(t *testing.T) {
	s := fresh(t)
	appended(t, s, 3)
	must(t, s, client, txn(data(2, 0, 0, 3)), abort(2, 0, 4))
	s.SetStart(4)
	assert.Equal(t, int64(3), s.FirstUnstable())
	s.SetStart(5)
	assert.Equal(t, int64(-1), s.FirstUnstable(), "its marker is below the start")
	assert.Equal(t, 2, s.Len())
	assert.Equal(t, int64(5), s.End())
	s.SetStart(9)
	assert.Equal(t, int64(9), s.End())
}

// TestForgottenSnapshotsStayGone has a truncation and a reset make durable what they remove: a crash does not
// bring back a snapshot of batches that are gone.
func TestForgottenSnapshotsStayGone(t *testing.T) {
	for name, forget := range map[string]func(s *producer.State) error{
		"truncation": func(s *producer.State) error { return s.Reload(0, 2, 0) },
		"reset":      func(s *producer.State) error { return s.Reset(2) },
	} {
		t.Run(name, func(t *testing.T) {
			inner := memory(t)
			appended(t, open(t, inner), 3)
			unsynced := 0
			fsys := fsio.Intercept(inner, func(op *fsio.Op, do func() error) error {
				switch op.Kind {
				case fsio.OpRemove:
					unsynced++
				case fsio.OpSyncDir:
					unsynced = 0
				}
				return do()
			})
			s := open(t, fsys)
			require.NoError(t, forget(s))
			assert.NotContains(t, names(t, inner), file(3))
			assert.Zero(t, unsynced, "removals that a crash may take back")
		})
	}
}

// TestReadOnly writes and removes nothing.
func TestReadOnly(t *testing.T) {
	fsys := memory(t)
	appended(t, open(t, fsys), 3)
	put(t, fsys, file(3), nil)
	options := defaults
	options.ReadOnly = true
	s, err := producer.Open(fsys, dir, options)
	require.NoError(t, err)
	require.NoError(t, s.Reload(1, 9, 0))
	assert.Equal(t, int64(2), s.End(), "the damaged one is passed over")
	must(t, s, follower, data(1, 0, 2, 2))
	name, err := s.TakeSnapshot(true)
	require.NoError(t, err)
	assert.Empty(t, name)
	_, err = s.MarkSnapshot(2)
	require.NoError(t, err)
	require.NoError(t, s.Reset(0))
	assert.Equal(t, files(1, 2, 3), names(t, fsys))
}

// TestSnapshotNames is G93 testOffsetFromProducerSnapshotFile: the offset is in the name.
func TestSnapshotNames(t *testing.T) {
	onEach(t, func(t *testing.T, fsys fsio.FS) {
		const name = "00000000000023423423.snapshot"
		put(t, fsys, name, producer.AppendSnapshot(nil, nil))
		s := open(t, fsys)
		assert.Equal(t, []int64{23423423}, s.Snapshots())
		require.NoError(t, s.Reload(0, 23423423, 0))
		assert.Equal(t, int64(23423423), s.End())

		s = fresh(t)
		s.SetEnd(23423423)
		taken, err := s.TakeSnapshot(true)
		require.NoError(t, err)
		assert.Equal(t, dir+"/"+name, taken)
	})
}
