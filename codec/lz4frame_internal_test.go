package codec

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestXXH32 has the values of the algorithm's own documentation and tools, in one write and in two.
func TestXXH32(t *testing.T) {
	for text, want := range map[string]uint32{
		"":    0x02CC5D05,
		"a":   0x550D7456,
		"abc": 0x32D153FF,
		"Nobody inspects the spammish repetition": 0xE2293B2F,
	} {
		for cut := range len(text) + 1 {
			var h xxh32
			h.write([]byte(text[:cut]))
			h.write([]byte(text[cut:]))
			assert.Equal(t, want, h.sum(), "%q cut at %d", text, cut)
		}
	}
}

// TestLZ4HeaderChecksum has Kafka's default frame: 82 is right, 1A is what clients up to 0.9 wrote.
func TestLZ4HeaderChecksum(t *testing.T) {
	pos, right, legacy, err := lz4HeaderChecksum([]byte("\x04\x22\x4D\x18\x60\x40\x00"))
	require.NoError(t, err)
	assert.Equal(t, 6, pos)
	assert.Equal(t, byte(0x82), right)
	assert.Equal(t, byte(0x1A), legacy)

	pos, _, _, err = lz4HeaderChecksum([]byte("\x04\x22\x4D\x18\x68\x40\x04\x00\x00\x00\x00\x00\x00\x00\xCD"))
	require.NoError(t, err)
	assert.Equal(t, 14, pos, "behind the content size")

	for _, bad := range []string{"", "\x04\x22\x4D\x18", "\x04\x22\x4D\x18\x60\x40", "\x04\x22\x4D\x18\x68\x40\x82", "\x05\x22\x4D\x18\x60\x40\x82"} {
		_, _, _, err := lz4HeaderChecksum([]byte(bad))
		assert.ErrorIs(t, err, ErrCorrupt, "%q", bad)
	}
}
