package codec

import "bytes"

// breakLZ4 puts the header checksum of KAFKA-3160 into the frame that b begins with: it is what Kafka writes
// into wrappers of magic 0.
func breakLZ4(b []byte) {
	if at, _, legacy, err := lz4HeaderChecksum(b); err == nil {
		b[at] = legacy
	}
}

// mendLZ4 returns b with the right header checksum, whatever is there: in wrappers of magic 0 Kafka does not
// look at it.
func mendLZ4(b []byte) []byte {
	at, right, _, err := lz4HeaderChecksum(b)
	if err != nil || b[at] == right {
		return b
	}
	b = bytes.Clone(b)
	b[at] = right
	return b
}
