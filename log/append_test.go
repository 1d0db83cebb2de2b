package log_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/log"
)

// G1 testAppendInfoFirstOffset.
func TestG1AppendTellsItsOffsets(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.open()
		three := func() log.Appended { return w.append(set(t, rec("a"), rec("b"), rec("c"))) }
		assert.EqualValues(t, 0, three().BaseOffset)
		assert.EqualValues(t, 3, three().BaseOffset)
		base, err := w.l.Roll()
		require.NoError(t, err)
		assert.EqualValues(t, 6, base)
		got := three()
		assert.EqualValues(t, 6, got.BaseOffset)
		assert.EqualValues(t, 8, got.LastOffset)
		assert.Equal(t, 3, got.Records)
		assert.EqualValues(t, 9, w.l.EndOffset())
		assert.Len(t, w.values(0, log.ReadUncommitted), 9)
	})
}

// G2 testAppendAndReadWithSequentialOffsets, G4 testAppendMessageWithNullPayload.
func TestG2SequentialOffsets(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Config.SegmentBytes = 80 // a record each
		w.open()
		for i := range 20 {
			got := w.append(set(t, codec.Record{Timestamp: started, Value: fmt.Append(nil, 2*i)}))
			require.EqualValues(t, i, got.BaseOffset)
		}
		w.append(set(t, codec.Record{Timestamp: started}))
		require.Len(t, w.bases(), 21)
		for i := range int64(20) {
			require.Equal(t, fmt.Sprint(2*i), w.first(i).value)
			require.Equal(t, i, w.first(i).offset)
		}
		for r, err := range w.l.Records(t.Context(), 20) {
			require.NoError(t, err)
			require.Nil(t, r.Value)
			require.Nil(t, r.Key)
		}
		s, err := w.l.Read(21, 100)
		require.NoError(t, err)
		require.Zero(t, s.Len())
		require.NoError(t, s.Close())
	})
}

// G3 testAppendAndReadWithNonSequentialOffsets, G5 testAppendWithOutOfOrderOffsetsThrowsException, L-03.
func TestG3FollowerLeavesGaps(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Config.SegmentBytes = 200
		w.open()
		var ids []int64
		for i := range int64(10) {
			ids = append(ids, i)
		}
		for i := int64(10); i < 100; i += 7 {
			ids = append(ids, i)
		}
		for _, id := range ids {
			_, err := w.l.AppendAssigned(at(t, id, 0, "v"+fmt.Sprint(id)), 0)
			require.NoError(t, err)
		}
		for i, id := int64(0), 0; i <= ids[len(ids)-1]; i++ {
			for ids[id] < i {
				id++
			}
			require.Equal(t, ids[id], w.first(i).offset, "read at %d", i)
		}
		var disordered []byte
		for _, i := range []int64{0, 1, 3, 2, 4} {
			disordered = append(disordered, at(t, 200+i, 0, "v")...)
		}
		_, err := w.l.AppendAssigned(disordered, 0)
		require.ErrorIs(t, err, log.ErrOffsetOrder)

		base, err := w.l.Roll()
		require.NoError(t, err)
		require.Equal(t, ids[len(ids)-1]+1, base)
	})
}

// at is a batch of one record as a follower gets it.
func at(tb testing.TB, offset int64, epoch int32, value string) []byte {
	tb.Helper()
	h := codec.NewHeader(2)
	h.BaseOffset, h.LeaderEpoch = offset, epoch
	return batch(tb, h, codec.Record{Offset: offset, Timestamp: started, Value: []byte(value)})
}

// G6 testAppendBelowExpectedOffsetThrowsException, G7 testAppendEmptyLogBelowLogStartOffsetThrowsException.
func TestG6FollowerBelowTheEnd(t *testing.T) {
	for magic := range int8(3) {
		for _, c := range []codec.Compression{codec.None, codec.LZ4} {
			t.Run(fmt.Sprintf("magic %d, %v", magic, c), func(t *testing.T) {
				w := newWorld(t, backends[0])
				w.open()
				w.fill("a", "b")
				refuse := func(first, n, end int64) {
					t.Helper()
					h := codec.NewHeader(magic)
					h.BaseOffset, h.Attributes = first, codec.Attributes(c)
					if magic == 2 {
						h.LeaderEpoch = 0
					}
					recs := make([]codec.Record, n)
					for i := range recs {
						recs[i] = codec.Record{Offset: first + int64(i), Timestamp: -1, Value: []byte("v")}
					}
					_, err := w.l.AppendAssigned(batch(t, h, recs...), 0)
					require.Equal(t, &log.UnexpectedOffset{First: first, Last: first + n - 1, EndOffset: end}, unexpected(t, err))
					require.ErrorIs(t, err, log.ErrUnexpectedOffset)
					require.Equal(t, end, w.l.EndOffset())
				}
				refuse(0, 1, 2)
				require.NoError(t, w.l.Reset(7, 7))
				refuse(4, 3, 7)
			})
		}
	}
}

// G19 testAppendAsLeaderWithRaftLeader: a raft leader's batches have their offsets, and must be the next.
func TestG19RaftLeader(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.open()
		three := func(offset int64) error {
			_, err := w.l.AppendWith(replicated(t, set(t, rec("a"), rec("b"), rec("c")), offset), log.AppendOptions{Origin: log.FromRaftLeader})
			return err
		}
		require.NoError(t, three(0))
		require.EqualValues(t, 3, w.l.EndOffset())
		require.ErrorIs(t, three(1), log.ErrUnexpectedOffset)
		require.NoError(t, three(3))
		require.EqualValues(t, 6, w.l.EndOffset())
	})
}

// What an append refuses, with Kafka's code, and without a batch written: G9, G10, G11, G12, G13, G19, G98, I9.
func TestAppendRefuses(t *testing.T) {
	control := func(t *testing.T) []byte { return marker(t, 1, 0, true, 0) }
	for _, row := range []struct {
		name   string
		config log.Config
		set    func(t *testing.T) []byte
		o      log.AppendOptions
		code   int16
		is     error
	}{
		{"G9 larger than a segment", log.Config{SegmentBytes: 70}, func(t *testing.T) []byte { return set(t, rec("0123456789")) }, log.AppendOptions{}, 18, log.ErrBatchTooLarge},
		{"G10 larger than MessageBytes", log.Config{MessageBytes: 70}, func(t *testing.T) []byte { return set(t, rec("0123456789")) }, log.AppendOptions{}, 10, log.ErrRecordTooLarge},
		{"G11 no key in a compacted log", log.Config{Cleanup: log.Compact}, func(t *testing.T) []byte { return set(t, rec("x")) }, log.AppendOptions{}, 87, log.ErrInvalidRecord},
		{"a checksum that does not fit", log.Config{}, func(t *testing.T) []byte { b := set(t, rec("x")); b[65] ^= 1; return b }, log.AppendOptions{}, 2, codec.ErrCorrupt},
		{"an unknown magic", log.Config{}, func(t *testing.T) []byte { b := set(t, rec("x")); b[16] = 3; return b }, log.AppendOptions{}, 2, codec.ErrMagic},
		{"a client's base offset", log.Config{}, func(t *testing.T) []byte { return at(t, 5, 0, "x") }, log.AppendOptions{}, 87, log.ErrInvalidRecord},
		{"a client's control batch", log.Config{}, control, log.AppendOptions{TxnVersion: log.TxnV1}, 87, log.ErrInvalidRecord},
		{"a marker without version", log.Config{}, control, log.AppendOptions{Origin: log.FromCoordinator}, -1, fs.ErrInvalid},
		{"two batches of a client", log.Config{}, func(t *testing.T) []byte { return append(set(t, rec("x")), set(t, rec("y"))...) }, log.AppendOptions{}, 87, log.ErrInvalidRecord},
		{"a raft leader's other epoch", log.Config{}, func(t *testing.T) []byte { return at(t, 1, 3, "x") }, log.AppendOptions{Origin: log.FromRaftLeader, LeaderEpoch: 4}, 87, log.ErrInvalidRecord},
		{"G19 a raft leader's offset", log.Config{}, func(t *testing.T) []byte { return at(t, 0, 3, "x") }, log.AppendOptions{Origin: log.FromRaftLeader, LeaderEpoch: 3}, -1, log.ErrUnexpectedOffset},
		{"G12 a sequence that is missing", log.Config{}, func(t *testing.T) []byte { return produced(t, 9, 0, 2, false, 1) }, log.AppendOptions{}, 45, log.ErrOutOfOrderSequence},
		{"G13 an old epoch", log.Config{}, func(t *testing.T) []byte { return produced(t, 8, 0, 0, false, 1) }, log.AppendOptions{}, 47, log.ErrFenced},
		{"I9 data outside of the open transaction", log.Config{}, func(t *testing.T) []byte { return produced(t, 7, 0, 1, false, 1) }, log.AppendOptions{}, 48, log.ErrInvalidTxnState},
		{"a producer in an old format", log.Config{Format: log.FormatV1}, func(t *testing.T) []byte { return produced(t, 5, 0, 0, false, 1) }, log.AppendOptions{}, 43, log.ErrUnsupportedFormat},
		{"an age", log.Config{TimestampBefore: 1e9}, func(t *testing.T) []byte { return set(t, codec.Record{Timestamp: started - 1001}) }, log.AppendOptions{}, 32, log.ErrInvalidTimestamp},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, backends[0])
			w.open()
			w.append(produced(t, 9, 0, 0, false, 1))
			w.append(produced(t, 8, 1, 0, false, 1))
			w.append(produced(t, 7, 0, 0, true, 1))
			require.NoError(t, w.l.Configure(row.config))
			_, err := w.l.AppendWith(row.set(t), row.o)
			require.ErrorIs(t, err, row.is)
			require.Equal(t, row.code, log.Code(err), "%v", err)
			require.EqualValues(t, 3, w.l.EndOffset())
			require.NoError(t, w.l.Configure(log.Config{}))
			w.append(set(t, rec("goes on")))
			require.Len(t, w.values(0, log.ReadToEnd), 4)
		})
	}
}

// G14 testDuplicateAppends.
func TestG14Duplicates(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.open()
		for i := range int32(6) {
			w.append(produced(t, 1, 0, i, false, 1))
		}
		first := w.append(produced(t, 1, 0, 6, false, 3))
		again := w.append(produced(t, 1, 0, 6, false, 3))
		assert.True(t, again.Duplicate)
		assert.Equal(t, first.BaseOffset, again.BaseOffset)
		assert.Equal(t, first.LastOffset, again.LastOffset)
		assert.EqualValues(t, 9, w.l.EndOffset())
		_, err := w.l.Append(produced(t, 1, 0, 7, false, 2))
		require.ErrorIs(t, err, log.ErrOutOfOrderSequence)
		assert.True(t, w.append(produced(t, 1, 0, 2, false, 1)).Duplicate, "within the last five batches")
		_, err = w.l.Append(produced(t, 1, 0, 1, false, 1))
		require.ErrorIs(t, err, log.ErrOutOfOrderSequence, "older than five batches")
		assert.False(t, w.append(produced(t, 1, 0, 9, false, 1)).Duplicate)
		assert.True(t, w.append(produced(t, 1, 0, 9, false, 1)).Duplicate)
	})
}

// G16 testDuplicateAppendToFollower, testMultipleProducersWithDuplicatesInSingleAppend: a follower takes what the leader
// has.
func TestG16FollowerTakesDuplicates(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.open()
		for offset := int64(0); offset <= 2; offset += 2 {
			h := codec.NewHeader(2)
			h.ProducerID, h.ProducerEpoch, h.BaseSequence, h.BaseOffset, h.LeaderEpoch = 1, 0, 0, offset, 0
			_, err := w.l.AppendAssigned(batch(t, h, rec("a"), rec("b")), 0)
			require.NoError(t, err)
		}
		require.EqualValues(t, 4, w.l.EndOffset())

		require.NoError(t, w.l.Reset(0, 0))
		var all []byte
		for i, b := range [][]byte{
			produced(t, 1, 0, 0, false, 1), produced(t, 2, 0, 0, false, 1), produced(t, 1, 0, 1, false, 1),
			produced(t, 2, 0, 1, false, 1), produced(t, 1, 0, 1, false, 1), // the last one is there already
		} {
			all = append(all, replicated(t, b, int64(i))...)
		}
		_, err := w.l.AppendAssigned(all, 0)
		require.NoError(t, err)
		require.EqualValues(t, 5, w.l.EndOffset())
	})
}

// G17 shouldApplyEpochToMessageOnAppendIfLeader, and what is in place.
func TestG17LeaderStampsItsEpoch(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.open()
		w.fill("a", "b")
		b := set(t, rec("x"), rec("y"))
		_, err := w.l.AppendWith(b, log.AppendOptions{LeaderEpoch: 72})
		require.NoError(t, err)
		require.Equal(t, []log.Epoch{{Epoch: 0, StartOffset: 0}, {Epoch: 72, StartOffset: 2}}, w.l.Epochs())
		s, err := w.l.ReadWith(2, log.ReadOptions{})
		require.NoError(t, err)
		defer s.Close()
		on := make([]byte, s.Len())
		_, err = s.ReadAt(on, 0)
		require.NoError(t, err)
		require.Equal(t, b, on, "the batches given are what is on disk")

		// followerShouldSaveEpochInformationFromReplicatedMessagesToTheEpochCache
		require.NoError(t, w.l.Reset(0, 0))
		for i := range int64(3) {
			_, err := w.l.AppendAssigned(at(t, i, 42, "v"), 42)
			require.NoError(t, err)
		}
		require.Equal(t, []log.Epoch{{Epoch: 42, StartOffset: 0}}, w.l.Epochs())
	})
}

// A batch that is cut off is left out, and nothing whole is nothing.
func TestAppendLeavesOutACutBatch(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.open()
		whole := set(t, rec("x"))
		got := w.append(whole[:len(whole)-1])
		assert.Equal(t, codec.NoOffset, got.LastOffset)
		assert.Zero(t, got.Bytes)
		got = w.append(append(set(t, rec("y")), whole[:30]...))
		assert.Equal(t, 1, got.Batches)
		assert.EqualValues(t, 1, w.l.EndOffset())
		got, err := w.l.Append(nil)
		require.NoError(t, err)
		assert.Zero(t, got.Batches)
	})
}

// AppendRecords makes as few batches as the limits allow.
func TestAppendRecords(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Config.MessageBytes = 1000
		w.o.Config.Compression = log.CompressionGZIP
		w.open()
		recs := make([]codec.Record, 100)
		for i := range recs {
			recs[i] = codec.Record{Key: []byte("k"), Value: fmt.Append(nil, i), Headers: []codec.RecordHeader{{Key: []byte("h")}}}
		}
		got, err := w.l.AppendRecords(recs...)
		require.NoError(t, err)
		assert.EqualValues(t, 0, got.BaseOffset)
		assert.EqualValues(t, 99, got.LastOffset)
		assert.Equal(t, 100, got.Records)
		assert.Greater(t, got.Batches, 1)
		i := 0
		for r, err := range w.l.Records(t.Context(), 0) {
			require.NoError(t, err)
			require.Equal(t, fmt.Append(nil, i), r.Value)
			require.Equal(t, started, r.Timestamp, "0 is now")
			i++
		}
		require.Equal(t, 100, i)
		noise := make([]byte, 2000)
		_, _ = rand.NewChaCha8([32]byte{}).Read(noise)
		_, err = w.l.AppendRecords(rec("a"), codec.Record{Value: noise})
		require.ErrorIs(t, err, log.ErrRecordTooLarge)
		require.EqualValues(t, 100, w.l.EndOffset())
	})
}

// G23 testBrokerCompression: the log's compression replaces the producer's, unless it is the producer's.
func TestG23Compression(t *testing.T) { // B11
	for producers := codec.None; producers <= codec.Zstd; producers++ {
		for own := log.CompressionProducer; own <= log.CompressionZstd; own++ {
			w := newWorld(t, backends[0])
			w.o.Config.Compression = own
			w.open()
			h := codec.NewHeader(2)
			h.Attributes |= codec.Attributes(producers)
			w.append(batch(t, h, rec("a"), rec("b")))
			s, err := w.l.Read(0, 1)
			require.NoError(t, err)
			for b, err := range s.Batches() {
				require.NoError(t, err)
				want := producers
				if own != log.CompressionProducer {
					want = codec.Compression(own - log.CompressionNone)
				}
				require.Equal(t, want, b.Attributes.Compression(), "producer %v, log %v", producers, own)
			}
			require.NoError(t, s.Close())
			require.Len(t, w.values(0, log.ReadToEnd), 2)
		}
	}
}

// An append of one batch allocates the view that it publishes, and nothing else.
func TestAppendAllocates(t *testing.T) {
	w := newWorld(t, backend{"os", onOS, backends[0].parts})
	w.o.Config.SegmentBytes = 1 << 30
	w.open()
	b := set(t, rec("value"))
	first := bytes.Clone(b[:8])
	n := testing.AllocsPerRun(200, func() {
		copy(b, first)
		if _, err := w.l.Append(b); err != nil {
			t.Fatal(err)
		}
	})
	if n > 1 && !raceEnabled {
		t.Errorf("%v allocations an append, want 1", n)
	}
}

// G10 testMessageSizeCheck, testMessageSizeCheckInAppendAsFollower: the leader's limit is not a follower's.
func TestG10MessageSize(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		second := set(t, rec("change (I need more bytes)... blah blah blah."), rec("More padding boo hoo"))
		w.o.Config.MessageBytes = int64(len(second)) - 1
		w.open()
		w.append(set(t, rec("You"), rec("bethe")))
		_, err := w.l.Append(second)
		require.ErrorIs(t, err, log.ErrRecordTooLarge)
		require.EqualValues(t, 10, log.Code(err))
		_, err = w.l.AppendAssigned(replicated(t, second, 2), 0)
		require.NoError(t, err)
		require.EqualValues(t, 4, w.l.EndOffset())
	})
}

// G11 testCompactedTopicConstraints: which record has no key, and what is taken.
func TestG11CompactedNeedsKeys(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		keyed := codec.Record{Timestamp: started, Key: []byte("and here it is"), Value: []byte("this message has a key")}
		other := codec.Record{Timestamp: started, Key: []byte("another key"), Value: []byte("this message also has a key")}
		unkeyed := rec("this message does not have a key")
		plain, zipped := codec.NewHeader(2), codec.NewHeader(2)
		zipped.Attributes |= codec.Attributes(codec.GZIP)
		w.o.Config.Cleanup = log.Compact
		w.open()
		for _, row := range []struct {
			h     codec.Header
			recs  []codec.Record
			index int
		}{
			{plain, []codec.Record{unkeyed, keyed}, 0},
			{plain, []codec.Record{unkeyed}, 0},
			{zipped, []codec.Record{keyed, unkeyed}, 1},
		} {
			_, err := w.l.Append(batch(t, row.h, row.recs...))
			require.ErrorIs(t, err, log.ErrInvalidRecord)
			require.EqualValues(t, 87, log.Code(err))
			var invalid *codec.InvalidRecords
			require.ErrorAs(t, err, &invalid)
			require.Len(t, invalid.Records, 1)
			require.Equal(t, row.index, invalid.Records[0].Index)
			require.ErrorContains(t, err, "key")
		}
		for _, b := range [][]byte{batch(t, plain, keyed), batch(t, plain, keyed, other), batch(t, zipped, keyed, other)} {
			w.append(b)
		}
		require.EqualValues(t, 5, w.l.EndOffset())
	})
}

// G8 testAppendWithNoTimestamp.
func TestG8NoTimestamp(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.open()
		got := w.append(stamped(t, codec.NoTimestamp))
		require.Equal(t, codec.NoTimestamp, got.MaxTimestamp)
		for r, err := range w.l.Records(t.Context(), 0) {
			require.NoError(t, err)
			require.Equal(t, codec.NoTimestamp, r.Timestamp)
		}
	})
}

// replicated is a batch as a follower gets it: from offset on, of leader epoch 0.
func replicated(tb testing.TB, b []byte, offset int64) []byte {
	tb.Helper()
	b = bytes.Clone(b)
	h, err := codec.Kafka().Header(b)
	require.NoError(tb, err)
	require.NoError(tb, codec.Kafka().Restamp(b, codec.Stamp{LastOffset: offset + h.LastOffset - h.BaseOffset, MaxTimestamp: h.MaxTimestamp}))
	return b
}

// G15 testMultipleProducerIdsPerMemoryRecord.
func TestG15ProducersInOneAppend(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.open()
		var all []byte
		for i := range int64(4) {
			all = append(all, replicated(t, produced(t, i+1, 0, int32(i), false, 1), i)...)
		}
		_, err := w.l.AppendAssigned(all, 0)
		require.NoError(t, err)
		s, err := w.l.ReadWith(0, log.ReadOptions{Isolation: log.ReadToEnd})
		require.NoError(t, err)
		defer s.Close()
		i := int64(0)
		for b, err := range s.Batches() {
			require.NoError(t, err)
			assert.Equal(t, i+1, b.ProducerID)
			assert.Equal(t, i, b.BaseOffset)
			assert.Equal(t, i, b.LastOffset)
			assert.EqualValues(t, 0, b.ProducerEpoch)
			assert.EqualValues(t, i, b.BaseSequence)
			i++
		}
		require.EqualValues(t, 4, i)
	})
}

// G20 testBuildTimeIndexWhenNotAssigningOffsets.
func TestG20FollowerBuildsTheTimeIndex(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		const messages = 100
		w.o.Config.SegmentBytes, w.o.Config.IndexIntervalBytes = 10000, 1
		w.open()
		for i := range int64(messages) {
			h := codec.NewHeader(2)
			h.BaseOffset, h.LeaderEpoch = i, 0
			_, err := w.l.AppendAssigned(batch(t, h, codec.Record{Offset: i, Timestamp: started + i, Value: fmt.Append(nil, i)}), 0)
			require.NoError(t, err)
		}
		entries := 0
		for _, s := range w.l.State().Segments {
			entries += s.TimeIndexEntries
		}
		require.Equal(t, messages-1, entries)
		file := w.files()[name20(w.bases()[0])+".timeindex"]
		last := file[12*(messages-2):]
		require.EqualValues(t, started+messages-1, binary.BigEndian.Uint64([]byte(last)))
	})
}

// G18 testLeaderEpochCacheClearedAfterDowngradeInAppendedMessages, …AfterDynamicMessageFormatDowngrade,
// …CreatedAfterMessageFormatUpgrade: formats without epochs keep none.
func TestG18FormatsWithoutEpochs(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		configure := func(f log.Format) {
			c := w.o.Config
			c.Format = f
			w.o.Config = c
			require.NoError(t, w.l.Configure(c))
		}
		lead := func(epoch int32) {
			_, err := w.l.AppendWith(set(t, rec("v")), log.AppendOptions{LeaderEpoch: epoch})
			require.NoError(t, err)
		}
		w.open()
		lead(5)
		require.Equal(t, []log.Epoch{{Epoch: 5, StartOffset: 0}}, w.l.Epochs())
		h := codec.NewHeader(1)
		h.BaseOffset = 1
		_, err := w.l.AppendAssigned(batch(t, h, codec.Record{Offset: 1, Timestamp: started}), 5)
		require.NoError(t, err)
		require.Empty(t, w.l.Epochs(), "a follower got a batch without epoch")

		lead(6)
		require.Equal(t, []log.Epoch{{Epoch: 6, StartOffset: 2}}, w.l.Epochs())
		configure(log.FormatV1)
		lead(7)
		require.Empty(t, w.l.Epochs(), "the format has none any more")
		require.NoError(t, w.l.AssignEpoch(8, 4))
		require.Empty(t, w.l.Epochs())
		w.close()
		w.open()
		require.Empty(t, w.l.Epochs())
		configure(log.FormatV2)
		lead(9)
		require.Equal(t, []log.Epoch{{Epoch: 9, StartOffset: 4}}, w.l.Epochs(), "it has them again")
	})
}

// No records are appended as none, and the log tells where it begins.
func TestAppendNoRecords(t *testing.T) {
	w := newWorld(t, backends[0])
	require.NoError(t, w.open().Reset(7, 7))
	got, err := w.l.AppendRecords()
	require.NoError(t, err)
	require.Equal(t, codec.NoOffset, got.BaseOffset)
	require.EqualValues(t, 7, got.StartOffset)
}
