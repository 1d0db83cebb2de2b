package codec

import (
	"encoding/binary"
	"fmt"
	"math"
)

// LeaderChange is the value of a ControlLeaderChange record: the leader of a KRaft log, who wrote it, and
// those who elected it.
type LeaderChange struct {
	Version        int16
	LeaderID       int32
	Voters         []LeaderVoter
	GrantingVoters []LeaderVoter
}

// LeaderVoter is a voter in a LeaderChange.
type LeaderVoter struct {
	ID        int32
	Directory [16]byte // from version 1 on
}

// SnapshotHeader is the value of a ControlSnapshotHeader record, with which a KRaft snapshot begins.
type SnapshotHeader struct {
	Version                   int16
	LastContainedLogTimestamp int64 // ms
}

// SnapshotFooter is the value of a ControlSnapshotFooter record, with which a KRaft snapshot ends.
type SnapshotFooter struct {
	Version int16
}

// KRaftVersion is the value of a ControlKRaftVersion record.
type KRaftVersion struct {
	Version      int16
	KRaftVersion int16
}

// KRaftVoters is the value of a ControlKRaftVoters record.
type KRaftVoters struct {
	Version int16
	Voters  []KRaftVoter
}

// KRaftVoter is a voter in KRaftVoters.
type KRaftVoter struct {
	ID                     int32
	Directory              [16]byte
	Endpoints              []KRaftEndpoint
	MinVersion, MaxVersion int16 // of KRaft that it supports
}

// KRaftEndpoint is where a KRaftVoter listens.
type KRaftEndpoint struct {
	Name, Host string
	Port       uint16
}

// The functions below read a control record whose type is theirs. Another type, or a value that ends early, is
// ErrInvalid; what is behind the fields that are known is left alone.

// ReadLeaderChange reads a ControlLeaderChange record, by the version that it says it has. Kafka up to 4.4 writes
// version 0, and reads any as that.
func ReadLeaderChange(r Record) (LeaderChange, error) {
	f, err := openControl(r, ControlLeaderChange)
	v := LeaderChange{Version: f.int16(), LeaderID: f.int32()}
	v.Voters = readArray(&f, func() LeaderVoter { return f.leaderVoter(v.Version) })
	v.GrantingVoters = readArray(&f, func() LeaderVoter { return f.leaderVoter(v.Version) })
	return checked(v, &f, err)
}

// ReadSnapshotHeader reads a ControlSnapshotHeader record.
func ReadSnapshotHeader(r Record) (SnapshotHeader, error) {
	f, err := openControl(r, ControlSnapshotHeader)
	return checked(SnapshotHeader{Version: f.int16(), LastContainedLogTimestamp: f.int64()}, &f, err)
}

// ReadSnapshotFooter reads a ControlSnapshotFooter record.
func ReadSnapshotFooter(r Record) (SnapshotFooter, error) {
	f, err := openControl(r, ControlSnapshotFooter)
	return checked(SnapshotFooter{Version: f.int16()}, &f, err)
}

// ReadKRaftVersion reads a ControlKRaftVersion record.
func ReadKRaftVersion(r Record) (KRaftVersion, error) {
	f, err := openControl(r, ControlKRaftVersion)
	return checked(KRaftVersion{Version: f.int16(), KRaftVersion: f.int16()}, &f, err)
}

// ReadKRaftVoters reads a ControlKRaftVoters record.
func ReadKRaftVoters(r Record) (KRaftVoters, error) {
	f, err := openControl(r, ControlKRaftVoters)
	v := KRaftVoters{Version: f.int16()}
	v.Voters = readArray(&f, func() KRaftVoter {
		voter := KRaftVoter{ID: f.int32(), Directory: f.uuid()}
		voter.Endpoints = readArray(&f, func() KRaftEndpoint {
			e := KRaftEndpoint{Name: f.string(), Host: f.string(), Port: uint16(f.int16())}
			f.tags()
			return e
		})
		voter.MinVersion, voter.MaxVersion = f.int16(), f.int16()
		f.tags() // of the versions, which are a structure
		f.tags()
		return voter
	})
	return checked(v, &f, err)
}

// openControl returns the fields of a control record's value.
func openControl(r Record, want ControlType) (flexible, error) {
	kind, err := ReadControl(r.Key)
	if err == nil && kind != want {
		err = fmt.Errorf("control record of type %d, not %d: %w", kind, want, ErrInvalid)
	}
	return flexible{b: r.Value}, err
}

// checked is v, or nothing where there is an error.
func checked[T any](v T, f *flexible, err error) (T, error) {
	if err == nil && f.short {
		err = fmt.Errorf("control record ends early: %w", ErrInvalid)
	}
	if err != nil {
		var none T
		return none, err
	}
	return v, nil
}

// flexible reads the fields of a message of Kafka's protocol in its flexible form: sizes are unsigned varints,
// one more than they are, and behind each structure come tagged fields. Once short, it reads zeros.
type flexible struct {
	b     []byte
	short bool
}

// take cuts n bytes.
func (f *flexible) take(n int) []byte {
	if n > len(f.b) {
		f.short = true
		f.b = nil
		return make([]byte, min(n, 16)) // for the integers and the uuid
	}
	b := f.b[:n]
	f.b = f.b[n:]
	return b
}

func (f *flexible) int16() int16 { return int16(be.Uint16(f.take(2))) }
func (f *flexible) int32() int32 { return int32(be.Uint32(f.take(4))) }
func (f *flexible) int64() int64 { return int64(be.Uint64(f.take(8))) }

func (f *flexible) uuid() (id [16]byte) {
	copy(id[:], f.take(len(id)))
	return id
}

// uvarint reads a size or a tag.
func (f *flexible) uvarint() int {
	v, n := binary.Uvarint(f.b)
	if n <= 0 || v > math.MaxInt32 {
		f.short = true
		f.b = nil
		return 0
	}
	f.b = f.b[n:]
	return int(v)
}

// string reads a string; null, which none of the fields may be, is empty.
func (f *flexible) string() string {
	n := f.uvarint() - 1
	if n <= 0 {
		return ""
	}
	b := f.take(n)
	if f.short {
		return ""
	}
	return string(b)
}

// tags passes over tagged fields, of which none is known.
func (f *flexible) tags() {
	for range f.uvarint() {
		f.uvarint()
		f.take(f.uvarint())
		if f.short {
			return
		}
	}
}

func (f *flexible) leaderVoter(version int16) LeaderVoter {
	v := LeaderVoter{ID: f.int32()}
	if version > 0 {
		v.Directory = f.uuid()
	}
	f.tags()
	return v
}

// readArray reads an array of what element reads.
func readArray[T any](f *flexible, element func() T) (all []T) {
	for range f.uvarint() - 1 {
		v := element()
		if f.short {
			return nil
		}
		all = append(all, v)
	}
	return all
}
