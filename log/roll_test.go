package log_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/log"
)

// stamped is a batch of one record with a timestamp.
func stamped(tb testing.TB, ms int64) []byte {
	tb.Helper()
	return set(tb, codec.Record{Timestamp: ms, Value: []byte("v")})
}

// G24 testTimeBasedLogRollDuringAppend.
func TestG24RollByAge(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		const age = time.Hour
		w.o.Config.SegmentAge = age
		w.open()
		step := func(set []byte, want int, why string) {
			t.Helper()
			w.append(set)
			require.Len(t, w.bases(), want, why)
		}
		w.clock.Advance(age + time.Millisecond)
		step(stamped(t, -1), 1, "an empty segment does not roll")
		w.clock.Advance(age + time.Millisecond)
		step(stamped(t, -1), 2, "without timestamps the clock counts")
		for want := 3; want <= 4; want++ {
			w.clock.Advance(age + time.Millisecond)
			step(stamped(t, -1), want, "and again")
		}
		now := func() int64 { return w.clock.Now().UnixMilli() }
		step(stamped(t, now()+age.Milliseconds()+1), 4, "the first record has no timestamp: the clock counts")
		w.clock.Advance(age + time.Millisecond)
		first := now()
		step(stamped(t, first), 5, "the clock went on")
		w.clock.Advance(age + time.Millisecond)
		step(stamped(t, first), 5, "the timestamps did not go on")
		step(stamped(t, now()), 6, "now they did")
		w.clock.Advance(age + time.Millisecond)
		w.append(nil)
		require.Len(t, w.bases(), 6, "nothing rolls for nothing")
	})
}

// G25 testTimeBasedLogRollJitter.
func TestG25RollJitter(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Config.SegmentAge, w.o.Config.SegmentJitter = time.Hour, 20*time.Minute
		w.open()
		w.append(stamped(t, started))
		w.append(stamped(t, started+40*60_000))
		require.Len(t, w.bases(), 1, "not before age less jitter")
		w.append(stamped(t, started+60*60_000+1))
		require.Len(t, w.bases(), 2, "not after the age")
	})
}

// G26 testSizeBasedLogRoll, G27 testLogRolls, G90: a snapshot is named by each base.
func TestG26RollBySize(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		size := int64(len(set(t, rec("0123456789"))))
		w.o.Config.SegmentBytes = 10*size - 1
		var rolled []log.Rolled
		w.o.Events.Rolled = func(r log.Rolled) {
			rolled = append(rolled, r)
			_ = w.l.State() // events may call the log
		}
		w.open()
		for range 11 {
			w.append(set(t, rec("0123456789")))
		}
		assert.Equal(t, []int64{0, 9}, w.bases())
		assert.Equal(t, []log.Rolled{{Dir: w.dir, BaseOffset: 9, Reason: log.RollBySize}}, rolled)
		assert.True(t, w.exists("00000000000000000009.snapshot"))
		assert.Len(t, w.values(0, log.ReadToEnd), 11)

		require.NoError(t, w.l.Configure(log.Config{SegmentBytes: size})) // L-24: from the next append on
		w.append(set(t, rec("0123456789")))
		assert.Equal(t, []int64{0, 9, 11}, w.bases())
	})
}

// G28 testRollSegmentThatAlreadyExists, G29, G30 testNewSegmentsAfterRoll, L-05.
func TestG28RollEmpty(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.open()
		for range 2 {
			base, err := w.l.Roll()
			require.NoError(t, err)
			require.EqualValues(t, 0, base)
			require.Equal(t, []int64{0}, w.bases())
		}
		require.True(t, w.exists("00000000000000000000.log.deleted"))
		w.fill("a")
		base, err := w.l.Roll()
		require.NoError(t, err)
		require.EqualValues(t, 1, base)
		w.fill("b")
		require.Len(t, w.values(0, log.ReadToEnd), 2)
	})
}

// A full index rolls.
func TestRollByFullIndex(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Config.IndexBytes, w.o.Config.IndexIntervalBytes = 48, log.Zero
		var reasons []log.RollReason
		w.o.Events.Rolled = func(r log.Rolled) { reasons = append(reasons, r.Reason) }
		w.open()
		for i := range int64(30) {
			w.append(stamped(t, started+i))
		}
		require.NotEmpty(t, reasons)
		for _, r := range reasons {
			require.Equal(t, log.RollByIndex, r)
		}
		require.Len(t, w.values(0, log.ReadToEnd), 30)
	})
}

// H10, G36 testOverCompactedLogRecovery, …MultiRecord, …MultiRecordV1: offsets of a follower that no index can hold
// roll. The first offset of a wrapper is not known, so that its segment is named by the lowest that it can be.
func TestH10RollByOverflow(t *testing.T) {
	const most = int64(1<<31 - 1)
	set := func(tb testing.TB, magic int8, compression codec.Compression, offset int64, n int) []byte {
		h := codec.NewHeader(magic)
		h.BaseOffset, h.Attributes = offset, codec.Attributes(compression)
		if magic == 2 {
			h.LeaderEpoch = 0
		}
		return batch(tb, h, slices.Repeat([]codec.Record{rec("v")}, n)...)
	}
	for _, row := range []struct {
		name        string
		magic       int8
		compression codec.Compression
		n           int // records in each batch but the first
		offsets     []int64
		active      []int64 // the base of the active segment behind each
	}{
		{"single", 2, codec.None, 1, []int64{most + 2, most + 3, most + 4}, []int64{most + 2, most + 2, most + 2}},
		{"twice", 2, codec.None, 1, []int64{most + 2, 2*most + 10}, []int64{most + 2, 2*most + 10}},
		{"several", 2, codec.GZIP, 2, []int64{most + 2, most + 4, most + 6}, []int64{most + 2, most + 2, most + 2}},
		{"wrappers", 1, codec.GZIP, 2, []int64{most + 2, most + 4, most + 6}, []int64{3, most + 4, most + 4}},
	} {
		t.Run(row.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *world) {
				w.o.Config.IndexIntervalBytes = 1
				w.open()
				w.follow(set(t, row.magic, codec.None, 0, 1))
				require.Equal(t, []int64{0}, w.bases())
				for i, offset := range row.offsets {
					w.follow(set(t, row.magic, row.compression, offset, row.n))
					require.Equal(t, row.active[i], w.bases()[len(w.bases())-1])
					require.Contains(t, w.l.State().Snapshots, row.active[i])
				}
				bases, want, end := w.bases(), w.values(0, log.ReadToEnd), w.l.EndOffset()
				require.Len(t, want, 1+row.n*len(row.offsets))
				require.Equal(t, row.offsets[len(row.offsets)-1]+int64(row.n), end)
				w.kill()
				w.open()
				require.Equal(t, bases, w.bases())
				require.Equal(t, want, w.values(0, log.ReadToEnd))
				require.Equal(t, end, w.l.EndOffset())
			})
		})
	}
}

// G37 testHighWatermarkMetadataUpdatedAfterSegmentRoll.
func TestG37HighWatermarkBehindARoll(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Replicated = true
		w.open()
		w.append(set(t, rec("a"), rec("b"), rec("c")))
		w.l.SetHighWatermark(3)
		_, err := w.l.Roll()
		require.NoError(t, err)
		for offset, records := range map[int64]int{0: 3, 3: 0} {
			s, err := w.l.ReadWith(offset, log.ReadOptions{})
			require.NoError(t, err)
			n := 0
			for _, err := range s.Records() {
				require.NoError(t, err)
				n++
			}
			require.Equal(t, records, n, "read at %d", offset)
			require.NoError(t, s.Close())
		}
	})
}

// G28, too: an empty active segment whose index has no room for an entry gets another one with the next append.
func TestG28RollEmptyWithoutIndex(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.open()
		w.fill("a")
		w.close()
		w.o.Config.IndexBytes = 12 // an entry of time, which a close needs
		w.open()
		_, err := w.l.Roll()
		require.NoError(t, err)
		require.Len(t, w.files()[name20(1)+".index"], 8)
		require.NoError(t, w.l.Configure(log.Config{IndexBytes: 4096}))
		w.fill("b")
		require.Equal(t, []int64{0, 1}, w.bases())
		require.Len(t, w.files()[name20(1)+".index"], 4096)
		require.Len(t, w.values(0, log.ReadToEnd), 2)
	})
}
