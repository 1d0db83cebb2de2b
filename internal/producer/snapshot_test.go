package producer_test

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/internal/producer"
)

// bytesOf decodes hexadecimal digits with spaces between them.
func bytesOf(tb testing.TB, digits string) []byte {
	tb.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(digits, " ", ""))
	require.NoError(tb, err)
	return b
}

// vectors are snapshots whose bytes were computed by another program.
var vectors = []struct {
	name, bytes string
	entries     []producer.Entry
}{
	{"empty", "0001 48674bc7 00000000", []producer.Entry{}},
	{
		"one producer",
		"0001 4e27dfc5 00000001 000000000000002a 0003 00000009 000000000000006d 00000009 00000000000007d0 ffffffff ffffffffffffffff",
		[]producer.Entry{{
			ProducerID: 42, Epoch: 3, LastSequence: 9, LastOffset: 109, OffsetDelta: 9, Timestamp: 2000,
			CoordinatorEpoch: -1, TxnFirstOffset: -1,
		}},
	},
}

func TestSnapshotVectors(t *testing.T) {
	for _, row := range vectors {
		t.Run(row.name, func(t *testing.T) {
			want := bytesOf(t, row.bytes)
			got, err := producer.DecodeSnapshot(want)
			require.NoError(t, err)
			assert.Equal(t, row.entries, got)
			assert.Equal(t, want, producer.AppendSnapshot(nil, row.entries))
			assert.Equal(t, append([]byte("x"), want...), producer.AppendSnapshot([]byte("x"), row.entries))
		})
	}
}

// TestSnapshotRoundTrip is I38.
func TestSnapshotRoundTrip(t *testing.T) {
	want := []producer.Entry{
		{
			ProducerID: 1, Epoch: 2, CoordinatorEpoch: 3, Timestamp: -1, TxnFirstOffset: 100,
			LastSequence: 1, LastOffset: 2, OffsetDelta: 3,
		},
		{
			ProducerID: 11, Epoch: 12, CoordinatorEpoch: 13, Timestamp: 123456, TxnFirstOffset: -1,
			LastSequence: -1, LastOffset: -1,
		},
	}
	got, err := producer.DecodeSnapshot(producer.AppendSnapshot(nil, want))
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

// TestSnapshotDamage is I40: it cuts a snapshot at every byte, flips its every bit, and adds a byte: no damage is
// taken for a snapshot.
func TestSnapshotDamage(t *testing.T) {
	for _, row := range vectors {
		whole := bytesOf(t, row.bytes)
		for size := range whole {
			_, err := producer.DecodeSnapshot(whole[:size])
			require.ErrorIs(t, err, producer.ErrCorrupt, "%s: cut at %d", row.name, size)
		}
		for bit := range len(whole) * 8 {
			flipped := append([]byte(nil), whole...)
			flipped[bit/8] ^= 1 << (bit % 8)
			_, err := producer.DecodeSnapshot(flipped)
			require.ErrorIs(t, err, producer.ErrCorrupt, "%s: bit %d flipped", row.name, bit)
		}
		_, err := producer.DecodeSnapshot(append(whole, 0))
		require.ErrorIs(t, err, producer.ErrCorrupt, "%s: a byte more", row.name)
	}
}

// seal makes a snapshot of any version and number of entries, with a checksum that is right.
func seal(version uint16, count uint32, entries []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, count)
	b = append(b, entries...)
	sum := crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))
	return append(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(nil, version), sum), b...)
}

// TestSnapshotRefuses is I40, too: it has snapshots whose checksum is right.
func TestSnapshotRefuses(t *testing.T) {
	for name, content := range map[string][]byte{
		"version 0":               seal(0, 0, nil),
		"version 2":               seal(2, 0, nil),
		"fewer entries than said": seal(1, 2, make([]byte, 46)),
		"more entries than said":  seal(1, 1, make([]byte, 92)),
		"half of an entry":        seal(1, 1, make([]byte, 23)),
		"very many entries":       seal(1, 0x7fffffff, make([]byte, 46)),
		"a negative number":       seal(1, 0xffffffff, make([]byte, 46)),
	} {
		_, err := producer.DecodeSnapshot(content)
		assert.ErrorIs(t, err, producer.ErrCorrupt, name)
	}
}

// TestReadSnapshot is I39 testFetchSnapshotEmptySnapShot: at an unknown offset there is none.
func TestReadSnapshot(t *testing.T) {
	onEach(t, func(t *testing.T, fsys fsio.FS) {
		const name = "00000000000000000042.snapshot"
		_, err := producer.ReadSnapshot(fsys, dir+"/"+name)
		require.ErrorIs(t, err, fs.ErrNotExist)
		put(t, fsys, name, bytesOf(t, vectors[1].bytes))
		got, err := producer.ReadSnapshot(fsys, dir+"/"+name)
		require.NoError(t, err)
		assert.Equal(t, vectors[1].entries, got)
		put(t, fsys, name, nil)
		_, err = producer.ReadSnapshot(fsys, dir+"/"+name)
		require.ErrorIs(t, err, producer.ErrCorrupt)
		at, ok := errors.AsType[*fsio.PosError](err)
		require.True(t, ok)
		assert.Equal(t, dir+"/"+name, at.Path)
	})
}

func FuzzSnapshot(f *testing.F) {
	for _, row := range vectors {
		f.Add(bytesOf(f, row.bytes))
	}
	f.Add(seal(1, 2, make([]byte, 92)))
	f.Add(seal(1, 0x7fffffff, make([]byte, 46)))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := producer.DecodeSnapshot(data)
		if err != nil {
			if !errors.Is(err, producer.ErrCorrupt) {
				t.Fatalf("got %v, want ErrCorrupt", err)
			}
			return
		}
		if again := producer.AppendSnapshot(nil, entries); string(again) != string(data) {
			t.Fatalf("encoded anew %x, want %x", again, data)
		}
	})
}
