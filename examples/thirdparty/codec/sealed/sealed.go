// Package sealed is a record format of a user's own: Kafka's batches with their records encrypted by AES-GCM.
//
// A sealed batch has the header of magic 2, in clear, with a magic of its own, and behind it one sealed run:
// nonce, records (compressed, if the attributes say so) and tag. What Restamp may change is not authenticated.
package sealed

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"iter"

	"github.com/stratalog/strata/codec"
)

// Magic is that of sealed batches.
const Magic int8 = 101

// Where the fields of the header lie: as in magic 2.
const (
	sizeAt, epochAt, magicAt, crcAt, attributesAt = 8, 12, 16, 17, 21
	deltaAt, baseTimeAt, maxTimeAt, producerAt    = 23, 27, 35, 43
	producerEpochAt, sequenceAt, countAt          = 51, 53, 57
	headerBytes, sizeOverhead                     = codec.MaxHeaderBytes, 12
)

var (
	be         = binary.BigEndian
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// Codec is a codec.Codec for Magic. All other batches are Kafka's.
type Codec struct {
	codec.Codec // Kafka's
	aead        cipher.AEAD
}

var _ codec.Validator = (*Codec)(nil)

// New returns a Codec with a key of 16, 24 or 32 bytes.
func New(key []byte) (*Codec, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	return &Codec{Codec: codec.Kafka(), aead: aead}, nil
}

// isSealed reports that b begins with a batch of Magic.
func isSealed(b []byte) bool { return len(b) > magicAt && int8(b[magicAt]) == Magic }

// Header implements codec.Codec.
func (c *Codec) Header(b []byte) (codec.Header, error) {
	if !isSealed(b) {
		return c.Codec.Header(b)
	}
	size := int64(int32(be.Uint32(b[sizeAt:]))) + sizeOverhead
	if size < headerBytes {
		return codec.Header{}, fmt.Errorf("size %d of a sealed batch: %w", size, codec.ErrCorrupt)
	}
	if int64(int(size)) != size {
		return codec.Header{}, codec.ErrTooLarge
	}
	if len(b) < headerBytes {
		return codec.Header{}, codec.ErrShort
	}
	h := codec.Header{
		BaseOffset: int64(be.Uint64(b)), Size: int(size), Magic: Magic, CRC: be.Uint32(b[crcAt:]),
		Attributes:    codec.Attributes(be.Uint16(b[attributesAt:])),
		BaseTimestamp: int64(be.Uint64(b[baseTimeAt:])), MaxTimestamp: int64(be.Uint64(b[maxTimeAt:])),
		Count: int(int32(be.Uint32(b[countAt:]))), LeaderEpoch: int32(be.Uint32(b[epochAt:])),
		ProducerID: int64(be.Uint64(b[producerAt:])), ProducerEpoch: int16(be.Uint16(b[producerEpochAt:])),
		BaseSequence: int32(be.Uint32(b[sequenceAt:])),
	}
	h.LastOffset = h.BaseOffset + int64(int32(be.Uint32(b[deltaAt:])))
	return h, nil
}

// whole is Header of exactly one batch.
func (c *Codec) whole(batch []byte) (codec.Header, error) {
	h, err := c.Header(batch)
	switch {
	case err != nil:
		return h, err
	case len(batch) < h.Size:
		return h, codec.ErrShort
	case len(batch) > h.Size:
		return h, fmt.Errorf("%d bytes behind a sealed batch: %w", len(batch)-h.Size, codec.ErrCorrupt)
	}
	return h, nil
}

// Verify implements codec.Codec. Whether the records were tampered with, Records finds.
func (c *Codec) Verify(batch []byte) error {
	if !isSealed(batch) {
		return c.Codec.Verify(batch)
	}
	h, err := c.whole(batch)
	if err != nil {
		return err
	}
	if crc := crc32.Checksum(batch[attributesAt:], castagnoli); crc != h.CRC {
		return fmt.Errorf("checksum %08x, stored %08x: %w", crc, h.CRC, codec.ErrChecksum)
	}
	if h.BaseOffset < 0 || h.LastOffset < h.BaseOffset || h.Count < 0 {
		return fmt.Errorf("%d records in [%d, %d]: %w", h.Count, h.BaseOffset, h.LastOffset, codec.ErrCorrupt)
	}
	return nil
}

// Records implements codec.Codec.
func (c *Codec) Records(batch []byte) iter.Seq2[codec.Record, error] {
	if !isSealed(batch) {
		return c.Codec.Records(batch)
	}
	plain, err := c.open(batch)
	if err != nil {
		return func(yield func(codec.Record, error) bool) { yield(codec.Record{}, err) }
	}
	return c.Codec.Records(plain)
}

// open is the batch of magic 2 that was sealed.
func (c *Codec) open(batch []byte) ([]byte, error) {
	if _, err := c.whole(batch); err != nil {
		return nil, err
	}
	plain := append(make([]byte, 0, len(batch)), batch[:headerBytes]...)
	if len(batch) > headerBytes {
		var err error
		if plain, err = c.aead.Open(plain, nil, batch[headerBytes:], bound(batch)); err != nil {
			return nil, fmt.Errorf("sealed records: %w: %w", codec.ErrCorrupt, err)
		}
	}
	plain[magicAt] = 2
	finish(plain)
	return plain, nil
}

// bound is what of the header is authenticated: all that Restamp leaves alone.
func bound(batch []byte) []byte {
	b := append([]byte(nil), batch[attributesAt:maxTimeAt]...)
	be.PutUint16(b, be.Uint16(b)&^uint16(codec.LogAppendTimeBit))
	return append(b, batch[producerAt:headerBytes]...)
}

// finish fills size and checksum.
func finish(batch []byte) {
	be.PutUint32(batch[sizeAt:], uint32(len(batch)-sizeOverhead))
	be.PutUint32(batch[crcAt:], crc32.Checksum(batch[attributesAt:], castagnoli))
}

// seal appends a batch of magic 2, sealed, to dst.
func (c *Codec) seal(dst, plain []byte) []byte {
	start := len(dst)
	dst = append(dst, plain[:headerBytes]...)
	dst[start+magicAt] = byte(Magic)
	if len(plain) > headerBytes {
		dst = c.aead.Seal(dst, nil, plain[headerBytes:], bound(plain))
	}
	finish(dst[start:])
	return dst
}

// Append implements codec.Codec.
func (c *Codec) Append(dst []byte, h codec.Header, recs []codec.Record) ([]byte, error) {
	if h.Magic != Magic {
		return c.Codec.Append(dst, h, recs)
	}
	h.Magic = 2
	plain, err := c.Codec.Append(nil, h, recs)
	if err != nil {
		return dst, err
	}
	return c.seal(dst, plain), nil
}

// Restamp implements codec.Codec. It needs no key: nothing that it changes is sealed.
func (c *Codec) Restamp(batch []byte, s codec.Stamp) error {
	if !isSealed(batch) {
		return c.Codec.Restamp(batch, s)
	}
	h, err := c.whole(batch)
	if err != nil {
		return err
	}
	base := s.LastOffset - (h.LastOffset - h.BaseOffset)
	if s.LastOffset < 0 || base < 0 || base > s.LastOffset {
		return fmt.Errorf("last offset %d: %w", s.LastOffset, codec.ErrInvalid)
	}
	be.PutUint64(batch, uint64(base))
	be.PutUint32(batch[epochAt:], uint32(s.LeaderEpoch))
	attributes := h.Attributes &^ codec.LogAppendTimeBit
	if s.LogAppendTime {
		attributes |= codec.LogAppendTimeBit
	}
	if attributes != h.Attributes || s.MaxTimestamp != h.MaxTimestamp {
		be.PutUint16(batch[attributesAt:], uint16(attributes))
		be.PutUint64(batch[maxTimeAt:], uint64(s.MaxTimestamp))
		finish(batch)
	}
	return nil
}

// Validate implements codec.Validator: what a log appends as leader comes in magic 2, and is stored sealed.
func (c *Codec) Validate(dst, batches []byte, r codec.Rules) (codec.Validated, error) {
	plain := batches
	if isSealed(batches) {
		var err error
		if err = c.Verify(batches); err == nil {
			plain, err = c.open(batches)
		}
		if err != nil {
			return codec.Validated{}, err
		}
	}
	v, err := codec.Validate(c.Codec, nil, plain, r)
	if err != nil || r.Magic != 2 {
		return v, err
	}
	v.Batches, v.InPlace = c.seal(dst, v.Batches)[len(dst):], false
	return v, nil
}
