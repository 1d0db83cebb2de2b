package checkpoint

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"
)

// The format of package log's documentation, byte by byte; the checksum is CRC-32C of the bytes from 16 on,
// computed elsewhere.
func TestSlotFormat(t *testing.T) {
	var b [SlotBytes]byte
	s := Slot{Number: 1, RecoveryPoint: 2, StartOffset: 3, CleanerOffset: 4, Clean: true, EndOffset: 5, ActiveSize: 6}
	s.Encode(b[:])
	require.Equal(t, "7374726174614350", hex.EncodeToString(b[:8]))
	require.Equal(t, "00000000", hex.EncodeToString(b[8:12]))
	body := "0000000000000001000000000000000200000000000000030000000000000004000000000000000100000000000000050000000000000006"
	require.Equal(t, body, hex.EncodeToString(b[16:72]))
	for _, c := range b[72:] {
		require.Zero(t, c)
	}
	got, ok := DecodeSlot(b[:])
	require.True(t, ok)
	require.Equal(t, s, got)
	for i := range b {
		b[i] ^= 0x10
		_, ok := DecodeSlot(b[:])
		require.False(t, ok, "byte %d is changed, and nobody minds", i)
		b[i] ^= 0x10
	}
	_, ok = DecodeSlot(b[:SlotBytes-1])
	require.False(t, ok)
}

// The valid slot with the larger number counts.
func TestNewestSlot(t *testing.T) {
	two := make([]byte, 2*SlotBytes)
	Slot{Number: 8, RecoveryPoint: 1}.Encode(two)
	Slot{Number: 7, RecoveryPoint: 2}.Encode(two[SlotBytes:])
	s, at, ok := NewestSlot(two)
	require.True(t, ok)
	require.Zero(t, at)
	require.EqualValues(t, 1, s.RecoveryPoint)
	two[20] ^= 1
	s, at, ok = NewestSlot(two)
	require.True(t, ok)
	require.Equal(t, 1, at)
	require.EqualValues(t, 2, s.RecoveryPoint)
	two[SlotBytes+20] ^= 1
	_, _, ok = NewestSlot(two)
	require.False(t, ok)
	_, _, ok = NewestSlot(two[:700])
	require.False(t, ok)
}

// FuzzSlot: whatever the bytes, what is read of them is what was written.
func FuzzSlot(f *testing.F) {
	var b [SlotBytes]byte
	Slot{Number: 3, EndOffset: 9}.Encode(b[:])
	f.Add(b[:])
	f.Add([]byte("strataCP"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, ok := DecodeSlot(b)
		if !ok {
			return
		}
		var again [SlotBytes]byte
		s.Encode(again[:])
		if string(again[slotBodyAt:72]) != string(b[slotBodyAt:72]) {
			clean := b[slotBodyAt+39] // any number but 1 is not clean
			if clean == 1 {
				t.Errorf("%x, want %x", again[:72], b[:72])
			}
		}
	})
}
