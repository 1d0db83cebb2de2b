package conformance_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/conformance"
)

func TestCompressor(t *testing.T) {
	for _, z := range []codec.Compressor{codec.NewGzip(0), codec.NewSnappy(), codec.NewLZ4(0), codec.NewZstd(0)} {
		t.Run(z.Compression().String(), func(t *testing.T) { conformance.TestCompressor(t, z, nil) })
	}
	t.Run("other levels", func(t *testing.T) {
		for _, z := range []codec.Compressor{codec.NewGzip(9), codec.NewLZ4(3), codec.NewZstd(19)} {
			t.Run(z.Compression().String(), func(t *testing.T) { conformance.TestCompressor(t, z, nil) })
		}
	})
}

// twistCompressor is a Compressor with some methods replaced; nil ones are gzip's.
type twistCompressor struct {
	codec.Compressor

	compression func() codec.Compression
	compress    func(dst, src []byte) ([]byte, error)
	decompress  func(dst, src []byte, limit int) ([]byte, error)
}

func (t *twistCompressor) Compression() codec.Compression {
	if t.compression != nil {
		return t.compression()
	}
	return t.Compressor.Compression()
}

func (t *twistCompressor) Compress(dst, src []byte) ([]byte, error) {
	if t.compress != nil {
		return t.compress(dst, src)
	}
	return t.Compressor.Compress(dst, src)
}

func (t *twistCompressor) Decompress(dst, src []byte, limit int) ([]byte, error) {
	if t.decompress != nil {
		return t.decompress(dst, src, limit)
	}
	return t.Compressor.Decompress(dst, src, limit)
}

// makeCompressor makes a Compressor.
type makeCompressor func() codec.Compressor

// onGzip twists gzip.
func onGzip(twist func(z *twistCompressor)) makeCompressor {
	return func() codec.Compressor {
		z := &twistCompressor{Compressor: codec.NewGzip(0)}
		twist(z)
		return z
	}
}

// brokenCompressors break the rule of one row each.
var brokenCompressors = map[string]makeCompressor{
	"the number stays": onGzip(func(z *twistCompressor) {
		var calls atomic.Uint32
		z.compression = func() codec.Compression { return codec.Compression(calls.Add(1)) }
	}),
	"what Kafka packed is unpacked": onGzip(func(z *twistCompressor) {
		z.compression = func() codec.Compression { return codec.LZ4 }
	}),
	"packed and unpacked is the same": onGzip(func(z *twistCompressor) {
		z.decompress = func(dst, src []byte, limit int) ([]byte, error) {
			got, err := z.Compressor.Decompress(dst, src, limit)
			return bytes.ReplaceAll(got, []byte("there"), []byte("their")), err
		}
	}),
	"packing appends": onGzip(func(z *twistCompressor) {
		z.compress = func(_, src []byte) ([]byte, error) { return z.Compressor.Compress(nil, src) }
	}),
	"nothing can be packed": onGzip(func(z *twistCompressor) {
		z.compress = func(dst, src []byte) ([]byte, error) {
			if len(src) == 0 {
				return dst, nil
			}
			return z.Compressor.Compress(dst, src)
		}
	}),
	"calls do not disturb each other": onGzip(func(z *twistCompressor) {
		only := newAlone()
		z.compress = func(dst, src []byte) (got []byte, err error) {
			if !only.do(func() { got, err = z.Compressor.Compress(dst, src) }) {
				return dst, errors.New("in use")
			}
			return got, err
		}
	}),
	"arguments are not kept": onGzip(func(z *twistCompressor) {
		var buffer []byte
		z.decompress = func(dst, src []byte, limit int) (got []byte, err error) {
			buffer, err = z.Compressor.Decompress(append(buffer[:0], dst...), src, limit)
			return buffer, err
		}
	}),
	"the limit is kept": onGzip(func(z *twistCompressor) {
		z.decompress = func(dst, src []byte, limit int) ([]byte, error) {
			return z.Compressor.Decompress(dst, src, limit+1)
		}
	}),
	"claims are not believed": onGzip(func(z *twistCompressor) {
		z.decompress = func(dst, src []byte, limit int) ([]byte, error) {
			if len(src) > 4 && src[len(src)-1] == 0xff { // the size modulo 2³², behind everything
				dst = append(make([]byte, 0, 1<<30), dst...)
			}
			return z.Compressor.Decompress(dst, src, limit)
		}
	}),
	"a bomb does not go off": onGzip(func(z *twistCompressor) {
		z.decompress = func(dst, src []byte, limit int) ([]byte, error) {
			return z.Compressor.Decompress(dst, src, max(limit, 1<<30))
		}
	}),
	"damage is found": onGzip(func(z *twistCompressor) {
		z.decompress = func(dst, src []byte, limit int) ([]byte, error) {
			got, err := z.Compressor.Decompress(dst, src, limit)
			if errors.Is(err, codec.ErrCorrupt) {
				err = errors.New("something is wrong")
			}
			return got, err
		}
	}),
	"an error leaves dst alone": onGzip(func(z *twistCompressor) {
		z.decompress = func(dst, src []byte, limit int) ([]byte, error) {
			got, err := z.Compressor.Decompress(dst, src, limit)
			if err != nil {
				return nil, err
			}
			return got, nil
		}
	}),
}

// TestCompressorFindsBroken runs each row of TestCompressor on a Compressor that breaks the rule of that row.
func TestCompressorFindsBroken(t *testing.T) {
	findsBroken(t, "RESULT compressor", conformance.CompressorRows(), brokenCompressors,
		func(_ *testing.T, row string, z makeCompressor) conformance.Outcome {
			return conformance.TryCompressor(row, z())
		})
}

// quotes checks that each rule of a contract has a row, but for those that only callers can keep, and each row
// a rule.
func quotes(t *testing.T, c contract, rows []conformance.Row, ofCallers ...string) {
	t.Helper()
	for _, bullet := range c.bullets {
		quoted := func(r conformance.Row) bool { return strings.Contains(bullet, r.Rule) }
		if !slices.Contains(ofCallers, bullet) && !slices.ContainsFunc(rows, quoted) {
			t.Errorf("no row quotes the rule %q", bullet)
		}
	}
	for _, row := range rows {
		if !strings.Contains(c.text, row.Rule) {
			t.Errorf("row %q quotes what no contract says: %q", row.Name, row.Rule)
		}
	}
}

// TestCompressorRowsQuoteTheContract checks that each rule of the contract has a row, and each row a rule.
func TestCompressorRowsQuoteTheContract(t *testing.T) {
	var c contract
	c.readInterfaces(t, filepath.Join("..", "codec", "compress.go"), "Compressor")
	require.GreaterOrEqual(t, len(c.bullets), 6, "the rules were not found")
	quotes(t, c, conformance.CompressorRows(), "dst and src must not overlap.")
}
