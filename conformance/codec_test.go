package conformance_test

import (
	"maps"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/conformance"
	"github.com/stratalog/strata/examples/thirdparty/codec/sealed"
)

func TestCodec(t *testing.T) {
	conformance.TestCodec(t, codec.Kafka(), nil)
}

// TestCodecOfSomeFormats is a Codec that has less than Kafka's.
func TestCodecOfSomeFormats(t *testing.T) {
	conformance.TestCodec(t, codec.KafkaWith(codec.Options{Compressors: []codec.Compressor{codec.NewLZ4(0)}}), nil)
}

// TestCodecOfOwnMagic is a Codec with a format of its own, with a Validate of its own and without.
func TestCodecOfOwnMagic(t *testing.T) {
	own, err := sealed.New(make([]byte, 16))
	require.NoError(t, err)
	t.Run("Validator", func(t *testing.T) { conformance.TestCodec(t, own, nil) })
	t.Run("no Validator", func(t *testing.T) { conformance.TestCodec(t, struct{ codec.Codec }{own}, nil) })
}

// TestCodecFindsBroken runs each row of TestCodec on a Codec that breaks the rule of that row.
func TestCodecFindsBroken(t *testing.T) {
	broken := map[string]makeCodec{}
	for _, part := range []map[string]makeCodec{brokenReaders, brokenWriters, brokenValidators} {
		maps.Copy(broken, part)
	}
	findsBroken(t, "RESULT codec", conformance.CodecRows(), broken,
		func(_ *testing.T, row string, k makeCodec) conformance.Outcome { return conformance.TryCodec(row, k()) })
}

// TestCodecRowsQuoteTheContract checks that each rule of the contract has a row, and each row a rule.
func TestCodecRowsQuoteTheContract(t *testing.T) {
	var c contract
	c.readInterfaces(t, filepath.Join("..", "codec", "codec.go"), "Codec")
	c.readInterfaces(t, filepath.Join("..", "codec", "validate.go"), "Validator")
	require.GreaterOrEqual(t, len(c.bullets), 35, "the rules were not found")
	quotes(t, c, conformance.CodecRows())
}
