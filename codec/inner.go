package codec

import (
	"fmt"
	"hash/crc32"
)

// InnerVerifier is a Codec whose batches have checksums that neither Verify nor Records looks at. Kafka's is
// one: it verifies the checksums of the messages in a wrapper of magic 0 and 1 when a client sends it, but
// not when a follower copies it, and never when it is read. So there are logs with wrappers that every Kafka
// reads and none would take.
type InnerVerifier interface {
	Codec

	// VerifyInner checks those checksums in exactly one batch. Where it has none, nothing is inflated.
	//
	//   - One that does not fit is ErrInnerChecksum, and the text has both.
	//   - The batch need not be verified. Where it cannot be read, the error is that of Records.
	VerifyInner(batch []byte) error
}

var _ InnerVerifier = (*kafka)(nil)

// VerifyInner implements InnerVerifier.
func (k *kafka) VerifyInner(batch []byte) error {
	var h Header
	if err := k.whole(&h, batch); err != nil {
		return err
	}
	if h.Magic == 2 || h.Attributes.Compression() == None {
		return nil
	}
	payload, err := wrapperPayload(&h, batch)
	if err != nil {
		return err
	}
	run, done, err := k.inflate(h.Attributes.Compression(), payload)
	if err != nil {
		return err
	}
	defer done()
	var w wrapped
	for i := 0; ; i++ {
		rest, err := w.next(run)
		if err != nil || rest == nil {
			return err
		}
		if crc := crc32.ChecksumIEEE(w.message[magicAt:]); crc != w.header.CRC {
			return fmt.Errorf("message %d in a wrapper: checksum %08x, stored %08x: %w", i, crc, w.header.CRC, ErrInnerChecksum)
		}
		run = rest
	}
}
