package codec_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/examples/thirdparty/codec/sealed"
)

// ownMagic is a Codec with a format of its own, and no Validator.
func ownMagic(t *testing.T) codec.Codec {
	t.Helper()
	c, err := sealed.New(make([]byte, 16))
	require.NoError(t, err)
	return struct{ codec.Codec }{c}
}

// featured is a header of the given magic in which nothing is left out.
func featured(magic int8) codec.Header {
	return header(magic, func(h *codec.Header) {
		h.LastOffset, h.LeaderEpoch = 9, 3
		h.ProducerID, h.ProducerEpoch, h.BaseSequence = 7, 1, 40
		h.Attributes = codec.Attributes(codec.LZ4) | codec.TransactionalBit | codec.DeleteHorizonBit
		h.BaseTimestamp = 555
	})
}

// TestValidateOwnMagic: what is sealed is not written in clear because nobody said what to do with it.
func TestValidateOwnMagic(t *testing.T) {
	c := ownMagic(t)
	batch, err := c.Append(nil, codec.NewHeader(sealed.Magic), some(0))
	require.NoError(t, err)
	rules := codec.Rules{Offset: 500, Magic: 2, MaxAge: -1, MaxAhead: -1, FromClient: true}
	for magic := range int8(3) {
		rules.Magic = magic
		_, err := codec.Validate(c, nil, bytes.Clone(batch), rules)
		require.ErrorIs(t, err, codec.ErrFormat, "to magic %d", magic)
	}

	rules.Magic = sealed.Magic
	got, err := codec.Validate(c, nil, bytes.Clone(batch), rules)
	require.NoError(t, err)
	require.True(t, got.InPlace)
	recs, err := collect(c, got.Batches)
	require.NoError(t, err)
	require.Equal(t, some(500), recs)

	got, err = codec.Validate(c, nil, encode(t, codec.NewHeader(2), some(0)), rules)
	require.NoError(t, err)
	h, err := c.Header(got.Batches)
	require.NoError(t, err)
	require.Equal(t, sealed.Magic, h.Magic)
}

// TestConvertOwnMagic: a batch keeps all that it is, in both directions, and an empty one is kept, too.
func TestConvertOwnMagic(t *testing.T) {
	c := ownMagic(t)
	for _, magics := range [][2]int8{{sealed.Magic, 2}, {2, sealed.Magic}} {
		for _, recs := range [][]codec.Record{some(0), nil} {
			one, err := c.Append(nil, featured(magics[0]), recs)
			require.NoError(t, err)
			two, err := codec.Convert(c, []byte("before"), append(one, one...), magics[1], 0)
			require.NoError(t, err)
			want, err := c.Append(nil, featured(magics[1]), recs)
			require.NoError(t, err)
			wanted, err := c.Header(want)
			require.NoError(t, err)
			count := 0
			for b, err := range codec.Batches(c, two[len("before"):]) {
				require.NoError(t, err)
				b.CRC, wanted.CRC = 0, 0 // of a sealed batch it is another each time
				require.Equal(t, wanted, b.Header)
				got, err := collect(c, b.Bytes)
				require.NoError(t, err)
				require.Equal(t, recs, got)
				count++
			}
			require.Equal(t, 2, count)
		}
	}
	batch := encode(t, codec.NewHeader(2), some(0))
	_, err := codec.Convert(c, nil, batch, 7, 0)
	require.ErrorIs(t, err, codec.ErrMagic)
	got, err := codec.Convert(c, []byte("before"), encode(t, header(2, func(h *codec.Header) { h.Attributes = codec.ControlBit }), nil), -1, 0)
	require.ErrorIs(t, err, codec.ErrMagic)
	require.Equal(t, "before", string(got))
}
