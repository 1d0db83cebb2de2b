package codec_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
)

func TestMarkers(t *testing.T) { // C49, C66, C107
	for _, commit := range []bool{true, false} {
		h := header(2, func(h *codec.Header) { h.BaseOffset, h.LeaderEpoch, h.ProducerID, h.ProducerEpoch = 17, 4, 42, 3 })
		want := codec.Marker{Commit: commit, CoordinatorEpoch: 12}
		batch, err := codec.AppendMarker([]byte("before"), h, want, 1000)
		require.NoError(t, err)
		batch = batch[len("before"):]
		require.Len(t, batch, 78)

		got, err := codec.Kafka().Header(batch)
		require.NoError(t, err)
		require.True(t, got.Attributes.Control() && got.Attributes.Transactional() && !got.Attributes.LogAppendTime())
		require.Equal(t, codec.None, got.Attributes.Compression())
		require.Equal(t, []any{int64(17), int64(17), int32(4), int64(42), int16(3), codec.NoSequence},
			[]any{got.BaseOffset, got.LastOffset, got.LeaderEpoch, got.ProducerID, got.ProducerEpoch, got.BaseSequence})
		recs := readAll(t, batch)
		require.Len(t, recs, 1)
		require.Equal(t, int64(1000), recs[0].Timestamp)
		marker, err := codec.ReadMarker(recs[0])
		require.NoError(t, err)
		require.Equal(t, want, marker)
	}
}

func TestMarkerNeedsProducer(t *testing.T) { // C22
	for _, h := range []codec.Header{
		codec.NewHeader(2),
		header(2, func(h *codec.Header) { h.ProducerID = 7 }),
		header(2, func(h *codec.Header) { h.ProducerEpoch = 7 }),
	} {
		_, err := codec.AppendMarker(nil, h, codec.Marker{}, 0)
		require.ErrorIs(t, err, codec.ErrInvalid)
	}
}

func TestReadControl(t *testing.T) { // C71, M-22
	for _, row := range []struct {
		name, key string
		want      codec.ControlType
		err       error
	}{
		{"abort", "0000 0000", codec.ControlAbort, nil},
		{"commit", "0000 0001", codec.ControlCommit, nil},
		{"leader change", "0000 0002", codec.ControlLeaderChange, nil},
		{"snapshot header", "0000 0003", codec.ControlSnapshotHeader, nil},
		{"snapshot footer", "0000 0004", codec.ControlSnapshotFooter, nil},
		{"KRaft version", "0000 0005", codec.ControlKRaftVersion, nil},
		{"KRaft voters", "0000 0006", codec.ControlKRaftVoters, nil},
		{"unknown", "0000 0007", codec.ControlUnknown, nil},
		{"negative", "0000 ffff", codec.ControlUnknown, nil},
		{"version 5, longer", "0005 0001 0000", codec.ControlCommit, nil},
		{"three bytes", "000000", codec.ControlUnknown, codec.ErrInvalid},
		{"null", "", codec.ControlUnknown, codec.ErrInvalid},
		{"version -1", "ffff 0001", codec.ControlUnknown, codec.ErrInvalid},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := codec.ReadControl(unhex(t, row.key))
			require.ErrorIs(t, err, row.err)
			require.Equal(t, row.want, got)
		})
	}
}

func TestReadMarker(t *testing.T) { // C71
	for _, row := range []struct {
		name, key, value string
		want             codec.Marker
		err              error
	}{
		{"commit", "0000 0001", "0000 00000007", codec.Marker{Commit: true, CoordinatorEpoch: 7}, nil},
		{"abort", "0000 0000", "0000 ffffffff", codec.Marker{CoordinatorEpoch: -1}, nil},
		{"newer and longer", "0000 0001", "0009 7fffffff 0102", codec.Marker{Commit: true, CoordinatorEpoch: math.MaxInt32}, nil},
		{"too short", "0000 0001", "0000 000000", codec.Marker{}, codec.ErrInvalid},
		{"version -1", "0000 0001", "ffff 00000007", codec.Marker{}, codec.ErrInvalid},
		{"leader change", "0000 0002", "0000 00000007", codec.Marker{}, codec.ErrInvalid},
		{"unknown", "0000 0009", "0000 00000007", codec.Marker{}, codec.ErrInvalid},
		{"short key", "0000", "0000 00000007", codec.Marker{}, codec.ErrInvalid},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := codec.ReadMarker(codec.Record{Key: unhex(t, row.key), Value: unhex(t, row.value)})
			require.ErrorIs(t, err, row.err)
			require.Equal(t, row.want, got)
		})
	}
}
