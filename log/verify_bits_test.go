package log_test

import (
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/internal/checkpoint"
	"github.com/stratalog/strata/log"
	"github.com/stratalog/strata/segment"
)

// threeBatches is a log of three batches with two leader epochs, an index entry each, and a producer, that was
// closed.
func threeBatches(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, backends[0])
	w.o.Config.IndexIntervalBytes = log.Zero
	w.o.TopicID = [16]byte{15: 7}
	w.open()
	for i, epoch := range []int32{0, 3, 3} {
		p := produced(t, 9, 0, int32(2*i), false, 2)
		_, err := w.l.AppendWith(p, log.AppendOptions{LeaderEpoch: epoch})
		require.NoError(t, err)
	}
	_, err := w.l.AppendWith(batchAt(t, started+5), log.AppendOptions{LeaderEpoch: 3})
	require.NoError(t, err)
	w.close()
	require.Empty(t, briefs(verifyAll(t, w.fs, w.dir, log.VerifyOptions{Deep: true}), log.SeverityInfo))
	return w
}

// batchAt is a batch of one record with a timestamp, so that the time index has a second entry.
func batchAt(t *testing.T, ms int64) []byte {
	t.Helper()
	r := rec("late")
	r.Timestamp = ms
	return set(t, r)
}

// TestVerifyEveryBit flips every bit of every file in turn. It is found, or there is a reason why nobody could,
// or need.
func TestVerifyEveryBit(t *testing.T) {
	w := threeBatches(t)
	for _, row := range []struct {
		file     string
		harmless func(b []byte, at, bit int) string
	}{
		{file: name20(0) + ".log"},
		{file: name20(0) + ".index", harmless: func(_ []byte, at, bit int) string {
			if at%8 == 3 && bit == 0 {
				return "it has the batch's first offset then, as up to Kafka 0.11, and leads to the same batch"
			}
			return ""
		}},
		{file: name20(0) + ".timeindex", harmless: func(_ []byte, at, bit int) string {
			if at == 11 && bit < 3 {
				return "up to that offset, which is of another batch with the same timestamp, it is as true"
			}
			return ""
		}},
		{file: name20(7) + ".snapshot"},
		{file: checkpoint.LeaderEpochs},
		{file: checkpoint.PartitionMetadata, harmless: func(b []byte, at, _ int) string {
			switch text := string(b); {
			case strings.HasPrefix(text, "version: ") && at == len("version: "):
				return "a version above 0 is read as 0, by Kafka, too"
			case strings.Index(text, "topic_id: ")+len("topic_id: ") <= at:
				return "it is the id of another topic: manager.Verify compares it with those of the others"
			case text[at] == ' ' || at > 0 && text[at-1] == ':':
				return "Kafka takes any white space, and none, behind the colon"
			}
			return ""
		}},
	} {
		t.Run(row.file, func(t *testing.T) {
			name := path.Join(w.dir, row.file)
			good := read(t, w.fs, name)
			require.NotEmpty(t, good)
			for at := range good {
				for bit := range 8 {
					bad := append([]byte(nil), good...)
					bad[at] ^= 1 << bit
					write(t, w.fs, name, bad)
					found := briefs(verifyAll(t, w.fs, w.dir, log.VerifyOptions{}), log.SeverityWarning)
					if len(found) == 0 && row.harmless != nil && row.harmless(good, at, bit) != "" {
						continue
					}
					assert.NotEmpty(t, found, "bit %d of byte %d", bit, at)
				}
			}
			write(t, w.fs, name, good)
		})
	}
	require.Empty(t, verifyAll(t, w.fs, w.dir, log.VerifyOptions{Deep: true}))
}

// TestVerifyFields flips one bit of each field that no checksum covers, in the batch in the middle, and names it.
func TestVerifyFields(t *testing.T) {
	w := threeBatches(t)
	name := path.Join(w.dir, name20(0)+segment.LogExt)
	good := read(t, w.fs, name)
	size := 12 + int(good[11]) + int(good[10])<<8
	for _, row := range []struct {
		field string
		at    int
		bit   byte
		want  string
	}{
		{"base offset, one more", 7, 1, "error OFFSET_ORDER"},
		{"base offset, far up", 3, 1, "error OFFSET_ORDER"},
		{"base offset, negative", 0, 0x80, "error OFFSET_ORDER"},
		{"size, larger", 10, 0x40, "error BATCH_INVALID"},
		{"size, smaller", 11, 1, "error CRC_MISMATCH"},
		{"leader epoch, above its neighbours'", 14, 1, "error HEADER_SUSPECT"},
		{"magic", 16, 0x40, "error BATCH_INVALID"},
		{"checksum", 17, 1, "error CRC_MISMATCH"},
		{"attributes", 22, 1, "error CRC_MISMATCH"},
		{"records", 70, 1, "error CRC_MISMATCH"},
	} {
		bad := append([]byte(nil), good...)
		bad[size+row.at] ^= row.bit
		write(t, w.fs, name, bad)
		found := verifyAll(t, w.fs, w.dir, log.VerifyOptions{})
		got := briefs(found, log.SeverityError)
		if assert.Len(t, got, 1, row.field) {
			assert.Equal(t, fmt.Sprintf("%s %s%s %d", row.want, name20(0), segment.LogExt, size), got[0], row.field)
			for _, f := range found {
				if f.Severity == log.SeverityError {
					assert.Equal(t, []int64{2, 4, 4}, []int64{f.FirstOffset, f.NextOffset, f.SeekTo}, row.field)
				}
			}
		}
	}
}
