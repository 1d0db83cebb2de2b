package conformance_test

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

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

// onGzip twists gzip.
func onGzip(twist func(z *twistCompressor)) codec.Compressor {
	z := &twistCompressor{Compressor: codec.NewGzip(0)}
	twist(z)
	return z
}

// brokenCompressors break the rule of one row each.
var brokenCompressors = map[string]codec.Compressor{
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
		var running atomic.Int32
		between := pauses()
		z.compress = func(dst, src []byte) ([]byte, error) {
			defer running.Add(-1)
			if running.Add(1) > 1 {
				return dst, errors.New("in use")
			}
			between()
			return z.Compressor.Compress(dst, src)
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
	findsBroken(t, "compressor", conformance.CompressorRows(), brokenCompressors, func(row string, z codec.Compressor) []string {
		return conformance.TryCompressor(row, z, 20*time.Second)
	})
}

// findsBroken tries each row on what breaks its rule.
func findsBroken[S any](t *testing.T, what string, rows []conformance.Row, broken map[string]S, try func(row string, subject S) []string) {
	t.Helper()
	for name := range broken {
		if !slices.ContainsFunc(rows, func(r conformance.Row) bool { return r.Name == name }) {
			t.Errorf("a subject breaks %q, which is no row", name)
		}
	}
	var caught atomic.Int64
	t.Cleanup(func() {
		fmt.Printf("RESULT %s rows=%d broken_caught=%d/%d\n", what, len(rows), caught.Load(), len(rows))
	})
	for _, r := range rows {
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			subject, ok := broken[r.Name]
			if !ok {
				t.Fatal("nothing breaks this row's rule")
			}
			failures := try(r.Name, subject)
			if len(failures) == 0 {
				t.Fatalf("the row accepts what breaks its rule: %q", r.Rule)
			}
			caught.Add(1)
			t.Logf("%s", failures[0][:min(len(failures[0]), 200)])
		})
	}
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
