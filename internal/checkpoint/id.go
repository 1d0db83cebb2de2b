package checkpoint

import (
	"encoding/base64"
	"fmt"
	"strings"
)

// ID is one of Kafka's UUIDs: of a topic, or of a log directory.
type ID = [16]byte

// idEncoding refuses bits behind the 128 that count: no writer sets them.
var idEncoding = base64.RawURLEncoding.Strict()

// FormatID writes an ID as Kafka does: base64url without padding, 22 characters.
func FormatID(id ID) string { return idEncoding.EncodeToString(id[:]) }

// ParseID reads what FormatID writes, also with its padding. Anything else is ErrCorrupt.
func ParseID(s string) (ID, error) {
	bare := strings.TrimSuffix(s, "==")
	if len(bare) != idEncoding.EncodedLen(len(ID{})) {
		return ID{}, fmt.Errorf("%.40q is no id: %w", s, ErrCorrupt)
	}
	b, err := idEncoding.DecodeString(bare)
	if err != nil || len(b) != len(ID{}) {
		return ID{}, fmt.Errorf("%.40q is no id: %w", s, ErrCorrupt)
	}
	return ID(b), nil
}
