package codec_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/internal/fixture"
)

// kraftValues are values of KRaft's control records. The first two, Kafka wrote; the others were put together
// from the schemas of its messages.
var kraftValues = []struct {
	name, key, value string
	read             func(codec.Record) (any, error)
	want             any
}{
	{
		"leader change", "00000002", "0000 00000001 02 00000001 00 02 00000001 00 00", reader(codec.ReadLeaderChange),
		codec.LeaderChange{LeaderID: 1, Voters: []codec.LeaderVoter{{ID: 1}}, GrantingVoters: []codec.LeaderVoter{{ID: 1}}},
	},
	{
		"snapshot header", "00000003", "0000 000001a22a0bf5e1 00", reader(codec.ReadSnapshotHeader),
		codec.SnapshotHeader{LastContainedLogTimestamp: 1796001756641},
	},
	{"snapshot footer", "00000004", "0000 00", reader(codec.ReadSnapshotFooter), codec.SnapshotFooter{}},
	{"KRaft version", "00000005", "0000 0001 00", reader(codec.ReadKRaftVersion), codec.KRaftVersion{KRaftVersion: 1}},
	{
		"leader change of version 1", "00000002",
		"0001 00000003 03 00000001 00112233445566778899aabbccddeeff 00 00000003 00000000000000000000000000000000 01 05 02 beef 01 00",
		reader(codec.ReadLeaderChange),
		codec.LeaderChange{Version: 1, LeaderID: 3, Voters: []codec.LeaderVoter{
			{ID: 1, Directory: [16]byte{0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff}},
			{ID: 3},
		}},
	},
	{
		"voters", "00000006",
		"0000 02 00000001 00112233445566778899aabbccddeeff 02 04 535344 05 686f7374 2384 00 0000 0001 00 00 00",
		reader(codec.ReadKRaftVoters),
		codec.KRaftVoters{Voters: []codec.KRaftVoter{{
			ID: 1, Directory: [16]byte{0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff},
			Endpoints: []codec.KRaftEndpoint{{Name: "SSD", Host: "host", Port: 9092}}, MaxVersion: 1,
		}}},
	},
}

// reader is read for a table of several types.
func reader[T any](read func(codec.Record) (T, error)) func(codec.Record) (any, error) {
	return func(r codec.Record) (any, error) { return read(r) }
}

func TestKRaftValues(t *testing.T) {
	for _, row := range kraftValues {
		t.Run(row.name, func(t *testing.T) {
			r := codec.Record{Key: unhex(t, row.key), Value: unhex(t, row.value)}
			got, err := row.read(r)
			require.NoError(t, err)
			require.Equal(t, row.want, got)

			whole := r.Value
			for n := range len(whole) - 1 { // the last byte, no tagged fields, is not needed
				r.Value = whole[:n]
				_, err := row.read(r)
				require.ErrorIs(t, err, codec.ErrInvalid, "%d of %d bytes", n, len(whole))
			}
			for _, other := range kraftValues {
				if other.key != row.key {
					_, err := other.read(codec.Record{Key: r.Key, Value: whole})
					require.ErrorIs(t, err, codec.ErrInvalid, "as a %s", other.name)
				}
			}
		})
	}
}

// TestKRaftGolden reads the control records of a KRaft log and its snapshots.
func TestKRaftGolden(t *testing.T) {
	dir := fixture.Golden(t, "4.4.0/kraft-metadata")
	read := map[string]int{}
	for _, w := range fixture.Records(t, filepath.Join(dir, "expected", "records.jsonl")) {
		for _, row := range kraftValues {
			kind, err := codec.ReadControl(unhex(t, row.key))
			require.NoError(t, err)
			if !w.Control || codec.ControlType(w.Key.Data[3]) != kind {
				continue
			}
			_, err = row.read(codec.Record{Key: w.Key.Data, Value: w.Value.Data})
			require.NoError(t, err)
			read[w.ControlType]++
			break
		}
	}
	require.Contains(t, read, "LEADER_CHANGE")
}
