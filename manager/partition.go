package manager

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// maxTopic is the longest topic: with a partition of ten digits it makes a name of 255 characters less some.
const maxTopic = 249

// Partition names a partition.
type Partition struct {
	Topic string // 1 to 249 of a–z A–Z 0–9 . _ -, and neither "." nor ".."
	ID    int32
}

// String is "orders-0".
func (p Partition) String() string { return p.Topic + "-" + strconv.FormatInt(int64(p.ID), 10) }

// ParsePartition reads what String writes. Anything else is ErrName: "orders-00" is, too, since it would be
// the same partition under a second name.
func ParsePartition(s string) (Partition, error) {
	i := strings.LastIndexByte(s, '-')
	if i < 0 {
		return Partition{}, nameError(s, "it does not end in a dash and a number")
	}
	id, err := strconv.ParseInt(s[i+1:], 10, 32)
	p := Partition{Topic: s[:i], ID: int32(id)}
	switch {
	case !validTopic(p.Topic):
		return Partition{}, nameError(s, "its topic is not one that Kafka allows")
	case err != nil || id < 0 || p.String() != s:
		return Partition{}, nameError(s, "its partition is no number")
	}
	return p, nil
}

// nameError is ErrName.
func nameError(name, reason string) error { return fmt.Errorf("%.300q: %s: %w", name, reason, ErrName) }

// validTopic reports whether Kafka allows a topic of that name.
func validTopic(topic string) bool {
	if topic == "" || topic == "." || topic == ".." || len(topic) > maxTopic {
		return false
	}
	for _, c := range []byte(topic) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (c < '0' || c > '9') && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

// Role says what a directory of a partition is for.
type Role uint8

// The roles.
const (
	Current  Role = iota
	Future        // being filled to take the current one's place: -future
	Stray         // not assigned to this node: -stray
	Deleting      // to be removed: -delete
)

// suffixes are what the names of directories end with, by Role.
var suffixes = [...]string{Current: "", Future: "-future", Stray: "-stray", Deleting: "-delete"}

// String is current, future, stray or deleting.
func (r Role) String() string {
	switch r {
	case Current:
		return "current"
	case Future:
		return "future"
	case Stray:
		return "stray"
	case Deleting:
		return "deleting"
	}
	return "role " + strconv.Itoa(int(r))
}

// parseDir reads the name of a partition's directory. Of a long topic that is to be deleted, or a stray one,
// the name has only the beginning.
func parseDir(name string) (Partition, Role, error) {
	for role := Future; role <= Deleting; role++ {
		rest, ok := strings.CutSuffix(name, suffixes[role])
		if !ok {
			continue
		}
		i := strings.LastIndexByte(rest, '.')
		if i < 0 || i == len(rest)-1 || strings.ContainsFunc(rest, unicode.IsSpace) {
			return Partition{}, role, nameError(name, "it has no id before "+suffixes[role])
		}
		p, err := ParsePartition(rest[:i])
		return p, role, err
	}
	p, err := ParsePartition(name)
	return p, Current, err
}
