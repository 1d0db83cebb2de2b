package log_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/examples/thirdparty/codec/sealed"
	"github.com/stratalog/strata/fsio/aferofs"
	"github.com/stratalog/strata/log"
	"github.com/stratalog/strata/segment"
)

// TestOwnMagic appends a batch of a magic of the Codec's own as leader and as follower: it keeps its magic, or is
// refused, but is never written in one of Kafka's.
func TestOwnMagic(t *testing.T) {
	own, err := sealed.New(make([]byte, 16))
	require.NoError(t, err)
	batch := func() []byte {
		b, err := own.Append(nil, codec.NewHeader(sealed.Magic), []codec.Record{rec("x")})
		require.NoError(t, err)
		return b
	}
	for name, c := range map[string]codec.Codec{"Validator": own, "no Validator": struct{ codec.Codec }{own}} {
		t.Run(name, func(t *testing.T) {
			fsys := aferofs.Mem()
			l, err := log.Open(t.Context(), "own-0", log.Options{FS: fsys, Parts: segment.Parts{Codec: c}})
			require.NoError(t, err)
			_, isValidator := c.(codec.Validator)
			_, err = l.Append(batch())
			if isValidator {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, log.ErrUnsupportedFormat)
				require.Equal(t, int16(43), log.Code(err))
				require.Zero(t, l.EndOffset())
				_, err = l.AppendAssigned(batch(), 0)
				require.ErrorIs(t, err, log.ErrInvalidRecord, "a follower's batch has an epoch")
				stamped := batch()
				require.NoError(t, own.Restamp(stamped, codec.Stamp{MaxTimestamp: rec("x").Timestamp}))
				_, err = l.AppendAssigned(stamped, 0)
				require.NoError(t, err)
			}
			slice, err := l.Read(0, 1000)
			require.NoError(t, err)
			written := make([]byte, slice.Len())
			_, err = slice.ReadAt(written, 0)
			require.NoError(t, err)
			require.NoError(t, slice.Close())
			require.Equal(t, byte(sealed.Magic), written[16])
			for r, err := range l.Records(t.Context(), 0) {
				require.NoError(t, err)
				require.Equal(t, "x", string(r.Value))
			}
			require.NoError(t, l.Close())
		})
	}
}
