package cli

import (
	"bytes"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/internal/checkpoint"
)

// kraftMessages are Kafka's names of the messages in the control records of KRaft, and how they are read into its JSON.
var kraftMessages = map[codec.ControlType]struct {
	name string
	read func(codec.Record) (any, error)
}{
	codec.ControlLeaderChange:   {"LeaderChange:", kraft(codec.ReadLeaderChange, newLeaderChangeJSON)},
	codec.ControlSnapshotHeader: {"SnapshotHeader", kraft(codec.ReadSnapshotHeader, func(v codec.SnapshotHeader) snapshotHeaderJSON { return snapshotHeaderJSON(v) })},
	codec.ControlSnapshotFooter: {"SnapshotFooter", kraft(codec.ReadSnapshotFooter, func(v codec.SnapshotFooter) snapshotFooterJSON { return snapshotFooterJSON(v) })},
	codec.ControlKRaftVersion:   {"KRaftVersion", kraft(codec.ReadKRaftVersion, func(v codec.KRaftVersion) kraftVersionJSON { return kraftVersionJSON(v) })},
	codec.ControlKRaftVoters:    {"KRaftVoters", kraft(codec.ReadKRaftVoters, newKRaftVotersJSON)},
}

// kraft reads a message, and makes Kafka's JSON of it.
func kraft[V, J any](read func(codec.Record) (V, error), show func(V) J) func(codec.Record) (any, error) {
	return func(r codec.Record) (any, error) {
		v, err := read(r)
		return show(v), err
	}
}

// appendKRaft appends to line what a control record of KRaft says, as kafka-dump-log does: Kafka's name of the message,
// and the message as Kafka's JSON. ok is false where r is none of them, or cannot be read.
func appendKRaft(line []byte, kind codec.ControlType, r codec.Record) (longer []byte, ok bool) {
	m, ok := kraftMessages[kind]
	if !ok {
		return line, false
	}
	message, err := m.read(r)
	if err != nil {
		return line, false
	}
	var text bytes.Buffer
	if err := jsonLines(&text).Encode(message); err != nil {
		return line, false
	}
	line = append(append(line, ' '), m.name...)
	return append(append(line, ' '), bytes.TrimSuffix(text.Bytes(), []byte("\n"))...), true
}

// The messages in Kafka's JSON: its names, in the order of its schemas.
type (
	leaderChangeJSON struct {
		Version        int16             `json:"version"`
		LeaderID       int32             `json:"leaderId"`
		Voters         []leaderVoterJSON `json:"voters"`
		GrantingVoters []leaderVoterJSON `json:"grantingVoters"`
	}
	leaderVoterJSON struct {
		ID        int32  `json:"voterId"`
		Directory string `json:"voterDirectoryId,omitempty"` // from version 1 on
	}
	snapshotHeaderJSON struct {
		Version                   int16 `json:"version"`
		LastContainedLogTimestamp int64 `json:"lastContainedLogTimestamp"`
	}
	snapshotFooterJSON struct {
		Version int16 `json:"version"`
	}
	kraftVersionJSON struct {
		Version      int16 `json:"version"`
		KRaftVersion int16 `json:"kRaftVersion"`
	}
	kraftVotersJSON struct {
		Version int16            `json:"version"`
		Voters  []kraftVoterJSON `json:"voters"`
	}
	kraftVoterJSON struct {
		ID        int32               `json:"voterId"`
		Directory string              `json:"voterDirectoryId"`
		Endpoints []kraftEndpointJSON `json:"endpoints"`
		Feature   kraftFeatureJSON    `json:"kRaftVersionFeature"`
	}
	kraftEndpointJSON struct {
		Name string `json:"name"`
		Host string `json:"host"`
		Port uint16 `json:"port"`
	}
	kraftFeatureJSON struct {
		Min int16 `json:"minSupportedVersion"`
		Max int16 `json:"maxSupportedVersion"`
	}
)

func newLeaderChangeJSON(v codec.LeaderChange) leaderChangeJSON {
	voters := func(all []codec.LeaderVoter) []leaderVoterJSON {
		out := make([]leaderVoterJSON, len(all))
		for i, voter := range all {
			out[i].ID = voter.ID
			if v.Version > 0 {
				out[i].Directory = checkpoint.FormatID(voter.Directory)
			}
		}
		return out
	}
	return leaderChangeJSON{v.Version, v.LeaderID, voters(v.Voters), voters(v.GrantingVoters)}
}

func newKRaftVotersJSON(v codec.KRaftVoters) kraftVotersJSON {
	out := kraftVotersJSON{Version: v.Version, Voters: make([]kraftVoterJSON, len(v.Voters))}
	for i, voter := range v.Voters {
		endpoints := make([]kraftEndpointJSON, len(voter.Endpoints))
		for j, e := range voter.Endpoints {
			endpoints[j] = kraftEndpointJSON(e)
		}
		out.Voters[i] = kraftVoterJSON{voter.ID, checkpoint.FormatID(voter.Directory), endpoints, kraftFeatureJSON{voter.MinVersion, voter.MaxVersion}}
	}
	return out
}
