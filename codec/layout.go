package codec

import (
	"encoding/binary"
	"hash/crc32"
)

// be is the byte order of all fixed-size integers.
var be = binary.BigEndian

// What all batches begin with.
const (
	offsetAt = 0
	sizeAt   = 8
	magicAt  = 16

	sizeOverhead = 12 // bytes of a batch that its size field does not count
	prefixBytes  = 17 // enough to tell size and magic
)

// The header of magic 2 behind that.
const (
	leaderEpochAt     = 12
	crcAt             = 17
	attributesAt      = 21 // the checksum begins here
	lastDeltaAt       = 23
	baseTimestampAt   = 27
	maxTimestampAt    = 35
	producerIDAt      = 43
	producerEpochAt   = 51
	baseSequenceAt    = 53
	countAt           = 57
	batchHeaderBytes  = MaxHeaderBytes
	minRecordBytes    = 7 // size, attributes, two deltas, null key, null value, no headers
	minRecordHdrBytes = 2 // an empty key and a null value
)

// A message of magic 0 and 1.
const (
	messageCRCAt        = 12
	messageAttributesAt = 17
	messageTimestampAt  = 18 // magic 1
	message0KeyAt       = 18
	message1KeyAt       = 26
	message0Bytes       = 26 // of a message with null key and value
	message1Bytes       = 34
	minWrapperBytes     = 64 // what is reserved for a wrapper before its payload is known
)

// castagnoli is the polynomial of magic 2's checksum; hash/crc32 has the instruction for it.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// minBytes is the size of the smallest batch of a magic; of an unknown one, of the smallest at all.
func minBytes(magic int8) int64 {
	switch magic {
	case 2:
		return batchHeaderBytes
	case 1:
		return message1Bytes
	}
	return message0Bytes
}

// newestMagic is Kafka's. Above are formats of other Codecs.
const newestMagic = 2
