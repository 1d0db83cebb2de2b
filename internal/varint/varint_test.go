package varint_test

import (
	"encoding/hex"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/internal/varint"
)

// vectors are those of Kafka's format.
var vectors = []struct {
	v   int64
	hex string
}{
	{0, "00"},
	{-1, "01"},
	{1, "02"},
	{-2, "03"},
	{63, "7e"},
	{-64, "7f"},
	{64, "8001"},
	{300, "d804"},
	{8191, "fe7f"},
	{8192, "808001"},
	{math.MaxInt32, "feffffff0f"},
	{math.MinInt32, "ffffffff0f"},
	{math.MaxInt64, "feffffffffffffffff01"},
	{math.MinInt64, "ffffffffffffffffff01"},
}

func TestVectors(t *testing.T) {
	for _, v := range vectors {
		t.Run(v.hex, func(t *testing.T) {
			want, err := hex.DecodeString(v.hex)
			require.NoError(t, err)
			require.Equal(t, want, varint.Append(nil, v.v), "Append(%d)", v.v)
			require.Equal(t, len(want), varint.Size(v.v), "Size(%d)", v.v)

			put := make([]byte, varint.MaxBytes64)
			require.Equal(t, want, put[:varint.Put(put, v.v)], "Put(%d)", v.v)
			got, n := varint.Read64(append(want, 0xff))
			require.Equal(t, v.v, got, "Read64")
			require.Equal(t, len(want), n, "Read64's size")
			if v.v == int64(int32(v.v)) {
				got, n := varint.Read32(append(want, 0xff))
				require.Equal(t, int32(v.v), got, "Read32")
				require.Equal(t, len(want), n, "Read32's size")
			}
			for cut := range want {
				_, n := varint.Read64(want[:cut])
				require.Zero(t, n, "Read64 of %d of %d bytes", cut, len(want))
			}
		})
	}
}

func TestTooLong(t *testing.T) {
	long := []byte{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01}
	for size := range len(long) + 1 {
		want32, want64 := 0, 0
		if size >= varint.MaxBytes32 {
			want32 = -1
		}
		if size >= varint.MaxBytes64 {
			want64 = -1
		}
		_, n := varint.Read32(long[:size])
		require.Equal(t, want32, n, "Read32 of %d bytes", size)
		_, n = varint.Read64(long[:size])
		require.Equal(t, want64, n, "Read64 of %d bytes", size)
	}
}

func TestShort(t *testing.T) {
	const at = 3
	for v := int64(-9000); v < 9000; v++ {
		b := varint.Append(make([]byte, at), v)
		size := uint(len(b)) - at
		for cut := range size {
			_, end := varint.Short(b[:at+cut], at)
			require.Equal(t, uint(varint.Long), end, "Short(%d) of %d bytes", v, cut)
		}
		u, end := varint.Short(append(b, 0xff, 0xff), at)
		if size > 2 {
			require.Equal(t, uint(varint.Long), end, "Short(%d)", v)
			continue
		}
		require.Equal(t, at+size, end, "Short(%d)", v)
		require.Equal(t, v, varint.Unzig(uint64(u)))
	}
	u, end := varint.Short([]byte{1}, varint.Long)
	require.Zero(t, u)
	require.Equal(t, uint(varint.Long), end, "what lies behind one that is long")
}

func FuzzRead(f *testing.F) {
	for _, v := range vectors {
		b, _ := hex.DecodeString(v.hex)
		f.Add(b)
	}
	f.Add([]byte{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01})
	f.Fuzz(func(t *testing.T, b []byte) {
		v, n := varint.Read64(b)
		require.LessOrEqual(t, n, min(len(b), varint.MaxBytes64))
		if n > 0 {
			again, m := varint.Read64(varint.Append(nil, v))
			require.Equal(t, v, again)
			require.LessOrEqual(t, m, n, "the encoding is the shortest")
		}
		_, n = varint.Read32(b)
		require.LessOrEqual(t, n, min(len(b), varint.MaxBytes32))
	})
}
