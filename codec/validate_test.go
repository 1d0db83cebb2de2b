package codec_test

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
)

const now = int64(1_500_000_000_000)

// rules are those of a client's append at the offset 1234567.
func rules(magic int8, change func(*codec.Rules)) codec.Rules {
	r := codec.Rules{
		Offset: 1234567, LeaderEpoch: 9, Now: now, Magic: magic,
		MaxAge: 1000, MaxAhead: 1000, FromClient: true,
	}
	if change != nil {
		change(&r)
	}
	return r
}

// slow is Kafka's Codec without its own Validate, so that what any Codec gets is tested, too.
type slow struct{ codec.Codec }

// validators are the ways to validate. Only Kafka's own sees what is wrong inside of a wrapper.
func validators() map[string]codec.Codec {
	return map[string]codec.Codec{"own": codec.Kafka(), "any": slow{codec.Kafka()}}
}

// timed is three records at now − 1, now + 1 and now.
func timed() []codec.Record {
	return []codec.Record{
		{Offset: 0, Timestamp: now - 1, Value: []byte("hello")},
		{Offset: 1, Timestamp: now + 1, Value: []byte("there")},
		{Offset: 2, Timestamp: now, Value: []byte("beautiful")},
	}
}

// TestValidate is what Kafka's own test of its validator says, for all formats in and out.
func TestValidate(t *testing.T) { // C25, C26, D1, D2, D3, D4, D5, D6, D7, D8, D16, D17, D18, D19, D35
	for name, c := range validators() {
		formats(t, func(t *testing.T, inMagic int8, from codec.Compression) {
			for magic := range int8(3) {
				for to := codec.None; to <= codec.Zstd; to++ {
					if magic < 2 && to == codec.Zstd {
						continue
					}
					for _, appendTime := range []bool{false, true} {
						in := encode(t, compressed(inMagic, from), timed())
						r := rules(magic, func(r *codec.Rules) {
							r.Recompress, r.Compression, r.LogAppendTime = true, to, appendTime
						})
						got, err := codec.Validate(c, nil, in, r)
						require.NoError(t, err, "%s: to magic %d, %v, append time %t", name, magic, to, appendTime)
						checkValidated(t, got, inMagic, from, &r)
					}
				}
			}
		})
	}
}

// checkValidated checks what became of timed.
func checkValidated(t *testing.T, got codec.Validated, inMagic int8, from codec.Compression, r *codec.Rules) {
	t.Helper()
	to, first, last := r.Compression, r.Offset, r.Offset+2
	require.Equal(t, inMagic == r.Magic && from == to && (from == codec.None || r.Magic > 0), got.InPlace, "in place")
	require.Equal(t, 3, got.Records)
	require.Equal(t, last, got.LastOffset)
	if got.InPlace {
		require.Zero(t, got.Converted)
	} else {
		require.Equal(t, 3, got.Converted)
	}

	newest, newestOffset := now+1, last
	switch {
	case r.Magic == 0 || inMagic == 0 && !r.LogAppendTime:
		newest, newestOffset = codec.NoTimestamp, codec.NoOffset
	case r.LogAppendTime && r.Magic == 1 && to == codec.None:
		newest, newestOffset = now, first
	case r.LogAppendTime:
		newest = now
	case r.Magic == 1 && to == codec.None:
		newestOffset = first + 1
	}
	require.Equal(t, newest, got.MaxTimestamp, "max timestamp")
	require.Equal(t, newestOffset, got.MaxTimestampOffset, "its offset")

	for batch, err := range codec.Batches(codec.Kafka(), got.Batches) {
		require.NoError(t, err)
		require.NoError(t, codec.Kafka().Verify(batch.Bytes))
		require.Equal(t, r.Magic, batch.Magic)
		require.Equal(t, to, batch.Attributes.Compression())
		require.Equal(t, r.LogAppendTime && r.Magic > 0, batch.Attributes.LogAppendTime())
		if r.Magic == 2 {
			require.Equal(t, r.LeaderEpoch, batch.LeaderEpoch)
			require.Equal(t, first, batch.BaseOffset)
		}
	}
	want := timed()
	for i := range want {
		want[i].Offset += first
		switch {
		case r.Magic == 0 || inMagic == 0 && !r.LogAppendTime:
			want[i].Timestamp = codec.NoTimestamp
		case r.LogAppendTime:
			want[i].Timestamp = now
		}
	}
	require.Equal(t, want, readAll(t, got.Batches))
}

// TestValidateKeeps: producer, sequence, transaction and the first timestamp stay, in place and encoded anew.
func TestValidateKeeps(t *testing.T) { // D4, D5, M-15
	for name, c := range validators() {
		for _, to := range []codec.Compression{codec.None, codec.GZIP} {
			for _, appendTime := range []bool{false, true} {
				in := encode(t, header(2, func(h *codec.Header) {
					h.ProducerID, h.ProducerEpoch, h.BaseSequence = 1324, 10, 984
					h.Attributes = codec.TransactionalBit
				}), timed())
				got, err := codec.Validate(c, []byte("before"), in, rules(2, func(r *codec.Rules) {
					r.Recompress, r.Compression, r.LogAppendTime = true, to, appendTime
				}))
				require.NoError(t, err, name)
				h, err := codec.Kafka().Header(got.Batches)
				require.NoError(t, err)
				require.Equal(t, []any{int64(1324), int16(10), int32(984), true, now - 1, appendTime},
					[]any{h.ProducerID, h.ProducerEpoch, h.BaseSequence, h.Attributes.Transactional(), h.BaseTimestamp, h.Attributes.LogAppendTime()})
			}
		}
	}
}

// TestValidateBehindDst: a new encoding goes behind dst, and what was given stays as it was.
func TestValidateBehindDst(t *testing.T) {
	in := encode(t, codec.NewHeader(1), timed())
	before := bytes.Clone(in)
	dst := append(make([]byte, 0, 4096), "before"...)
	got, err := codec.Validate(codec.Kafka(), dst, in, rules(2, nil))
	require.NoError(t, err)
	require.False(t, got.InPlace)
	require.Equal(t, before, in)
	require.Equal(t, got.Batches, dst[:cap(dst)][len(dst):len(dst)+len(got.Batches)])
}

// TestValidateVerified: a caller that has verified the batches pays for it once.
func TestValidateVerified(t *testing.T) {
	for name, c := range validators() {
		in := encode(t, codec.NewHeader(2), timed())
		in[crcAt] ^= 1
		_, err := codec.Validate(c, nil, bytes.Clone(in), rules(2, nil))
		require.ErrorIs(t, err, codec.ErrCorrupt, name)
		got, err := codec.Validate(c, nil, in, rules(2, func(r *codec.Rules) { r.Verified = true }))
		require.NoError(t, err, name)
		require.Equal(t, 3, got.Records, name)
	}
}

// TestValidateMarker: control records are not compressed.
func TestValidateMarker(t *testing.T) { // D31
	for name, c := range validators() {
		in, err := codec.AppendMarker(nil, header(2, func(h *codec.Header) { h.ProducerID, h.ProducerEpoch = 7, 0 }), codec.Marker{}, now)
		require.NoError(t, err)
		got, err := codec.Validate(c, nil, in, rules(2, func(r *codec.Rules) {
			r.FromClient, r.Recompress, r.Compression = false, true, codec.Snappy
		}))
		require.NoError(t, err, name)
		require.True(t, got.InPlace, name)
		require.Len(t, got.Batches, 78, name)
	}
}

// TestValidateNoTimestamps: a compressed batch that stays tells its last offset also where there is no
// timestamp, as in Kafka; one that is not compressed tells none.
func TestValidateNoTimestamps(t *testing.T) {
	recs := []codec.Record{{Timestamp: -1}, {Offset: 1, Timestamp: -1}}
	for compression, want := range map[codec.Compression]int64{codec.None: codec.NoOffset, codec.LZ4: 1234568} {
		got, err := codec.Validate(codec.Kafka(), nil, encode(t, compressed(2, compression), recs), rules(2, nil))
		require.NoError(t, err)
		require.True(t, got.InPlace)
		require.Equal(t, []int64{codec.NoTimestamp, want}, []int64{got.MaxTimestamp, got.MaxTimestampOffset})
	}
}

// TestValidateInPlace: only offset, epoch and, with log append time, what is covered by the checksum change.
func TestValidateInPlace(t *testing.T) { // D2, D6
	in := encode(t, compressed(2, codec.LZ4), timed())
	want := bytes.Clone(in)
	got, err := codec.Validate(codec.Kafka(), nil, in, rules(2, func(r *codec.Rules) { r.Offset = 0 }))
	require.NoError(t, err)
	require.True(t, got.InPlace)
	be.PutUint32(want[leaderEpochAt:], 9)
	require.Equal(t, want, got.Batches)
	require.Same(t, &in[0], &got.Batches[0])
}

// batchRow is an append that is refused, or not, as a whole.
type batchRow struct {
	name  string
	batch func(t *testing.T) []byte
	rules codec.Rules
	want  error
}

// patched is timed in magic 2 with changes, signed.
func patched(change func(b []byte)) func(t *testing.T) []byte {
	return func(t *testing.T) []byte {
		t.Helper()
		b := encode(t, codec.NewHeader(2), timed())
		change(b)
		return sign(b)
	}
}

// set is patched with the 32-bit field at a position set.
func set(at int, v int32) func(t *testing.T) []byte {
	return patched(func(b []byte) { be.PutUint32(b[at:], uint32(v)) })
}

// counts is patched with last offset delta and count.
func counts(delta, count int32) func(t *testing.T) []byte {
	return patched(func(b []byte) {
		be.PutUint32(b[lastDeltaAt:], uint32(delta))
		be.PutUint32(b[countAt:], uint32(count))
	})
}

// twice is two batches of a format.
func twice(magic int8, c codec.Compression) func(t *testing.T) []byte {
	return func(t *testing.T) []byte {
		t.Helper()
		b := encode(t, compressed(magic, c), timed()[:1])
		return append(b, encode(t, compressed(magic, c), timed()[:2])...)
	}
}

func TestValidateBatches(t *testing.T) { // D20, D22, D23, D24, D25, D26, D29, M-01, M-13
	notClient := rules(2, func(r *codec.Rules) { r.FromClient = false })
	to := func(magic int8, c codec.Compression) codec.Rules {
		return rules(magic, func(r *codec.Rules) { r.Recompress, r.Compression = true, c })
	}
	marker := func(t *testing.T) []byte {
		t.Helper()
		b, err := codec.AppendMarker(nil, header(2, func(h *codec.Header) { h.ProducerID, h.ProducerEpoch = 23423, 5 }), codec.Marker{Commit: true}, now)
		require.NoError(t, err)
		return b
	}
	producer := func(sequence int32) func(t *testing.T) []byte {
		return func(t *testing.T) []byte {
			t.Helper()
			return encode(t, header(2, func(h *codec.Header) { h.ProducerID, h.ProducerEpoch, h.BaseSequence = 1234, 0, sequence }), timed())
		}
	}
	rows := []batchRow{
		{"nothing", func(*testing.T) []byte { return nil }, rules(2, nil), codec.ErrInvalid},
		{"as it should be", counts(2, 3), rules(2, nil), nil},
		{"no range", counts(0, 3), rules(2, nil), codec.ErrInvalid},
		{"range of 16", counts(15, 3), rules(2, nil), codec.ErrInvalid},
		{"range backwards", counts(-3, 3), rules(2, nil), codec.ErrInvalid},
		{"six records in six offsets, but three", counts(5, 6), rules(2, nil), codec.ErrInvalid},
		{"two records in two offsets, but three", counts(1, 2), rules(2, nil), codec.ErrInvalid},
		{"range of 16, not from a client", counts(15, 3), notClient, nil},
		{"count -1", set(countAt, -1), rules(2, nil), codec.ErrInvalid},
		{"count -1, not from a client", set(countAt, -1), notClient, codec.ErrInvalid},
		{"no records", func(t *testing.T) []byte { t.Helper(); return encode(t, codec.NewHeader(2), nil) }, rules(2, nil), codec.ErrInvalid},
		{"no records, not from a client", func(t *testing.T) []byte { t.Helper(); return encode(t, codec.NewHeader(2), nil) }, notClient, codec.ErrInvalid},
		{"marker from a client", marker, rules(2, nil), codec.ErrInvalid},
		{"marker", marker, notClient, nil},
		{"producer", producer(0), rules(2, nil), nil},
		{"producer without sequence", producer(-1), rules(2, nil), codec.ErrInvalid},
		{"producer with sequence -2", producer(-2), rules(2, nil), codec.ErrInvalid},
		{"producer without sequence, not from a client", producer(-1), notClient, nil},
		{"producer to magic 1", producer(0), rules(1, nil), codec.ErrFormat},
		{"transaction to magic 0", patched(func(b []byte) { b[attributesAt+1] |= byte(codec.TransactionalBit) }), rules(0, nil), codec.ErrFormat},
		{"zstd to magic 1", counts(2, 3), to(1, codec.Zstd), codec.ErrFormat},
		{"wrong checksum", func(t *testing.T) []byte {
			t.Helper()
			b := counts(2, 3)(t)
			b[len(b)-2] ^= 1
			return b
		}, rules(2, nil), codec.ErrCorrupt},
		{"cut", func(t *testing.T) []byte { t.Helper(); b := counts(2, 3)(t); return b[:len(b)-1] }, rules(2, nil), codec.ErrShort},
		{"two of magic 2", twice(2, codec.None), rules(2, nil), codec.ErrInvalid},
		{"two of magic 2 to gzip", twice(2, codec.None), to(2, codec.GZIP), codec.ErrInvalid},
		{"two of zstd", twice(2, codec.Zstd), rules(2, nil), codec.ErrInvalid},
		{"two wrappers", twice(1, codec.GZIP), rules(1, nil), codec.ErrInvalid},
		{"two wrappers to none", twice(1, codec.GZIP), to(1, codec.None), codec.ErrInvalid},
		{"two wrappers of magic 0", twice(0, codec.LZ4), to(0, codec.GZIP), codec.ErrInvalid},
		{"three messages", twice(1, codec.None), rules(1, nil), nil},
		{"three messages to gzip", twice(1, codec.None), to(1, codec.GZIP), nil},
		{"three messages of magic 0", twice(0, codec.None), to(0, codec.GZIP), nil},
		{"message and wrapper", func(t *testing.T) []byte {
			t.Helper()
			return append(encode(t, codec.NewHeader(1), timed()[:1]), encode(t, compressed(1, codec.GZIP), timed())...)
		}, rules(1, nil), codec.ErrInvalid},
		{"magic 1 and magic 0", func(t *testing.T) []byte {
			t.Helper()
			return append(encode(t, codec.NewHeader(1), timed()[:1]), encode(t, codec.NewHeader(0), timed()[:1])...)
		}, rules(1, nil), codec.ErrInvalid},
		{"headers to magic 1", func(t *testing.T) []byte {
			t.Helper()
			return encode(t, codec.NewHeader(2), []codec.Record{{Timestamp: now, Headers: []codec.RecordHeader{{Key: []byte("h")}}}})
		}, rules(1, nil), codec.ErrFormat},
		{"compressed, base offset 5", func(t *testing.T) []byte {
			t.Helper()
			h := compressed(2, codec.GZIP)
			h.BaseOffset = 5
			return encode(t, h, []codec.Record{{Offset: 5, Timestamp: now}})
		}, rules(2, nil), codec.ErrInvalid},
		{"garbage in gzip", func(t *testing.T) []byte {
			t.Helper()
			return raw(1, []byte("not gzip at all"), func(b []byte) { b[attributesAt+1] = byte(codec.GZIP) })
		}, rules(2, nil), codec.ErrCorrupt},
		{"unknown compression", func(t *testing.T) []byte {
			t.Helper()
			return raw(1, []byte("whatever"), func(b []byte) { b[attributesAt+1] = 5 })
		}, rules(2, nil), codec.ErrCompression},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			got, err := codec.Validate(codec.Kafka(), nil, row.batch(t), row.rules)
			require.ErrorIs(t, err, row.want)
			var refused *codec.InvalidRecords
			require.False(t, errors.As(err, &refused), "the batch is refused, not records of it")
			if row.want != nil {
				require.Zero(t, got)
			}
		})
	}
}

// TestValidateRenumbers: offsets that a client got wrong are put right where Kafka does so.
func TestValidateRenumbers(t *testing.T) { // D21, M-12
	zeros := raw(3, nil, func(b []byte) { clear(b[baseTimestampAt:producerIDAt]) })
	for range 3 {
		zeros = append(zeros, rawRecord(0, 0, -1, 1, "v", 0)...)
	}
	gaps := encode(t, codec.NewHeader(2), []codec.Record{{}, {Offset: 2}, {Offset: 5}})
	var same []byte
	for range 3 {
		same = append(same, encode(t, header(1, func(h *codec.Header) { h.BaseOffset = 7 }), []codec.Record{{Offset: 7, Timestamp: 0}})...)
	}
	lenient := codec.Rules{Offset: 50, Magic: 2, MaxAge: -1, MaxAhead: -1}
	for _, row := range []struct {
		name    string
		in      []byte
		rules   codec.Rules
		inPlace bool
	}{
		{"magic 2, the same offset", sign(zeros), lenient, false},
		{"magic 2, gaps", gaps, lenient, false},
		{"magic 1, the same offset", same, codec.Rules{Offset: 50, Magic: 1, MaxAge: -1, MaxAhead: -1, FromClient: true}, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := codec.Validate(codec.Kafka(), nil, bytes.Clone(row.in), row.rules)
			require.NoError(t, err)
			require.Equal(t, row.inPlace, got.InPlace)
			var offsets []int64
			for _, r := range readAll(t, got.Batches) {
				offsets = append(offsets, r.Offset)
			}
			require.Equal(t, []int64{50, 51, 52}, offsets)
			require.Equal(t, int64(52), got.LastOffset)
		})
	}
}

// TestValidateRecords: the records that break a rule are told, all of them.
func TestValidateRecords(t *testing.T) { // D9, D10, D11, D12, D15, D30
	withTimes := func(times ...int64) []codec.Record {
		var recs []codec.Record
		for i, ts := range times {
			recs = append(recs, codec.Record{Offset: int64(i), Timestamp: ts, Key: []byte("k")})
		}
		return recs
	}
	keys := []codec.Record{{Timestamp: now, Key: []byte("k")}, {Offset: 1, Timestamp: now}, {Offset: 2, Timestamp: now, Key: []byte{}}, {Offset: 3, Timestamp: now}}
	for _, row := range []struct {
		name   string
		recs   []codec.Record
		rules  func(*codec.Rules)
		header func(*codec.Header)
		bad    []int
		class  error
	}{
		{"within the bounds", withTimes(now-1000, now+1000), nil, nil, nil, nil},
		{"too old", withTimes(now-1001, now, now-2000), nil, nil, []int{0, 2}, codec.ErrTimestamp},
		{"too new", withTimes(now, now+1001), nil, nil, []int{1}, codec.ErrTimestamp},
		{"any age", withTimes(0, now), func(r *codec.Rules) { r.MaxAge = -1 }, nil, nil, nil},
		{"any time ahead", withTimes(math.MaxInt64), func(r *codec.Rules) { r.MaxAhead = -1 }, nil, nil, nil},
		{"farthest ahead", withTimes(math.MaxInt64), func(r *codec.Rules) { r.Now = 0 }, nil, []int{0}, codec.ErrTimestamp},
		{"largest bounds", withTimes(0, math.MaxInt64), func(r *codec.Rules) { r.MaxAge, r.MaxAhead = math.MaxInt64, math.MaxInt64 }, nil, nil, nil},
		{"no timestamp", withTimes(-1, now), nil, nil, nil, nil},
		{"not looked at", withTimes(0, math.MaxInt64), func(r *codec.Rules) { r.LogAppendTime = true }, nil, nil, nil},
		{
			"log append time from a client, to log append time", withTimes(now, now), func(r *codec.Rules) { r.LogAppendTime = true },
			func(h *codec.Header) { h.Attributes, h.MaxTimestamp = codec.LogAppendTimeBit, now },
			[]int{0, 1},
			codec.ErrTimestamp,
		},
		{
			"log append time from a client, to create time", withTimes(now, now), nil,
			func(h *codec.Header) { h.Attributes, h.MaxTimestamp = codec.LogAppendTimeBit, now }, nil, nil,
		},
		{
			"log append time without a time", withTimes(now), nil,
			func(h *codec.Header) { h.Attributes = codec.LogAppendTimeBit },
			[]int{0},
			codec.ErrTimestamp,
		},
		{"keys wanted", keys, func(r *codec.Rules) { r.NeedKey = true }, nil, []int{1, 3}, codec.ErrInvalid},
		{"no keys wanted", keys, nil, nil, nil, nil},
		{
			"a key and a timestamp", append(withTimes(now-5000), codec.Record{Offset: 1, Timestamp: now}),
			func(r *codec.Rules) { r.NeedKey = true }, nil,
			[]int{0, 1},
			codec.ErrTimestamp,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			for name, c := range validators() {
				for _, compression := range []codec.Compression{codec.None, codec.Snappy} {
					for magic := int8(1); magic <= 2; magic++ {
						h := compressed(magic, compression)
						if row.header != nil {
							row.header(&h)
							h.Attributes |= codec.Attributes(compression)
						}
						in := encode(t, h, row.recs)
						_, err := codec.Validate(c, nil, in, rules(magic, row.rules))
						checkRefused(t, err, row.bad, row.class, name)
					}
				}
			}
		})
	}
}

// checkRefused checks that err is an InvalidRecords of the given records.
func checkRefused(t *testing.T, err error, bad []int, class error, name string) {
	t.Helper()
	if class == nil {
		require.NoError(t, err, name)
		return
	}
	require.ErrorIs(t, err, class, name)
	var refused *codec.InvalidRecords
	require.ErrorAs(t, err, &refused, name)
	var got []int
	for _, r := range refused.Records {
		require.Error(t, r.Err)
		got = append(got, r.Index)
	}
	require.Equal(t, bad, got, name)
}

func TestInvalidRecordsText(t *testing.T) {
	e := &codec.InvalidRecords{Err: codec.ErrInvalid}
	for i := range 5 {
		e.Records = append(e.Records, codec.InvalidRecord{Index: 10 + i, Err: codec.ErrInvalid})
	}
	require.Equal(t, "record 10: codec: invalid record, record 11: codec: invalid record, "+
		"record 12: codec: invalid record, and 2 more", e.Error())
}

// TestValidateLevels: a batch of another level of the same compression stays as it came, and one of another
// compression is what the log's own would have made: D33.
func TestValidateLevels(t *testing.T) {
	hard := codec.KafkaWith(codec.Options{Compressors: []codec.Compressor{codec.NewGzip(9), codec.NewLZ4(17)}})
	quick := codec.KafkaWith(codec.Options{Compressors: []codec.Compressor{codec.NewGzip(1), codec.NewLZ4(1)}})
	recs := someRecords(batchShape{100, 256})
	in, err := hard.Append(nil, compressed(2, codec.GZIP), recs)
	require.NoError(t, err)
	r := codec.Rules{Magic: 2, LeaderEpoch: codec.NoLeaderEpoch, MaxAge: -1, MaxAhead: -1, FromClient: true, Recompress: true}

	r.Compression = codec.GZIP
	got, err := codec.Validate(quick, nil, bytes.Clone(in), r)
	require.NoError(t, err)
	require.Equal(t, in, got.Batches)

	r.Compression = codec.LZ4
	got, err = codec.Validate(quick, nil, bytes.Clone(in), r)
	require.NoError(t, err)
	want, err := quick.Append(nil, compressed(2, codec.LZ4), recs)
	require.NoError(t, err)
	require.Equal(t, want, got.Batches)
}

// TestValidateNoRecords: a batch of nothing but a header is refused, whatever it says of its compression: D26.
func TestValidateNoRecords(t *testing.T) {
	for from := codec.None; from <= codec.Zstd; from++ {
		for to := codec.None; to <= codec.Zstd; to++ {
			for _, client := range []bool{false, true} {
				batch := raw(0, nil, func(b []byte) { b[attributesAt+1] = byte(from) })
				for name, c := range validators() {
					_, err := codec.Validate(c, nil, batch, rules(2, func(r *codec.Rules) {
						r.Recompress, r.Compression, r.FromClient = true, to, client
					}))
					require.ErrorIs(t, err, codec.ErrInvalid, "%s: %s to %s", name, from, to)
				}
			}
		}
	}
}
