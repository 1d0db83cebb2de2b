package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
)

// TestCatDamagedEpoch flips bits of leader epochs, which no checksum covers, in each batch of a log. FileRecords of Kafka
// 4.4 reads the records of such a batch, and calls them valid.
func TestCatDamagedEpoch(t *testing.T) {
	const leaderEpochAt = 12
	var log []byte
	var begins []int
	for i := range int64(4) {
		begins = append(begins, len(log))
		h := codec.NewHeader(2)
		h.BaseOffset, h.LastOffset, h.LeaderEpoch = 2*i, 2*i+1, 3
		var err error
		log, err = codec.Kafka().Append(log, h, []codec.Record{{Offset: 2 * i, Value: []byte("a")}, {Offset: 2*i + 1, Value: []byte("b")}})
		require.NoError(t, err)
	}
	dir := filepath.Join(t.TempDir(), "a-0")
	require.NoError(t, os.Mkdir(dir, 0o755))
	file := filepath.Join(dir, "00000000000000000000.log")
	for batch, begin := range begins {
		for bit := range 32 {
			at, mask := begin+leaderEpochAt+bit/8, byte(1)<<(bit%8)
			log[at] ^= mask
			require.NoError(t, os.WriteFile(file, log, 0o600))
			got := run(t, "", "cat", "-f", `%o\n`, dir)
			require.Equal(t, "0\n1\n2\n3\n4\n5\n6\n7\n", got.out, "batch %d, bit %d: %s", batch, bit, got.errs)
			if got.status != 0 {
				require.Equal(t, 3, got.status)
				require.Contains(t, got.errs, "are shown, since their checksum fits")
				require.Equal(t, 1, strings.Count(got.errs, "\n"), got.errs)
			}
			log[at] ^= mask
		}
	}
}

// TestCatDamagedOffset: what the offset of a batch is that does not fit, nobody knows.
func TestCatDamagedOffset(t *testing.T) {
	c := codec.Kafka()
	var log []byte
	for i := range int64(3) {
		h := codec.NewHeader(2)
		h.BaseOffset, h.LastOffset, h.LeaderEpoch = 2*i, 2*i+1, 0
		var err error
		log, err = c.Append(log, h, []codec.Record{{Offset: 2 * i, Value: []byte("a")}, {Offset: 2*i + 1, Value: []byte("b")}})
		require.NoError(t, err)
	}
	log[len(log)/3+6] ^= 1 // 256 more
	dir := filepath.Join(t.TempDir(), "a-0")
	require.NoError(t, os.Mkdir(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "00000000000000000000.log"), log, 0o600))
	got := run(t, "", "cat", "-f", `%o\n`, dir)
	require.Equal(t, 3, got.status)
	require.Equal(t, "0\n1\n4\n5\n", got.out, got.errs)
	require.Contains(t, got.errs, "offsets 2 to 3")
}
