package producer_test

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/internal/producer"
	"github.com/stratalog/strata/segment"
)

// step is an append of one batch, and what it is answered with; nil is that it is taken.
type step struct {
	rules producer.Rules
	batch producer.Batch
	want  error
}

// run runs steps on a State. A step that is refused changes nothing.
func run(t *testing.T, s *producer.State, steps []step) {
	t.Helper()
	for i, step := range steps {
		before := s.Producers()
		_, err := add(s, step.rules, step.batch)
		if step.want == nil {
			require.NoError(t, err, "step %d", i)
			continue
		}
		require.ErrorIs(t, err, step.want, "step %d", i)
		require.Equal(t, before, s.Producers(), "step %d was refused and changed something", i)
	}
}

// rules by the version of transactions.
func version(v producer.TxnVersion) producer.Rules {
	return producer.Rules{Origin: producer.FromCoordinator, TxnVersion: v}
}

// TestSequencesAndEpochs has scenarios of Kafka's ProducerStateManagerTest, I1, I2, I3, I5, I6, I7, I8, I9, I12, I13,
// I14 and I15, and of UnifiedLogTest.
func TestSequencesAndEpochs(t *testing.T) {
	for _, row := range []struct {
		name  string
		steps []step
	}{
		{"I1 basic", []step{
			{client, data(1, 0, 0, 0), nil},
			{client, data(1, 0, 1, 0), nil},
			{client, count(2, data(1, 0, 1, 0)), producer.ErrOutOfOrderSequence}, // the same as before is a duplicate: G14
			{client, data(1, 0, 5, 0), producer.ErrOutOfOrderSequence},
			{client, data(1, 1, 0, 0), nil},
			{client, data(1, 0, 0, 0), producer.ErrFenced},
		}},
		{"I2 a marker of an unknown producer", []step{
			{coordinator, commit(1, 2, 27), nil},
			{client, data(1, 0, 0, 28), producer.ErrFenced},
			{client, data(1, 2, 17, 28), producer.ErrOutOfOrderSequence},
			{client, data(1, 2, 0, 28), nil},
		}},
		{"I3 sequences wrap", []step{
			{follower, data(1, 0, maxSequence, 10), nil},
			{client, data(1, 0, 0, 11), nil},
		}},
		{"I5 sequences wrap to 0 only", []step{
			{follower, data(1, 0, maxSequence, 10), nil},
			{client, data(1, 0, 1, 11), producer.ErrOutOfOrderSequence},
		}},
		{"I6 any first sequence while loading", []step{{follower, data(1, 0, 16, 0), nil}}},
		{"any first sequence of an unknown producer", []step{{client, data(1, 5, 16, 0), nil}}},
		{"I7 a marker raises the epoch", []step{
			{client, data(1, 0, 0, 0), nil},
			{coordinator, abort(1, 1, 1), nil},
			{client, data(1, 1, 0, 2), nil},
		}},
		{"I8 sequences begin anew behind such a marker", []step{
			{client, txn(data(1, 0, 0, 0)), nil},
			{client, txn(data(1, 0, 1, 1)), nil},
			{coordinator, abort(1, 1, 2), nil},
			{client, txn(data(1, 1, 2, 3)), producer.ErrOutOfOrderSequence},
			{client, txn(data(1, 2, 2, 3)), producer.ErrOutOfOrderSequence},
			{client, txn(data(1, 1, 0, 3)), nil},
		}},
		{"I9 a batch outside of the open transaction", []step{
			{client, txn(data(1, 0, 0, 0)), nil},
			{client, data(1, 0, 1, 1), producer.ErrInvalidTxnState},
			{follower, data(1, 0, 1, 1), producer.ErrInvalidTxnState},
			{coordinator, commit(1, 0, 1), nil},
			{client, data(1, 0, 1, 2), nil},
		}},
		{"I12 a replica takes gaps", []step{
			{client, data(1, 0, 0, 0), nil},
			{client, data(1, 0, 3, 1), producer.ErrOutOfOrderSequence},
			{follower, data(1, 0, 3, 1), nil},
			{client, data(1, 0, 4, 2), nil},
		}},
		{"I13 a coordinator has no sequences", []step{
			{coordinator, txn(data(1, 0, codec.NoSequence, 0)), nil},
			{coordinator, txn(data(1, 0, codec.NoSequence, 1)), nil},
		}},
		{"I14 a marker of an old epoch", []step{
			{client, data(1, 5, 0, 0), nil},
			{coordinator, commit(1, 3, 1), producer.ErrFenced},
			{follower, commit(1, 3, 1), nil},
		}},
		{"I15 an old coordinator", []step{
			{client, data(1, 0, 0, 0), nil},
			{coordinator, marker(1, 0, 1, true, 1), nil},
			{coordinator, marker(1, 0, 1, true, 2), nil},
			{coordinator, marker(1, 0, 2, true, 3), nil},
			{coordinator, marker(1, 0, 1, true, 4), producer.ErrCoordinatorFenced},
			{follower, marker(1, 0, 1, true, 4), nil},
		}},
		{"G98 a marker without epoch", []step{
			{client, data(1, 0, 0, 0), nil},
			{coordinator, commit(1, -1, 1), producer.ErrFenced},
		}},
		{"a marker wants a version", []step{
			{version(producer.TxnNone), commit(1, 0, 0), fs.ErrInvalid},
			{producer.Rules{Origin: producer.FromRaftLeader}, commit(1, 0, 0), fs.ErrInvalid},
			{follower, commit(1, 0, 0), nil},
			{version(producer.TxnV0), commit(1, 0, 0), nil},
		}},
		{"of version 2 it raises the epoch", []step{
			{client, txn(data(1, 3, 0, 0)), nil},
			{version(producer.TxnV2), commit(1, 2, 1), producer.ErrFenced},
			{version(producer.TxnV2), commit(1, 3, 1), producer.ErrFenced},
			{version(producer.TxnV2), commit(1, 4, 1), nil},
			{version(producer.TxnV2), commit(1, 4, 2), nil}, // once more, as a retry
			{version(producer.TxnV2), commit(1, 3, 3), producer.ErrFenced},
		}},
		{"of version 1 it may", []step{
			{client, txn(data(1, 3, 0, 0)), nil},
			{version(producer.TxnV1), commit(1, 3, 1), nil},
			{version(producer.TxnV1), commit(1, 4, 2), nil},
		}},
		{"a raft leader's batches have epochs and no sequences", []step{
			{producer.Rules{Origin: producer.FromRaftLeader}, data(1, 1, 7, 0), nil},
			{producer.Rules{Origin: producer.FromRaftLeader}, data(1, 1, 3, 1), nil},
			{producer.Rules{Origin: producer.FromRaftLeader}, data(1, 0, 3, 1), producer.ErrFenced},
		}},
		{"a replica takes an old epoch", []step{
			{follower, data(1, 5, 0, 0), nil},
			{follower, data(1, 4, 9, 1), nil},
			{client, data(1, 4, 10, 2), nil},
		}},
	} {
		t.Run(row.name, func(t *testing.T) { run(t, fresh(t), row.steps) })
	}
}

// TestEntries is what is remembered, of one producer: I4, I16, I17, G48.
func TestEntries(t *testing.T) {
	batch := func(firstSeq, lastSeq int32, first, last, ms int64) segment.ProducerBatch {
		return segment.ProducerBatch{
			FirstSequence: firstSeq, LastSequence: lastSeq, FirstOffset: first, LastOffset: last, Timestamp: ms,
		}
	}
	for _, row := range []struct {
		name  string
		steps []step
		want  segment.Producer
	}{
		{
			"one batch",
			[]step{{client, at(7, count(3, data(1, 2, 0, 100))), nil}},
			segment.Producer{
				ID: 1, Epoch: 2, LastTimestamp: 7, CoordinatorEpoch: -1, TxnFirstOffset: -1,
				Batches: []segment.ProducerBatch{batch(0, 2, 100, 102, 7)},
			},
		},
		{
			"I4 a batch that wraps",
			[]step{{follower, count(21, data(1, 0, maxSequence-10, 2000)), nil}},
			segment.Producer{
				ID: 1, LastTimestamp: 1, CoordinatorEpoch: -1, TxnFirstOffset: -1,
				Batches: []segment.ProducerBatch{batch(maxSequence-10, 9, 2000, 2020, 1)},
			},
		},
		{
			"the last five batches",
			[]step{
				{client, data(1, 0, 0, 10), nil},
				{client, data(1, 0, 1, 11), nil},
				{client, data(1, 0, 2, 12), nil},
				{client, data(1, 0, 3, 13), nil},
				{client, data(1, 0, 4, 14), nil},
				{client, count(5, data(1, 0, 5, 20)), nil},
			},
			segment.Producer{
				ID: 1, LastTimestamp: 1, CoordinatorEpoch: -1, TxnFirstOffset: -1,
				Batches: []segment.ProducerBatch{
					batch(1, 1, 11, 11, 1), batch(2, 2, 12, 12, 1), batch(3, 3, 13, 13, 1), batch(4, 4, 14, 14, 1),
					batch(5, 9, 20, 24, 1),
				},
			},
		},
		{
			"an open transaction begins with its first batch",
			[]step{{client, txn(data(1, 0, 0, 50)), nil}, {client, txn(data(1, 0, 1, 60)), nil}},
			segment.Producer{
				ID: 1, LastTimestamp: 1, CoordinatorEpoch: -1, TxnFirstOffset: 50,
				Batches: []segment.ProducerBatch{batch(0, 0, 50, 50, 1), batch(1, 1, 60, 60, 1)},
			},
		},
		{
			"G48 a marker ends it and leaves the batches",
			[]step{{client, txn(data(1, 0, 0, 50)), nil}, {coordinator, at(9, marker(1, 0, 15, true, 51)), nil}},
			segment.Producer{
				ID: 1, LastTimestamp: 9, CoordinatorEpoch: 15, TxnFirstOffset: -1,
				Batches: []segment.ProducerBatch{batch(0, 0, 50, 50, 1)},
			},
		},
		{
			"I17 a marker of a new epoch forgets them",
			[]step{{client, txn(data(1, 0, 0, 50)), nil}, {coordinator, marker(1, 1, 15, false, 51), nil}},
			segment.Producer{ID: 1, Epoch: 1, LastTimestamp: 1, CoordinatorEpoch: 15, TxnFirstOffset: -1},
		},
		{
			"a new epoch forgets them",
			[]step{{client, data(1, 0, 0, 50), nil}, {client, data(1, 1, 0, 51), nil}},
			segment.Producer{
				ID: 1, Epoch: 1, LastTimestamp: 1, CoordinatorEpoch: -1, TxnFirstOffset: -1,
				Batches: []segment.ProducerBatch{batch(0, 0, 51, 51, 1)},
			},
		},
		{
			"I16 an emptied marker says nothing",
			[]step{{client, emptied(1, 0, 50), nil}},
			segment.Producer{ID: 1, Epoch: -1, LastTimestamp: -1, CoordinatorEpoch: -1, TxnFirstOffset: -1},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := fresh(t)
			run(t, s, row.steps)
			assert.Equal(t, []segment.Producer{row.want}, s.Producers())
			got, ok := s.Producer(row.want.ID)
			assert.True(t, ok)
			assert.Equal(t, row.want, got)
			_, ok = s.Producer(row.want.ID + 1)
			assert.False(t, ok)
		})
	}
}

// TestTransactionOfOneAppend is I11: what the batches of one append, and then a marker, make of a producer.
func TestTransactionOfOneAppend(t *testing.T) {
	s := fresh(t)
	must(t, s, client, data(1, 0, 0, 9))
	a := s.Analyze(client)
	for _, b := range []producer.Batch{txn(count(5, data(1, 0, 1, 16))), txn(count(5, data(1, 0, 6, 26)))} {
		_, _, err := a.Add(b)
		require.NoError(t, err)
	}
	assert.Equal(t, codec.NoOffset, s.FirstOpen(), "nothing before Commit")
	assert.Empty(t, a.Aborted(nil))
	a.Commit()
	assert.Equal(t, int64(16), s.FirstOpen())
	want := []segment.ProducerBatch{
		{FirstOffset: 9, LastOffset: 9, Timestamp: 1},
		{FirstSequence: 1, LastSequence: 5, FirstOffset: 16, LastOffset: 20, Timestamp: 1},
		{FirstSequence: 6, LastSequence: 10, FirstOffset: 26, LastOffset: 30, Timestamp: 1},
	}
	p, _ := s.Producer(1)
	assert.Equal(t, int64(16), p.TxnFirstOffset)
	assert.Equal(t, want, p.Batches)

	assert.Empty(t, must(t, s, coordinator, marker(1, 0, 3, true, 40)), "committed")
	p, _ = s.Producer(1)
	assert.Equal(t, codec.NoOffset, p.TxnFirstOffset)
	assert.Equal(t, int32(3), p.CoordinatorEpoch)
	assert.Equal(t, want, p.Batches, "a marker is none of its batches")
	assert.Equal(t, codec.NoOffset, s.FirstOpen())
	assert.Equal(t, int64(16), s.FirstUnstable())
	s.SetHighWatermark(40)
	assert.Equal(t, int64(16), s.FirstUnstable(), "its marker is at 40")
	s.SetHighWatermark(41)
	assert.Equal(t, codec.NoOffset, s.FirstUnstable())
}

// TestSeveralBatchesOfOneAppend has what is remembered after one append of several batches.
func TestSeveralBatchesOfOneAppend(t *testing.T) {
	s := fresh(t)
	must(t, s, client, data(1, 0, 0, 0))
	_, err := add(s, client, data(1, 0, 1, 1), count(2, data(1, 0, 2, 2)), data(2, 0, 0, 4), data(1, 0, 4, 5))
	require.NoError(t, err)
	p, _ := s.Producer(1)
	assert.Len(t, p.Batches, 4)
	assert.Equal(t, int32(4), p.LastSequence())
	assert.Equal(t, int64(5), p.LastOffset())
	_, err = add(s, client, data(1, 0, 5, 6), data(1, 0, 7, 7))
	require.ErrorIs(t, err, producer.ErrOutOfOrderSequence)
	_, err = add(s, client, data(1, 1, 0, 6), data(1, 1, 1, 7), data(1, 1, 2, 8))
	require.NoError(t, err)
	p, _ = s.Producer(1)
	assert.Len(t, p.Batches, 3, "those of the old epoch are forgotten")
}

// TestDuplicates is G14.
func TestDuplicates(t *testing.T) {
	s := fresh(t)
	for i := range int32(6) {
		must(t, s, client, at(int64(i), data(1, 0, i, int64(i))))
	}
	must(t, s, client, at(77, count(3, data(1, 0, 6, 6))))
	for _, row := range []struct {
		name  string
		batch producer.Batch
		rules producer.Rules
		first int64 // where it is there already, otherwise −1
		want  error
	}{
		{"the last", count(3, data(1, 0, 6, 9)), client, 6, nil},
		{"the oldest that is remembered", data(1, 0, 2, 9), client, 2, nil},
		{"one that is forgotten", data(1, 0, 1, 9), client, -1, producer.ErrOutOfOrderSequence},
		{"a part of one", count(2, data(1, 0, 7, 9)), client, -1, producer.ErrOutOfOrderSequence},
		{"two as one", count(2, data(1, 0, 4, 9)), client, -1, producer.ErrOutOfOrderSequence},
		{"of an old epoch", count(3, data(1, -1, 6, 9)), client, -1, producer.ErrFenced},
		{"of a new epoch", count(3, data(1, 1, 6, 9)), client, -1, producer.ErrOutOfOrderSequence},
		{"of a replica", count(3, data(1, 0, 6, 9)), follower, -1, nil},
		{"of another producer", count(3, data(2, 0, 6, 9)), client, -1, nil},
		{"without producer", count(3, data(-1, -1, -1, 9)), client, -1, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			dup, duplicate, err := s.Analyze(row.rules).Add(row.batch)
			if row.want != nil {
				require.ErrorIs(t, err, row.want)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, row.first >= 0, duplicate)
			if duplicate {
				assert.Equal(t, row.first, dup.FirstOffset)
				assert.Equal(t, row.batch.Header.LastSequence(), dup.LastSequence)
			}
		})
	}
	dup, _, _ := s.Analyze(client).Add(count(3, data(1, 0, 6, 9)))
	assert.Equal(t, segment.ProducerBatch{
		FirstSequence: 6, LastSequence: 8, FirstOffset: 6, LastOffset: 8, Timestamp: 77,
	}, dup)
}

// TestAnalysisChangesNothing is I10: what is not committed is not there.
func TestAnalysisChangesNothing(t *testing.T) {
	s := fresh(t)
	must(t, s, client, count(6, data(1, 0, 0, 15)))
	before := s.Producers()
	a := s.Analyze(client)
	_, _, err := a.Add(txn(count(5, data(1, 0, 6, 26))))
	require.NoError(t, err)
	_, _, err = a.Add(txn(data(2, 0, 0, 31)))
	require.NoError(t, err)
	assert.Equal(t, before, s.Producers())
	assert.Equal(t, codec.NoOffset, s.FirstUnstable())
	assert.Empty(t, a.Aborted(nil))
	a.Commit()
	assert.Equal(t, 2, s.Len())
	assert.Equal(t, int64(26), s.FirstUnstable())
}

// TestAnalysisOfManyProducers has one append of more producers than an Analysis keeps memory for.
func TestAnalysisOfManyProducers(t *testing.T) {
	s := fresh(t)
	for round := range int32(3) {
		a := s.Analyze(follower)
		for id := range int64(3000) {
			_, _, err := a.Add(data(id, 0, round, int64(round)*3000+id))
			require.NoError(t, err)
		}
		a.Commit()
		must(t, s, follower, data(5000, 0, round, int64(round+1)*3000))
	}
	assert.Equal(t, 3001, s.Len())
	p, _ := s.Producer(2999)
	assert.Equal(t, int32(2), p.LastSequence())
}

// TestAppendsAllocateNothing counts allocations of appends by producers that are known.
func TestAppendsAllocateNothing(t *testing.T) {
	s := fresh(t)
	seq := int32(0)
	run := func() {
		a := s.Analyze(client)
		if _, _, err := a.Add(data(1, 0, seq, int64(seq))); err != nil {
			t.Fatal(err)
		}
		a.Commit()
		seq++
	}
	run()
	if got := testing.AllocsPerRun(100, run); got != 0 {
		t.Errorf("an append allocates %v times, want 0", got)
	}
}
