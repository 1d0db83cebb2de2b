package codec_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
)

func TestRestamp(t *testing.T) { // C7, C11, C65
	c := codec.Kafka()
	formats(t, func(t *testing.T, magic int8, compression codec.Compression) {
		recs := some(0)
		if magic < 2 && compression == codec.None {
			recs = recs[:1]
		}
		for name, s := range map[string]codec.Stamp{
			"create time":     {LastOffset: 502, LeaderEpoch: 9, MaxTimestamp: 1005},
			"log append time": {LastOffset: 502, LeaderEpoch: 9, MaxTimestamp: 77777, LogAppendTime: true},
		} {
			batch := encode(t, compressed(magic, compression), recs)
			before := bytes.Clone(batch)
			err := c.Restamp(batch, s)
			if magic == 0 && compression != codec.None {
				require.ErrorIs(t, err, codec.ErrRewrite)
				require.Equal(t, before, batch)
				continue
			}
			require.NoError(t, err, name)
			require.NoError(t, c.Verify(batch), name)
			h, err := c.Header(batch)
			require.NoError(t, err)
			require.Equal(t, int64(502), h.LastOffset, name)
			require.Equal(t, magic > 0 && s.LogAppendTime, h.Attributes.LogAppendTime(), name)
			if magic > 0 {
				require.Equal(t, s.MaxTimestamp, h.MaxTimestamp, name)
			}
			if magic == 2 {
				require.Equal(t, int32(9), h.LeaderEpoch, name)
			}
			got := readAll(t, batch)
			for i := range got {
				require.Equal(t, int64(503-len(recs)+i), got[i].Offset, name)
				require.Equal(t, recs[i].Value, got[i].Value, name)
				if s.LogAppendTime && magic > 0 {
					require.Equal(t, int64(77777), got[i].Timestamp, name)
				}
			}
		}
	})
}

// TestRestampChecksum: what the checksum does not cover leaves it alone, also where it is wrong.
func TestRestampChecksum(t *testing.T) {
	c := codec.Kafka()
	batch := encode(t, codec.NewHeader(2), some(0))
	batch[len(batch)-1] ^= 1
	sum := bytes.Clone(batch[crcAt:attributesAt])
	require.NoError(t, c.Restamp(batch, codec.Stamp{LastOffset: 50, LeaderEpoch: 3, MaxTimestamp: 1005}))
	require.Equal(t, sum, batch[crcAt:attributesAt])
	require.ErrorIs(t, c.Verify(batch), codec.ErrCorrupt)

	message := encode(t, codec.NewHeader(1), some(0)[:1])
	message[len(message)-1] ^= 1
	require.NoError(t, c.Restamp(message, codec.Stamp{LastOffset: 50, MaxTimestamp: 1000}))
	require.ErrorIs(t, c.Verify(message), codec.ErrCorrupt)
}

func TestRestampErrors(t *testing.T) {
	c := codec.Kafka()
	good := encode(t, codec.NewHeader(2), some(0))
	for _, row := range []struct {
		name  string
		batch []byte
		last  int64
		want  error
	}{
		{"base below 0", good, 1, codec.ErrInvalid},
		{"negative", good, -1, codec.ErrInvalid},
		{"less than the batch", good[:len(good)-1], 10, codec.ErrShort},
		{"less than a header", good[:60], 10, codec.ErrShort},
		{"more than the batch", append(bytes.Clone(good), 0), 10, codec.ErrCorrupt},
		{"negative, magic 1", encode(t, codec.NewHeader(1), some(0)[:1]), -1, codec.ErrInvalid},
	} {
		t.Run(row.name, func(t *testing.T) {
			batch := bytes.Clone(row.batch)
			require.ErrorIs(t, c.Restamp(batch, codec.Stamp{LastOffset: row.last}), row.want)
			require.Equal(t, row.batch, batch)
		})
	}
}

func TestWholeBatch(t *testing.T) { // C6
	c := codec.Kafka()
	formats(t, func(t *testing.T, magic int8, compression codec.Compression) {
		batch := encode(t, compressed(magic, compression), some(0)[:1])
		for n := range batch {
			require.ErrorIs(t, c.Verify(batch[:n]), codec.ErrShort, "%d bytes", n)
			_, err := collect(c, batch[:n])
			require.ErrorIs(t, err, codec.ErrShort, "%d bytes", n)
		}
		more := append(bytes.Clone(batch), 0)
		require.ErrorIs(t, c.Verify(more), codec.ErrCorrupt)
		_, err := collect(c, more)
		require.ErrorIs(t, err, codec.ErrCorrupt)
		_, err = c.Header(more)
		require.NoError(t, err)
	})
}

func TestHeaderNeeds(t *testing.T) { // C50
	c := codec.Kafka()
	formats(t, func(t *testing.T, magic int8, compression codec.Compression) {
		batch := encode(t, compressed(magic, compression), some(0)[:1])
		want, err := c.Header(batch)
		require.NoError(t, err)
		needed := -1
		for n := range batch {
			h, err := c.Header(batch[:n:n])
			if err != nil {
				require.ErrorIs(t, err, codec.ErrShort)
				require.Negative(t, needed, "once enough, always enough")
				continue
			}
			if needed < 0 {
				needed = n
			}
			require.Equal(t, want, h)
		}
		require.LessOrEqual(t, needed, codec.MaxHeaderBytes)
	})
}

func TestBatches(t *testing.T) { // C80, C92, M-19
	c := codec.Kafka()
	b, ends := stream(t, c, 2, codec.None, 3)
	for cut := range len(b) + 1 {
		want := 0
		for want < 3 && ends[want] <= cut {
			want++
		}
		got := 0
		for batch, err := range codec.Batches(c, b[:cut]) {
			require.NoError(t, err)
			require.Equal(t, int64(100+3*got), batch.BaseOffset)
			got++
		}
		require.Equal(t, want, got, "%d bytes", cut)
	}

	for zeros := range 17 { // of which nothing can be told
		got := 0
		for _, err := range codec.Batches(c, append(bytes.Clone(b), make([]byte, zeros)...)) {
			require.NoError(t, err)
			got++
		}
		require.Equal(t, 3, got, "%d zeros", zeros)
	}
	bad := append(bytes.Clone(b[:ends[1]]), make([]byte, 30)...)
	var errs []error
	for _, err := range codec.Batches(c, bad) {
		errs = append(errs, err)
	}
	require.Len(t, errs, 3)
	require.NoError(t, errs[1])
	require.ErrorIs(t, errs[2], codec.ErrCorrupt)
	for range codec.Batches(c, bad) {
		break
	}
}
