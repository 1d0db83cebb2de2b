package producer_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/internal/producer"
	"github.com/stratalog/strata/segment"
)

// TestFirstUnstable is I19.
func TestFirstUnstable(t *testing.T) {
	s := fresh(t)
	assert.Equal(t, codec.NoOffset, s.FirstUnstable())
	must(t, s, client, txn(data(1, 0, 0, 99)), txn(data(2, 0, 0, 105)))
	assert.Equal(t, int64(99), s.FirstOpen())
	must(t, s, coordinator, commit(1, 0, 109))
	assert.Equal(t, int64(105), s.FirstOpen())
	assert.Equal(t, int64(99), s.FirstUnstable(), "the marker is not replicated")
	s.SetHighWatermark(100)
	assert.Equal(t, int64(99), s.FirstUnstable())
	s.SetHighWatermark(109)
	assert.Equal(t, int64(99), s.FirstUnstable(), "the high watermark is at the marker")
	s.SetHighWatermark(110)
	assert.Equal(t, int64(105), s.FirstUnstable())
	must(t, s, coordinator, abort(2, 0, 112))
	assert.Equal(t, codec.NoOffset, s.FirstOpen())
	assert.Equal(t, int64(105), s.FirstUnstable())
	s.SetHighWatermark(113)
	assert.Equal(t, codec.NoOffset, s.FirstUnstable())
}

// TestStableOffset is I21, with transactions that are aborted: the last stable offset is in their entries.
func TestStableOffset(t *testing.T) {
	const first, second, third = 992342, 992342 + 25, 992342 + 57
	s := fresh(t)
	must(t, s, client, txn(data(1, 0, 0, first)), txn(data(2, 0, 0, second)), txn(data(3, 0, 0, third)))
	for _, row := range []struct {
		id, first, last, stable int64
	}{
		{1, first, third + 15, second},
		{3, third, third + 20, second},
		{2, second, third + 78, third + 79},
	} {
		got := must(t, s, coordinator, abort(row.id, 0, row.last))
		assert.Equal(t, []index.AbortedTxn{{
			ProducerID: row.id, FirstOffset: row.first, LastOffset: row.last, StableOffset: row.stable,
		}}, got)
	}
	for _, row := range []struct{ highWatermark, want int64 }{
		{third + 16, second}, {third + 21, second}, {third + 78, second}, {third + 79, codec.NoOffset},
	} {
		s.SetHighWatermark(row.highWatermark)
		assert.Equal(t, row.want, s.FirstUnstable(), "high watermark %d", row.highWatermark)
	}
}

// TestEmptyTransactions is I22: markers without data leave no trace.
func TestEmptyTransactions(t *testing.T) {
	s := fresh(t)
	must(t, s, client, txn(count(5, data(1, 0, 0, 16))))
	aborted, err := add(s, version(producer.TxnV0),
		commit(1, 0, 21), commit(1, 0, 22), abort(1, 0, 23), txn(count(4, data(1, 0, 5, 24))),
		abort(1, 0, 28), abort(1, 0, 29), txn(count(2, data(1, 0, 9, 30))))
	require.NoError(t, err)
	assert.Equal(t, []index.AbortedTxn{{ProducerID: 1, FirstOffset: 24, LastOffset: 28, StableOffset: 29}}, aborted)
	assert.Equal(t, int64(16), s.FirstUnstable())
	s.SetHighWatermark(32)
	assert.Equal(t, int64(30), s.FirstUnstable())
}

// TestStableOffsetOfOneAppend has transactions that begin behind a marker, in the same append: in Kafka they
// count. A recovery, which goes batch by batch, has them not.
func TestStableOffsetOfOneAppend(t *testing.T) {
	batches := []producer.Batch{txn(data(1, 0, 0, 0)), abort(1, 0, 1), data(3, 0, 0, 2), txn(data(2, 0, 0, 3))}
	got, err := add(fresh(t), follower, batches...)
	require.NoError(t, err)
	assert.Equal(t, []index.AbortedTxn{{ProducerID: 1, FirstOffset: 0, LastOffset: 1, StableOffset: 3}}, got)

	s, got := fresh(t), nil
	for _, b := range batches {
		got, err = s.Replay(got, b)
		require.NoError(t, err)
	}
	assert.Equal(t, []index.AbortedTxn{{ProducerID: 1, FirstOffset: 0, LastOffset: 1, StableOffset: 2}}, got)
	assert.Equal(t, int64(4), s.End())
}

// TestInterleaved is G94.
func TestInterleaved(t *testing.T) {
	next := map[int64]int32{}
	s, offset := fresh(t), int64(0)
	var aborted []index.AbortedTxn
	write := func(id int64, n int) {
		b := data(codec.NoProducerID, codec.NoProducerEpoch, codec.NoSequence, offset)
		if id != 0 {
			b = txn(data(id, 0, next[id], offset))
			next[id] += int32(n)
		}
		must(t, s, client, count(n, b))
		offset += int64(n)
	}
	end := func(id int64, committed bool) {
		aborted = append(aborted, must(t, s, coordinator, marker(id, 0, 0, committed, offset))...)
		offset++
	}
	write(1, 5)
	write(0, 3)
	write(2, 2)
	write(1, 4)
	write(3, 3)
	write(0, 2)
	write(1, 10)
	end(1, false) // 29
	write(2, 6)
	write(4, 3)
	write(0, 10)
	write(3, 9)
	end(3, true) // 58
	write(4, 8)
	write(2, 7)
	end(2, false) // 74
	write(0, 10)
	write(4, 4)
	end(4, true) // 89
	assert.Equal(t, []index.AbortedTxn{
		{ProducerID: 1, FirstOffset: 0, LastOffset: 29, StableOffset: 8},
		{ProducerID: 2, FirstOffset: 8, LastOffset: 74, StableOffset: 36},
	}, aborted)
	for _, row := range []struct{ highWatermark, want int64 }{{30, 8}, {75, 36}, {90, codec.NoOffset}} {
		s.SetHighWatermark(row.highWatermark)
		assert.Equal(t, row.want, s.FirstUnstable(), "high watermark %d", row.highWatermark)
	}
}

// TestLateTxn is I23.
func TestLateTxn(t *testing.T) {
	const limit = 600_000 // the timeout, and five minutes
	s := fresh(t)
	assert.False(t, s.LateTxn(1<<62))
	must(t, s, client, at(1000, txn(data(1, 0, 0, 0))), at(1500, txn(data(2, 0, 0, 1))))
	assert.False(t, s.LateTxn(1000+limit))
	assert.True(t, s.LateTxn(1001+limit))

	_, err := s.TakeSnapshot(true)
	require.NoError(t, err)
	require.NoError(t, s.Reload(0, 1, 2000), "forgets all")
	assert.False(t, s.LateTxn(1001+limit))
	require.NoError(t, s.Reload(0, 2, 2000))
	must(t, s, follower, at(1000, txn(data(1, 0, 0, 0))), at(1500, txn(data(2, 0, 0, 1))))

	must(t, s, coordinator, at(1600, commit(1, 0, 2)))
	assert.False(t, s.LateTxn(1500+limit))
	assert.True(t, s.LateTxn(1501+limit), "of the second")
	must(t, s, client, at(5000, txn(data(2, 0, 1, 3))))
	assert.False(t, s.LateTxn(1501+limit), "its producer is alive")
	must(t, s, coordinator, at(6000, abort(2, 0, 4)))
	assert.False(t, s.LateTxn(1<<62))
	must(t, s, client, at(0, txn(data(3, 0, 0, 5))))
	assert.False(t, s.LateTxn(1<<62), "without time none is late")
}

// TestExpire is I24 and I25, and of I17 that a producer whose marker raised the epoch is not expired with it.
func TestExpire(t *testing.T) {
	day := (24 * time.Hour).Milliseconds()
	s := fresh(t)
	must(t, s, client, at(1000, data(1, 0, 7, 0)), at(1000, txn(data(2, 0, 0, 1))), at(1001, data(3, 0, 0, 2)))
	assert.Equal(t, 0, s.Expire(1000+day-1))
	assert.Equal(t, 1, s.Expire(1000+day))
	must(t, s, client, at(1000+day, data(1, 0, 9, 3)))
	assert.Equal(t, 1, s.Expire(1001+day), "the third")
	assert.Equal(t, 1, s.Expire(3*day), "the first, again")
	_, ok := s.Producer(2)
	assert.True(t, ok, "whose transaction is open does not expire")
	must(t, s, coordinator, at(1000, commit(2, 0, 4)))
	s.SetExpireAfter(time.Second)
	assert.Equal(t, 0, s.Expire(1999))
	assert.Equal(t, 1, s.Expire(2000))
	assert.Equal(t, 0, s.Len())
	must(t, s, client, at(3000, txn(data(4, 0, 0, 5))))
	must(t, s, coordinator, at(3000, abort(4, 1, 6)))
	assert.Equal(t, 0, s.Expire(3000))
}

// TestVerify is I41 and what the broker's trace of verifications has.
func TestVerify(t *testing.T) {
	options := defaults
	options.VerifyTxns = true
	s, err := producer.Open(memory(t), dir, options)
	require.NoError(t, err)
	verify := func(id int64, epoch int16, seq int32, rises bool) producer.Guard {
		t.Helper()
		g, err := s.Verify(id, epoch, seq, rises, 1000)
		require.NoError(t, err)
		return g
	}
	guarded := func(g producer.Guard) producer.Rules { return producer.Rules{Origin: producer.FromClient, Guard: g} }

	run(t, s, []step{{client, txn(data(1, 0, 0, 0)), producer.ErrInvalidTxnState}})
	g1 := verify(1, 0, 0, false)
	require.NotZero(t, g1)
	assert.Equal(t, g1, verify(1, 0, 3, false))
	run(t, s, []step{
		{guarded(g1 + 8), txn(data(1, 0, 0, 0)), producer.ErrInvalidTxnState},
		{guarded(g1), txn(data(1, 0, 0, 0)), nil},
	})
	assert.Zero(t, verify(1, 0, 1, false), "the transaction is open")
	run(t, s, []step{
		{client, txn(data(1, 0, 1, 1)), nil},
		{coordinator, commit(1, 0, 2), nil},
		{client, txn(data(1, 0, 2, 3)), producer.ErrInvalidTxnState},
		{guarded(g1), txn(data(1, 0, 2, 3)), producer.ErrInvalidTxnState}, // it is used up
		{guarded(verify(2, 0, 0, false)), txn(data(2, 0, 4, 3)), producer.ErrOutOfOrderSequence},
		{guarded(verify(3, 0, 4, true)), txn(data(3, 0, 4, 3)), producer.ErrOutOfOrderSequence},
		{guarded(verify(5, 1, 3, false)), txn(data(5, 1, 3, 3)), nil}, // G99: TestNonZeroSequenceOnFirstAppend
	})
	g4 := verify(1, 5, 0, false)
	assert.NotEqual(t, g1, g4)
	run(t, s, []step{{coordinator, commit(1, 6, 4), nil}})
	_, err = s.Verify(1, 5, 0, false, 1000)
	require.ErrorIs(t, err, producer.ErrFenced)
	run(t, s, []step{
		{guarded(g4), txn(data(1, 6, 0, 5)), producer.ErrInvalidTxnState}, // the marker ended it
		{client, data(4, 0, 0, 5), nil},
		{producer.Rules{Origin: producer.FromCoordinator}, txn(data(6, 0, 0, 6)), producer.ErrInvalidTxnState},
		{producer.Rules{Origin: producer.FromRaftLeader}, txn(data(6, 0, 0, 6)), nil},
		{follower, txn(data(7, 0, 0, 7)), nil},
	})
	// As in Kafka, one batch uses it up: of a producer's first transactional batches an append has one.
	g := guarded(verify(8, 0, 0, false))
	_, err = add(s, g, txn(data(8, 0, 0, 8)), txn(data(8, 0, 1, 9)))
	require.ErrorIs(t, err, producer.ErrInvalidTxnState)
	run(t, s, []step{{g, txn(data(8, 0, 0, 8)), nil}})
}

// TestVerifySequences is I41: the lowest of an epoch counts, and the higher epoch.
func TestVerifySequences(t *testing.T) {
	for _, row := range []struct {
		name  string
		asked []segment.ProducerBatch // of each the epoch is FirstOffset
		first int32
		want  error
	}{
		{"the lowest", []segment.ProducerBatch{{FirstSequence: 5}, {FirstSequence: 3}, {FirstSequence: 4}}, 4, producer.ErrOutOfOrderSequence},
		{"at the lowest", []segment.ProducerBatch{{FirstSequence: 5}, {FirstSequence: 3}, {FirstSequence: 4}}, 3, nil},
		{"a higher epoch", []segment.ProducerBatch{{FirstSequence: 3}, {FirstOffset: 1, FirstSequence: 5}}, 5, nil},
		{"a lower epoch is ignored", []segment.ProducerBatch{{FirstOffset: 1, FirstSequence: 5}, {FirstSequence: 3}}, 5, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := fresh(t)
			for _, a := range row.asked {
				_, err := s.Verify(1, int16(a.FirstOffset), a.FirstSequence, false, 0)
				require.NoError(t, err)
			}
			_, err := add(s, client, txn(data(1, 1, row.first, 0)))
			if !errors.Is(err, row.want) {
				t.Errorf("sequence %d: %v, want %v", row.first, err, row.want)
			}
		})
	}
}

// TestVerificationsExpire begins one again that is too old.
func TestVerificationsExpire(t *testing.T) {
	s := fresh(t)
	day := (24 * time.Hour).Milliseconds()
	first, err := s.Verify(1, 0, 0, false, 500)
	require.NoError(t, err)
	s.Expire(500 + day - 1)
	again, err := s.Verify(1, 0, 0, false, 500)
	require.NoError(t, err)
	assert.Equal(t, first, again)
	s.Expire(500 + day)
	third, err := s.Verify(1, 0, 0, false, 500+day)
	require.NoError(t, err)
	assert.NotEqual(t, first, third)
}
