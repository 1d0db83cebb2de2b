package sealed_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/conformance"
	"github.com/stratalog/strata/examples/thirdparty/codec/sealed"
)

func TestCodec(t *testing.T) {
	c, err := sealed.New(make([]byte, 32))
	require.NoError(t, err)
	conformance.TestCodec(t, c, nil)
}

// TestSecrecy looks for what was sealed, and opens it with another key.
func TestSecrecy(t *testing.T) {
	c, err := sealed.New(make([]byte, 32))
	require.NoError(t, err)
	h := codec.NewHeader(sealed.Magic)
	batch, err := c.Append(nil, h, []codec.Record{{Value: []byte("a secret of many words")}})
	require.NoError(t, err)
	require.False(t, bytes.Contains(batch, []byte("secret")))

	other, err := sealed.New(bytes.Repeat([]byte{1}, 32))
	require.NoError(t, err)
	require.NoError(t, other.Verify(batch), "who has no key can see that nothing was damaged")
	for _, err := range other.Records(batch) {
		require.ErrorIs(t, err, codec.ErrCorrupt)
	}
}
