package log

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio/aferofs"
)

// The format of the package's documentation, byte by byte; the checksum is CRC-32C of the bytes from 16 on,
// computed elsewhere.
func TestSlotFormat(t *testing.T) {
	var b [slotBytes]byte
	s := slot{number: 1, point: 2, start: 3, cleaner: 4, clean: true, end: 5, activeSize: 6}
	s.encode(b[:])
	require.Equal(t, "7374726174614350", hex.EncodeToString(b[:8]))
	require.Equal(t, "00000000", hex.EncodeToString(b[8:12]))
	body := "0000000000000001000000000000000200000000000000030000000000000004000000000000000100000000000000050000000000000006"
	require.Equal(t, body, hex.EncodeToString(b[16:72]))
	for _, c := range b[72:] {
		require.Zero(t, c)
	}
	got, ok := decodeSlot(b[:])
	require.True(t, ok)
	require.Equal(t, s, got)
	for i := range b {
		b[i] ^= 0x10
		_, ok := decodeSlot(b[:])
		require.False(t, ok, "byte %d is changed, and nobody minds", i)
		b[i] ^= 0x10
	}
	_, ok = decodeSlot(b[:slotBytes-1])
	require.False(t, ok)
}

// The valid slot with the larger number counts.
func TestNewestSlot(t *testing.T) {
	two := make([]byte, 2*slotBytes)
	slot{number: 8, point: 1}.encode(two)
	slot{number: 7, point: 2}.encode(two[slotBytes:])
	s, at, ok := newest(two)
	require.True(t, ok)
	require.Zero(t, at)
	require.EqualValues(t, 1, s.point)
	two[20] ^= 1
	s, at, ok = newest(two)
	require.True(t, ok)
	require.Equal(t, 1, at)
	require.EqualValues(t, 2, s.point)
	two[slotBytes+20] ^= 1
	_, _, ok = newest(two)
	require.False(t, ok)
	_, _, ok = newest(two[:700])
	require.False(t, ok)
}

// What a slot says is asked once others can write none: a Sync must not write a start that a DeleteBefore has moved
// meanwhile.
func TestSlotIsAskedInTurn(t *testing.T) {
	fsys := aferofs.Mem()
	c, err := openOwn(fsys, ownName, slot{cleaner: 5}, 0)
	require.NoError(t, err)
	err = c.write(func() slot {
		require.False(t, c.mu.TryLock())
		return slot{start: 7}
	}, true)
	require.NoError(t, err)
	require.NoError(t, c.close())
	s, _, ok, err := readOwn(fsys, ownName)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, slot{number: 1, start: 7, cleaner: 5}, s)
}

// FuzzSlot: whatever the bytes, what is read of them is what was written.
func FuzzSlot(f *testing.F) {
	var b [slotBytes]byte
	slot{number: 3, end: 9}.encode(b[:])
	f.Add(b[:])
	f.Add([]byte("strataCP"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, ok := decodeSlot(b)
		if !ok {
			return
		}
		var again [slotBytes]byte
		s.encode(again[:])
		if string(again[slotBodyAt:72]) != string(b[slotBodyAt:72]) {
			clean := b[slotBodyAt+39] // any number but 1 is not clean
			if clean == 1 {
				t.Errorf("%x, want %x", again[:72], b[:72])
			}
		}
	})
}
