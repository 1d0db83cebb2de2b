package cli_test

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
)

// TestDumpControl compares dump -o kafka of control records with what kafka-dump-log of Kafka 4.4.0 printed of the same
// bytes.
func TestDumpControl(t *testing.T) {
	rows := []struct{ key, value, want string }{
		{
			"00000002", "0000 00000007 03 00000001 00 00000002 00 02 00000001 00 00",
			`LeaderChange: {"version":0,"leaderId":7,"voters":[{"voterId":1},{"voterId":2}],"grantingVoters":[{"voterId":1}]}`,
		},
		{"00000002", "0000 ffffffff 01 01 00", `LeaderChange: {"version":0,"leaderId":-1,"voters":[],"grantingVoters":[]}`},
		{"00000003", "0000 000001a22a0bf5e1 00", `SnapshotHeader {"version":0,"lastContainedLogTimestamp":1796001756641}`},
		{"00000003", "0000 ffffffffffffffff 00", `SnapshotHeader {"version":0,"lastContainedLogTimestamp":-1}`},
		{"00000003", "0001 0000000000000007 00", `SnapshotHeader {"version":1,"lastContainedLogTimestamp":7}`},
		{"00000004", "0000 00", `SnapshotFooter {"version":0}`},
		{"00000005", "0000 0001 00", `KRaftVersion {"version":0,"kRaftVersion":1}`},
		{"00000005", "0003 0001 00", `KRaftVersion {"version":3,"kRaftVersion":1}`},
		{
			"00000006", `0000 03 00000001 00112233445566778899aabbccddeeff 02 04535344 05686f7374 2384 00 0000 0001 00 00
			00000002 fbffbf3f0203fefdfcfb112233445566 03 0443225c 0668c3a90a01 ffff 00 0244 01 0001 00 0000 0001 00 00 00`,
			`KRaftVoters {"version":0,"voters":[{"voterId":1,"voterDirectoryId":"ABEiM0RVZneImaq7zN3u_w",` +
				`"endpoints":[{"name":"SSD","host":"host","port":9092}],"kRaftVersionFeature":{"minSupportedVersion":0,"maxSupportedVersion":1}},` +
				`{"voterId":2,"voterDirectoryId":"-_-_PwID_v38-xEiM0RVZg","endpoints":[{"name":"C\"\\","host":"hé\n\u0001","port":65535},` +
				`{"name":"D","host":"","port":1}],"kRaftVersionFeature":{"minSupportedVersion":0,"maxSupportedVersion":1}}]}`,
		},
		{"00000006", "0000 01 00", `KRaftVoters {"version":0,"voters":[]}`},
		{"00000009", "616263", "controlType: UNKNOWN(9)"},
		{"00000000", "0000 00000005", "endTxnMarker: ABORT coordinatorEpoch: 5"},
		{"00000001", "0000 00000005", "endTxnMarker: COMMIT coordinatorEpoch: 5"},
	}
	var log []byte
	for i, row := range rows {
		h := codec.NewHeader(2)
		h.BaseOffset, h.LastOffset, h.LeaderEpoch, h.Attributes = int64(i), int64(i), 0, codec.ControlBit
		record := codec.Record{Offset: int64(i), Timestamp: 1000, Key: fromHex(t, row.key), Value: fromHex(t, row.value)}
		var err error
		log, err = codec.Kafka().Append(log, h, []codec.Record{record})
		require.NoError(t, err)
	}
	file := filepath.Join(t.TempDir(), "00000000000000000000.log")
	require.NoError(t, os.WriteFile(file, log, 0o600))
	got := run(t, "", "dump", "-o", "kafka", "--deep-iteration", "--print-data-log", file)
	require.Zero(t, got.status, got.errs)
	var said []string
	for line := range strings.Lines(got.out) {
		if strings.HasPrefix(line, "| ") {
			_, text, _ := strings.Cut(line, "headerKeys: [] ")
			said = append(said, strings.TrimSuffix(text, "\n"))
		}
	}
	require.Len(t, said, len(rows))
	for i, row := range rows {
		require.Equal(t, row.want, said[i])
	}
}

// fromHex decodes hexadecimal digits with white space between them.
func fromHex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	require.NoError(t, err)
	return b
}
