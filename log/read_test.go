package log_test

import (
	"context"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/log"
	"github.com/stratalog/strata/segment"
)

// G39 testReadWithMinMessage, G40 testReadWithTooSmallMaxLength, G41 testReadOutOfRange.
func TestG39ReadLimits(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.open()
		w.fill(numbers(10)...)
		one := int64(len(set(t, rec("value 0"))))
		for _, row := range []struct {
			name    string
			offset  int64
			o       log.ReadOptions
			batches int64
		}{
			{"one batch at least", 3, log.ReadOptions{MaxBytes: 1}, 1},
			{"none, where that is too much", 3, log.ReadOptions{MaxBytes: 1, Strict: true}, 0},
			{"a batch that fits", 3, log.ReadOptions{MaxBytes: int(one), Strict: true}, 1},
			{"whole batches only", 3, log.ReadOptions{MaxBytes: int(3*one - 1)}, 2},
			{"all", 3, log.ReadOptions{}, 7},
			{"at the end", 10, log.ReadOptions{}, 0},
		} {
			s, err := w.l.ReadWith(row.offset, row.o)
			require.NoError(t, err, row.name)
			require.Equal(t, row.batches*one, s.Len(), row.name)
			require.Equal(t, row.offset+row.batches, s.NextOffset(), row.name)
			require.NoError(t, s.Close())
		}
		for _, offset := range []int64{-1, 11} {
			_, err := w.l.Read(offset, 1)
			require.ErrorIs(t, err, log.ErrOffsetOutOfRange)
		}
		_, err := w.l.Read(0, -1)
		require.ErrorIs(t, err, fs.ErrInvalid)
	})
}

// G42 testCompressedMessages: a read begins with the batch that has the offset.
func TestG42ReadInsideABatch(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.open()
		h := codec.NewHeader(2)
		h.Attributes |= codec.Attributes(codec.GZIP)
		w.append(batch(t, h, rec("a"), rec("b")))
		w.append(batch(t, h, rec("c"), rec("d")))
		for offset, first := range map[int64]int64{0: 0, 1: 0, 2: 2, 3: 2} {
			s, err := w.l.Read(offset, 1)
			require.NoError(t, err)
			for b, err := range s.Batches() {
				require.NoError(t, err)
				require.Equal(t, first, b.BaseOffset)
			}
			for r, err := range s.Records() {
				require.NoError(t, err)
				require.GreaterOrEqual(t, r.Offset, offset)
			}
			require.NoError(t, s.Close())
		}
	})
}

// G43 testFetchUpToLogEndOffset, testFetchUpToHighWatermark: no read goes past its isolation.
func TestG43Isolation(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Replicated, w.o.Config.SegmentBytes = true, 300
		w.open()
		w.fill(numbers(20)...)
		require.Empty(t, w.values(0, log.ReadUncommitted))
		require.Len(t, w.values(0, log.ReadToEnd), 20)
		for hw := int64(0); hw <= 20; hw++ {
			at, _ := w.l.SetHighWatermark(hw)
			require.Equal(t, hw, at)
			for offset := int64(0); offset <= 20; offset++ {
				s, err := w.l.ReadWith(offset, log.ReadOptions{})
				require.NoError(t, err)
				require.Equal(t, offset < hw, s.Len() > 0, "read at %d below %d", offset, hw)
				require.LessOrEqual(t, s.NextOffset(), max(hw, offset))
				require.NoError(t, s.Close())
			}
		}
		_, _, err := w.l.RaiseHighWatermark(21)
		require.ErrorIs(t, err, fs.ErrInvalid)
		at, moved := w.l.SetHighWatermark(100)
		require.EqualValues(t, 20, at)
		require.False(t, moved)
	})
}

// Wait returns when there is something to read, and when it has to stop.
func TestWait(t *testing.T) {
	w := newWorld(t, backends[0])
	w.o.Replicated = true
	l := w.open()
	ctx, cancel := context.WithCancel(t.Context())
	results := make(chan error)
	wait := func(ctx context.Context, offset int64, i log.Isolation) {
		go func() { results <- l.Wait(ctx, offset, i) }()
	}
	wait(ctx, 0, log.ReadToEnd)
	w.fill("a")
	require.NoError(t, <-results)
	wait(ctx, 0, log.ReadUncommitted)
	w.l.SetHighWatermark(1)
	require.NoError(t, <-results)
	wait(ctx, 1, log.ReadToEnd)
	cancel()
	require.ErrorIs(t, <-results, context.Canceled)
	w.append(produced(t, 7, 0, 0, true, 1))
	w.l.SetHighWatermark(2)
	require.NoError(t, l.Wait(t.Context(), 1, log.ReadUncommitted))
	wait(t.Context(), 1, log.ReadCommitted)
	w.end(7, 0, false)
	w.l.SetHighWatermark(3)
	require.NoError(t, <-results)
	wait(t.Context(), 3, log.ReadToEnd)
	w.close()
	require.ErrorIs(t, <-results, log.ErrClosed)

	l = w.open()
	wait(t.Context(), 3, log.ReadToEnd)
	require.NoError(t, l.Delete(t.Context()))
	require.ErrorIs(t, <-results, log.ErrClosed)
}

// A marker is something to wait for, though Records has no record for it: who waits for the offset behind its last
// record goes on at the high watermark, as Wait says.
func TestWaitFindsMarkers(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.open()
		w.append(produced(t, 7, 0, 0, true, 2))
		_, err := w.l.AppendWith(marker(t, 7, 0, true, 0), log.AppendOptions{Origin: log.FromCoordinator, TxnVersion: log.TxnV1})
		require.NoError(t, err)
		require.NoError(t, w.l.Wait(t.Context(), 2, log.ReadUncommitted))
		for range w.l.Records(t.Context(), 2) {
			t.Fatal("the marker is a record")
		}
		require.EqualValues(t, 3, w.l.HighWatermark())
	})
}

// G100 testFetchOffsetByTimestampIncludesLeaderEpoch, G101, I-11.
func TestG100OffsetForTime(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Config.SegmentBytes = 200
		w.open()
		none := segment.Found{Offset: codec.NoOffset, Timestamp: codec.NoTimestamp, LeaderEpoch: codec.NoLeaderEpoch}
		ask := func(ms int64) (segment.Found, bool) {
			t.Helper()
			f, ok, err := w.l.OffsetForTime(ms)
			require.NoError(t, err)
			return f, ok
		}
		_, ok := ask(started)
		require.False(t, ok)
		_, ok = ask(log.MaxTimestamp)
		require.False(t, ok)
		for i, ms := range []int64{0, 1, 2, 3, 4, 6, 5} {
			_, err := w.l.AppendWith(stamped(t, started+ms), log.AppendOptions{LeaderEpoch: int32(i)})
			require.NoError(t, err)
		}
		for ms, offset := range map[int64]int64{-5: 0, 0: 0, 1: 1, 4: 4, 5: 5, 6: 5} {
			f, ok := ask(started + ms)
			require.True(t, ok)
			require.Equal(t, offset, f.Offset, "time %d", ms)
			require.EqualValues(t, offset, f.LeaderEpoch)
		}
		_, ok = ask(started + 7)
		require.False(t, ok)
		f, _ := ask(log.MaxTimestamp)
		require.Equal(t, segment.Found{Offset: 5, Timestamp: started + 6, LeaderEpoch: 5}, f)
		f, _ = ask(log.Latest)
		require.Equal(t, segment.Found{Offset: 7, Timestamp: codec.NoTimestamp, LeaderEpoch: 6}, f)
		for _, earliest := range []int64{log.Earliest, log.EarliestLocal} {
			f, _ = ask(earliest)
			require.Equal(t, segment.Found{Offset: 0, Timestamp: codec.NoTimestamp, LeaderEpoch: 0}, f)
		}
		for _, tiered := range []int64{log.LatestTiered, log.EarliestPendingUpload} {
			f, _ = ask(tiered)
			require.Equal(t, none, f)
		}
		_, err := w.l.DeleteBefore(3)
		require.NoError(t, err)
		_, ok = ask(started)
		require.False(t, ok, "the first segment is there, and all below the start")
		w.retain()
		f, _ = ask(started)
		require.EqualValues(t, 3, f.Offset, "records below the start do not count")
		require.NoError(t, w.l.Configure(log.Config{Format: log.FormatV0}))
		_, _, err = w.l.OffsetForTime(started)
		require.ErrorIs(t, err, log.ErrUnsupportedFormat)
	})
}

// The record with the largest timestamp, as recorded from Kafka, where no record has one, and where a batch has it in its
// header only.
func TestMaxTimestampOfNone(t *testing.T) {
	header := func(magic int8, base int64) codec.Header {
		h := codec.NewHeader(magic)
		h.BaseOffset, h.LeaderEpoch = base, 0
		return h
	}
	none := codec.Record{Timestamp: codec.NoTimestamp, Value: []byte("v")}
	empty := func(ms int64) func(w *world) {
		return func(w *world) {
			h := header(2, 0)
			h.LastOffset, h.BaseTimestamp, h.MaxTimestamp = 3, ms, ms
			w.follow(batch(w, h))
		}
	}
	plain := func(w *world) { w.append(set(w, none, none, none)) }
	roll := func(w *world) {
		_, err := w.l.Roll()
		require.NoError(w, err)
	}
	for _, row := range []struct {
		name  string
		do    []func(w *world)
		want  segment.Found
		found bool
	}{
		{"plain", []func(w *world){plain}, segment.Found{Offset: 0, Timestamp: -1, LeaderEpoch: 0}, true},
		{"later segments", []func(w *world){plain, roll, plain, roll}, segment.Found{Offset: 0, Timestamp: -1, LeaderEpoch: 0}, true},
		{"a timestamp comes later", []func(w *world){plain, roll, func(w *world) { w.append(stamped(w, 0)) }}, segment.Found{Offset: 3, Timestamp: 0, LeaderEpoch: 0}, true},
		{"magic 1", []func(w *world){func(w *world) { w.follow(batch(w, header(1, 0), none)) }}, segment.Found{Offset: 0, Timestamp: -1, LeaderEpoch: -1}, true},
		{"magic 0", []func(w *world){func(w *world) { w.follow(batch(w, header(0, 0), none)) }, plain}, segment.Found{}, false},
		{"an empty segment before", []func(w *world){plain, func(w *world) {
			_, err := w.l.Truncate(1)
			require.NoError(w, err)
		}, roll, plain}, segment.Found{}, false},
		{"an empty batch", []func(w *world){empty(-1), plain}, segment.Found{}, false},
		{"an empty batch has it", []func(w *world){empty(started), func(w *world) { w.append(stamped(w, started)) }}, segment.Found{}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *world) {
				w.open()
				for _, do := range row.do {
					do(w)
				}
				for range 2 {
					f, ok, err := w.l.OffsetForTime(log.MaxTimestamp)
					require.NoError(t, err)
					require.Equal(t, row.found, ok)
					require.Equal(t, row.want, f)
					w.close()
					w.open()
				}
			})
		})
	}
}

// G101 testFetchOffsetByTimestampForMaxTimestampAfterTruncate: what was cut is not the newest.
func TestG101MaxTimestampBehindATruncation(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.open()
		for i := range int64(20) {
			w.append(stamped(t, i))
		}
		f, ok, err := w.l.OffsetForTime(log.MaxTimestamp)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, segment.Found{Offset: 19, Timestamp: 19, LeaderEpoch: 0}, f)
		_, err = w.l.Truncate(0)
		require.NoError(t, err)
		_, ok, err = w.l.OffsetForTime(log.MaxTimestamp)
		require.NoError(t, err)
		require.False(t, ok)
	})
}

// J7, J9: where a leader's epoch ended.
func TestEpochAnswers(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.open()
		for i, epoch := range []int32{1, 1, 2, 2, 4} {
			_, err := w.l.AppendAssigned(at(t, int64(i), epoch, "v"), epoch)
			require.NoError(t, err)
		}
		for epoch, want := range map[int32]log.EpochEnd{0: {Epoch: 0, EndOffset: 0}, 1: {Epoch: 1, EndOffset: 2}, 2: {Epoch: 2, EndOffset: 4}, 3: {Epoch: 2, EndOffset: 4}, 4: {Epoch: 4, EndOffset: 5}} {
			got, ok := w.l.OffsetForEpoch(epoch)
			require.True(t, ok)
			require.Equal(t, want, got, "epoch %d", epoch)
		}
		for _, epoch := range []int32{-1, 5} {
			_, ok := w.l.OffsetForEpoch(epoch)
			require.False(t, ok)
		}
		epoch, ok := w.l.EpochForOffset(3)
		require.True(t, ok)
		require.EqualValues(t, 2, epoch)
		require.ErrorIs(t, w.l.AssignEpoch(-1, 0), fs.ErrInvalid)
		// A batch of a higher epoch than the leader's, and all behind it, are left out.
		got, err := w.l.AppendAssigned(append(at(t, 5, 4, "a"), at(t, 6, 5, "b")...), 4)
		require.NoError(t, err)
		require.Equal(t, 1, got.Batches)
		_, err = w.l.AppendAssigned(at(t, 6, -1, "v"), 4)
		require.ErrorIs(t, err, log.ErrInvalidRecord)
		// J24, G18: a format without epochs takes them back.
		_, err = w.l.AppendAssigned(batch(t, func() codec.Header { h := codec.NewHeader(1); h.BaseOffset = 6; return h }(), codec.Record{Offset: 6, Timestamp: started}), 4)
		require.NoError(t, err)
		require.Empty(t, w.l.Epochs())
	})
}

// G83: the topic's id is on disk before the first record, and another one is refused.
func TestG83TopicID(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.TopicID = [16]byte{15: 1}
		w.open()
		require.False(t, w.exists("partition.metadata"))
		w.fill("a")
		require.Equal(t, "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ", string(read(t, w.fs, "t-0/partition.metadata")))
		w.close()
		w.o.TopicID[0] = 9
		_, err := log.Open(t.Context(), w.dir, w.o)
		require.ErrorIs(t, err, log.ErrTopicID)
		require.EqualValues(t, 103, log.Code(err))
		w.o.TopicID = [16]byte{}
		w.open()
	})
}

// G82 testWriteLeaderEpochCheckpointAfterDirectoryRename, testTopicIdTransfersAfterDirectoryRename,
// testTopicIdFlushesBeforeDirectoryRename; G83 testLogFlushesPartitionMetadataOnClose: what is written where.
func TestG82FilesOfAMovedLog(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.TopicID = [16]byte{15: 1}
		w.open()
		require.NoError(t, w.l.AssignEpoch(5, 0))
		require.NoError(t, w.l.Move("t-1"))
		require.Contains(t, string(read(t, w.fs, "t-1/partition.metadata")), "AAAAAAAAAAAAAAAAAAAAAQ", "pending, and written before")
		require.NoError(t, w.l.AssignEpoch(10, 0))
		require.Equal(t, "0\n1\n10 0\n", string(read(t, w.fs, "t-1/leader-epoch-checkpoint")))
		_, err := w.fs.Stat("t-0")
		require.ErrorIs(t, err, fs.ErrNotExist, "nothing is made in the old directory")
		w.close()

		w.dir = "t-2"
		w.open()
		w.close()
		require.True(t, w.exists("partition.metadata"), "written by Close")
	})
}

// G81, G82: a log goes on in a directory of another name.
func TestG81Move(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Config.SegmentBytes, w.o.Config.RetainBytes, w.o.Config.DeleteDelay = 300, 400, time.Second
		w.open()
		w.fill(numbers(10)...)
		w.retain()
		require.NoError(t, w.l.Move("t-0.moved"))
		w.dir = "t-0.moved"
		_, err := w.fs.Stat("t-0")
		require.ErrorIs(t, err, fs.ErrNotExist)
		want := w.values(w.l.StartOffset(), log.ReadToEnd)
		require.NotEmpty(t, want)
		w.fill(numbers(10)...)
		_, err = w.l.AppendWith(set(t, rec("x")), log.AppendOptions{LeaderEpoch: 9})
		require.NoError(t, err)
		require.NoError(t, w.l.Sync(w.l.EndOffset()))
		w.clock.Advance(time.Second)
		_, err = w.l.Reap(t.Context())
		require.NoError(t, err)
		for _, name := range w.names() {
			require.NotContains(t, name, ".deleted")
		}
		end := w.l.EndOffset()
		w.close()
		_, err = w.fs.Stat("t-0")
		require.ErrorIs(t, err, fs.ErrNotExist)
		w.open()
		require.Equal(t, end, w.l.EndOffset())
		require.ErrorIs(t, w.l.Move("no/such/parent"), fs.ErrNotExist)
		w.fill("goes on")
		require.NoError(t, w.l.Delete(t.Context()))
		_, err = w.fs.Stat(w.dir)
		require.ErrorIs(t, err, fs.ErrNotExist)
		w.l = nil
	})
}

// A segment that was removed while a reader has it moves with the log: the reader goes on, and its files go with it.
func TestMoveWithRemovedSegments(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Config.SegmentBytes, w.o.Config.DeleteDelay = 300, log.Zero
		w.open()
		w.fill(numbers(10)...)
		s, err := w.l.ReadWith(0, log.ReadOptions{Isolation: log.ReadToEnd})
		require.NoError(t, err)
		count := func() (n int) {
			for _, err := range s.Records() {
				require.NoError(t, err)
				n++
			}
			return n
		}
		want := count()
		_, err = w.l.DeleteBefore(w.l.EndOffset())
		require.NoError(t, err)
		w.retain()
		_, err = w.l.Reap(t.Context())
		require.NoError(t, err)
		require.Contains(t, strings.Join(w.names(), " "), ".deleted")
		require.NoError(t, w.l.Move("t-0.moved"))
		w.dir = "t-0.moved"
		require.Equal(t, want, count())
		require.NoError(t, s.Close())
		require.NotContains(t, strings.Join(w.names(), " "), ".deleted")
		_, err = w.l.Reap(t.Context())
		require.NoError(t, err)
		require.NoError(t, w.l.Move("t-1"), "what is gone is not moved")
		w.dir = "t-1"
	})
}

// G69 testLogDeleteDirSuccessWhenEmptyAndFailureWhenNonEmpty: Delete leaves what is not ours.
func TestDeleteLeavesForeignFiles(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.open()
		w.fill("a")
		write(t, w.fs, "t-0/notes.txt", []byte("x"))
		require.Error(t, w.l.Delete(t.Context()))
		assert.Equal(t, []string{"notes.txt"}, w.names())
		require.ErrorIs(t, w.l.Delete(t.Context()), log.ErrClosed)
		w.l = nil
	})
}

// G38 testReadAtLogGap: offsets that are missing at the end of a segment are passed over.
func TestG38ReadAtAGap(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Config.SegmentBytes = 300
		w.o.Resume = &log.Resume{Clean: true}
		w.open()
		for len(w.bases()) < 2 {
			w.fill("message")
		}
		second := w.bases()[1]
		require.Greater(t, second, int64(2))
		w.close()
		name := w.dir + "/" + name20(0) + ".log"
		write(t, w.fs, name, read(t, w.fs, name)[:len(set(t, rec("message")))])
		w.open()
		require.Equal(t, firstRecord{second, "message"}, w.first(1))
	})
}

// G44 testWhenFetchOffsetHigherThanMaxOffset: with a high watermark of 4 in a log of five records. One without a
// place in a file, or with one in an earlier segment, no reader here meets.
func TestG44ReadAboveTheHighWatermark(t *testing.T) {
	type answer struct{ records, base, pos int64 }
	onEach(t, func(t *testing.T, w *world) {
		w.o.Replicated = true
		size := int64(len(set(t, rec("v"))))
		w.o.Config.SegmentBytes = 2 * size
		w.open()
		w.fill("v", "v", "v", "v", "v")
		require.Equal(t, []int64{0, 2, 4}, w.bases())
		w.l.SetHighWatermark(4)
		for offset, want := range map[int64]answer{3: {1, 2, size}, 4: {0, 4, 0}, 5: {0, 4, size}} {
			s, err := w.l.ReadWith(offset, log.ReadOptions{})
			require.NoError(t, err)
			base, pos, ok := s.Place()
			require.True(t, ok)
			require.Equal(t, want, answer{s.Len() / size, base, pos}, "read at %d", offset)
			require.NoError(t, s.Close())
		}
	})
}

// G45 testConvertToOffsetMetadata: an offset of the log has a place, and one outside has none.
func TestG45Place(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Config.SegmentBytes = 300
		w.open()
		w.fill(numbers(20)...)
		_, err := w.l.DeleteBefore(10)
		require.NoError(t, err)
		w.retain()
		for offset := int64(8); offset <= 22; offset++ {
			s, err := w.l.ReadWith(offset, log.ReadOptions{Isolation: log.ReadToEnd, MaxBytes: 1})
			if offset < 10 || offset > 20 {
				require.ErrorIs(t, err, log.ErrOffsetOutOfRange)
				continue
			}
			require.NoError(t, err)
			base, pos, ok := s.Place()
			require.True(t, ok)
			require.NoError(t, s.Close())
			if offset == 20 {
				require.Equal(t, w.l.State().Segments[len(w.bases())-1].Size, pos)
				continue
			}
			h, err := codec.Kafka().Header(read(t, w.fs, w.dir+"/"+name20(base)+".log")[pos:])
			require.NoError(t, err)
			require.Equal(t, offset, h.BaseOffset)
		}
	})
}
