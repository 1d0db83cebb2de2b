package checkpoint

// ID is one of Kafka's UUIDs: of a topic, or of a log directory.
type ID = [16]byte

// FormatID writes an ID as Kafka does: base64url without padding, 22 characters.
func FormatID(id ID) string { panic("skeleton") }

// ParseID reads what FormatID writes, also with its padding. Anything else is ErrCorrupt.
func ParseID(s string) (ID, error) { panic("skeleton") }
