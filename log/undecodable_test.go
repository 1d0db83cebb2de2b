package log_test

import (
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/log"
)

// payload is a batch of three records whose payload is the given bytes, with the right size and checksum.
func payload(t *testing.T, c codec.Compression, packed []byte) []byte {
	t.Helper()
	b := append(set(t, rec("a"), rec("b"), rec("c"))[:codec.MaxHeaderBytes], packed...)
	binary.BigEndian.PutUint32(b[8:], uint32(len(b)-12))
	b[22] = byte(c)
	binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], crc32.MakeTable(crc32.Castagnoli)))
	return b
}

// TestUndecodable appends batches with a good checksum and a bad payload: they are refused as what they are, and
// the log goes on as if nothing had been: C-16.
func TestUndecodable(t *testing.T) {
	compressors := []codec.Compressor{codec.NewGzip(0), codec.NewSnappy(), codec.NewLZ4(0), codec.NewZstd(0)}
	w := newWorld(t, backends[0])
	w.open()
	w.append(set(t, rec("before")))
	size := w.l.Stats().Bytes
	refuse := func(name string, c codec.Compression, packed []byte, codes ...int16) {
		_, err := w.l.Append(payload(t, c, packed))
		require.Error(t, err, "%s: %s", c, name)
		require.Contains(t, codes, log.Code(err), "%s: %s: %v", c, name, err)
		require.NotErrorIs(t, err, log.ErrReadOnly)
		require.EqualValues(t, 1, w.l.EndOffset())
		require.Equal(t, size, w.l.Stats().Bytes)
	}
	for _, c := range compressors {
		records := set(t, rec("a"), rec("b"), rec("c"))[codec.MaxHeaderBytes:]
		packed, err := c.Compress(nil, records)
		require.NoError(t, err)
		half, err := c.Compress(nil, records[:len(records)-3])
		require.NoError(t, err)
		refuse("garbage", c.Compression(), []byte("\x05\x06\x07 no stream of anything"), 2)
		refuse("cut", c.Compression(), packed[:len(packed)-2], 2, 87)
		refuse("junk behind", c.Compression(), append(packed, 1, 2, 3), 2)
		refuse("half a record", c.Compression(), half, 87)
		refuse("nothing", c.Compression(), nil, 2, 87)
	}
	for c := codec.Compression(5); c < 8; c++ {
		refuse("unknown", c, []byte("whatever"), 76)
	}
	got := w.append(set(t, rec("after")))
	require.EqualValues(t, 1, got.BaseOffset)
	require.Equal(t, map[int64]string{0: "before", 1: "after"}, w.values(0, log.ReadToEnd))
}
