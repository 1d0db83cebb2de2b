package conformance_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/examples/thirdparty/codec/sealed"
)

// twistCodec is Kafka's Codec with some methods replaced; nil ones are Kafka's own.
type twistCodec struct {
	codec.Codec

	header  func(b []byte) (codec.Header, error)
	verify  func(batch []byte) error
	records func(batch []byte, yield func(codec.Record, error) bool)
	append  func(dst []byte, h codec.Header, recs []codec.Record) ([]byte, error)
	restamp func(batch []byte, s codec.Stamp) error
}

func (t *twistCodec) Header(b []byte) (codec.Header, error) {
	if t.header != nil {
		return t.header(b)
	}
	return t.Codec.Header(b)
}

func (t *twistCodec) Verify(batch []byte) error {
	if t.verify != nil {
		return t.verify(batch)
	}
	return t.Codec.Verify(batch)
}

func (t *twistCodec) Records(batch []byte) iter.Seq2[codec.Record, error] {
	if t.records != nil {
		return func(yield func(codec.Record, error) bool) { t.records(batch, yield) }
	}
	return t.Codec.Records(batch)
}

func (t *twistCodec) Append(dst []byte, h codec.Header, recs []codec.Record) ([]byte, error) {
	if t.append != nil {
		return t.append(dst, h, recs)
	}
	return t.Codec.Append(dst, h, recs)
}

func (t *twistCodec) Restamp(batch []byte, s codec.Stamp) error {
	if t.restamp != nil {
		return t.restamp(batch, s)
	}
	return t.Codec.Restamp(batch, s)
}

// makeCodec makes a Codec.
type makeCodec func() codec.Codec

// onKafka twists Kafka's Codec.
func onKafka(twist func(k *twistCodec)) makeCodec {
	return func() codec.Codec {
		k := &twistCodec{Codec: codec.Kafka()}
		twist(k)
		return k
	}
}

// headered changes what Header gives.
func headered(change func(b []byte, h *codec.Header, err *error)) makeCodec {
	return onKafka(func(k *twistCodec) {
		k.header = func(b []byte) (codec.Header, error) {
			h, err := k.Codec.Header(b)
			change(b, &h, &err)
			return h, err
		}
	})
}

// verified changes what Verify gives.
func verified(change func(k codec.Codec, batch []byte, err error) error) makeCodec {
	return onKafka(func(k *twistCodec) {
		k.verify = func(batch []byte) error { return change(k.Codec, batch, k.Codec.Verify(batch)) }
	})
}

// recorded changes each record that Records yields.
func recorded(change func(h codec.Header, r *codec.Record)) makeCodec {
	return onKafka(func(k *twistCodec) {
		k.records = func(batch []byte, yield func(codec.Record, error) bool) {
			h, _ := k.Codec.Header(batch)
			for r, err := range k.Codec.Records(batch) {
				if err == nil {
					change(h, &r)
				}
				if !yield(r, err) {
					return
				}
			}
		}
	})
}

// appended changes the header before Append has it.
func appended(change func(h *codec.Header, recs []codec.Record)) makeCodec {
	return onKafka(func(k *twistCodec) {
		k.append = func(dst []byte, h codec.Header, recs []codec.Record) ([]byte, error) {
			change(&h, recs)
			return k.Codec.Append(dst, h, recs)
		}
	})
}

// restamped changes what Restamp gives.
func restamped(restamp func(k codec.Codec, batch []byte, s codec.Stamp) error) makeCodec {
	return onKafka(func(k *twistCodec) {
		k.restamp = func(batch []byte, s codec.Stamp) error { return restamp(k.Codec, batch, s) }
	})
}

// replaced gives another error instead of one.
func replaced(class, other error) func(codec.Codec, []byte, error) error {
	return func(_ codec.Codec, _ []byte, err error) error {
		if errors.Is(err, class) {
			return other
		}
		return err
	}
}

// brokenReaders break the rule of one row each about what reads.
var brokenReaders = map[string]makeCodec{
	"codec calls do not disturb each other": onKafka(func(k *twistCodec) {
		only := newAlone()
		k.verify = func(batch []byte) (err error) {
			if !only.do(func() { err = k.Codec.Verify(batch) }) {
				err = fmt.Errorf("in use: %w", codec.ErrCorrupt)
			}
			return err
		}
	}),
	"arguments stay as they are": verified(func(_ codec.Codec, batch []byte, err error) error {
		if len(batch) > 0 {
			batch[0] ^= 1
		}
		return err
	}),
	"no bytes cause a panic": verified(func(_ codec.Codec, batch []byte, err error) error {
		if binary.BigEndian.Uint32(batch[8:]) == 0 {
			panic("unreachable")
		}
		return err
	}),
	"a header is read from less and more": headered(func(b []byte, h *codec.Header, _ *error) { h.Size = len(b) }),
	"less than a header is short": headered(func(b []byte, _ *codec.Header, err *error) {
		if len(b) <= codec.MaxHeaderBytes && *err == nil {
			*err = codec.ErrShort
		}
	}),
	"an unknown magic says so": headered(func(_ []byte, _ *codec.Header, err *error) {
		if errors.Is(*err, codec.ErrMagic) {
			*err = codec.ErrCorrupt
		}
	}),
	"an impossible size is damage": headered(func(_ []byte, _ *codec.Header, err *error) {
		if errors.Is(*err, codec.ErrCorrupt) {
			*err = codec.ErrTooLarge
		}
	}),
	"a header needs no checksum": headered(func(b []byte, h *codec.Header, _ *error) {
		if copied := bytes.Clone(b); len(copied) == math.MaxInt32 {
			h.Size = 0
		}
	}),
	"exactly one batch is verified": verified(func(k codec.Codec, batch []byte, err error) error {
		if h, failed := k.Header(batch); failed == nil && len(batch) > h.Size {
			return k.Verify(batch[:h.Size])
		}
		return err
	}),
	"a wrong checksum is damage": verified(func(_ codec.Codec, _ []byte, err error) error {
		if errors.Is(err, codec.ErrChecksum) {
			return codec.ErrChecksum // without the two
		}
		return err
	}),
	"a field out of its range is damage": verified(replaced(codec.ErrInvalid, nil)),
	"nothing is inflated to verify": verified(func(k codec.Codec, batch []byte, err error) error {
		if err != nil {
			return err
		}
		for _, err := range k.Records(batch) {
			if err != nil {
				return err
			}
		}
		return nil
	}),
	"what is appended is read": recorded(func(h codec.Header, r *codec.Record) {
		if h.Attributes.Compression() != codec.None && h.Magic == 1 {
			r.Offset -= h.LastOffset // is relative
		}
	}),
	"what Kafka wrote is read": recorded(func(_ codec.Header, r *codec.Record) {
		r.Value = bytes.ReplaceAll(r.Value, []byte("hello"), []byte("world"))
	}),
	"the records are counted": onKafka(func(k *twistCodec) {
		k.records = func(batch []byte, yield func(codec.Record, error) bool) {
			for r, err := range k.Codec.Records(batch) {
				if errors.Is(err, codec.ErrCorrupt) || !yield(r, err) {
					return
				}
			}
		}
	}),
	"the append's time is that of all": recorded(func(h codec.Header, r *codec.Record) { r.Timestamp = min(r.Timestamp, 1000) }),
	"control records come": onKafka(func(k *twistCodec) {
		k.records = func(batch []byte, yield func(codec.Record, error) bool) {
			if h, err := k.Codec.Header(batch); err == nil && h.Attributes.Control() {
				return
			}
			k.Codec.Records(batch)(yield)
		}
	}),
	"a record stays until the next step": onKafka(func(k *twistCodec) {
		var buffer []byte // of all iterations
		k.records = func(batch []byte, yield func(codec.Record, error) bool) {
			for r, err := range k.Codec.Records(batch) {
				if err == nil && r.Value != nil && len(batch) < 1000 {
					clear(buffer)
					buffer = append(buffer[:0], r.Value...)
					r.Value = buffer
				}
				if !yield(r, err) {
					return
				}
			}
		}
	}),
	"null is not empty": recorded(func(_ codec.Header, r *codec.Record) {
		if r.Key == nil {
			r.Key = []byte{}
		}
	}),
	"an error ends the iteration": onKafka(func(k *twistCodec) {
		k.records = func(batch []byte, yield func(codec.Record, error) bool) {
			for r, err := range k.Codec.Records(batch) {
				if !yield(r, err) || err != nil && !yield(r, err) {
					return
				}
			}
		}
	}),
	"records need no checksum": onKafka(func(k *twistCodec) {
		k.records = func(batch []byte, yield func(codec.Record, error) bool) {
			if err := k.Codec.Verify(batch); err != nil {
				yield(codec.Record{}, err)
				return
			}
			k.Codec.Records(batch)(yield)
		}
	}),
}

// brokenWriters break the rule of one row each about what writes.
var brokenWriters = map[string]makeCodec{
	"the header's fields are written":  appended(func(h *codec.Header, _ []codec.Record) { h.BaseSequence = codec.NoSequence }),
	"compaction keeps a batch's range": appended(func(h *codec.Header, _ []codec.Record) { h.LastOffset = 0 }),
	"the largest timestamp is found": headered(func(_ []byte, h *codec.Header, _ *error) {
		if !h.Attributes.LogAppendTime() {
			h.MaxTimestamp = h.BaseTimestamp
		}
	}),
	"the delete horizon is written": appended(func(h *codec.Header, _ []codec.Record) { h.Attributes &^= codec.DeleteHorizonBit }),
	"offsets rise": onKafka(func(k *twistCodec) {
		k.append = func(dst []byte, h codec.Header, recs []codec.Record) ([]byte, error) {
			recs = slices.CompactFunc(slices.Clone(recs), func(a, b codec.Record) bool { return a.Offset == b.Offset })
			return k.Codec.Append(dst, h, recs)
		}
	}),
	"an error leaves what was there": onKafka(func(k *twistCodec) {
		k.append = func(dst []byte, h codec.Header, recs []codec.Record) ([]byte, error) {
			longer, err := k.Codec.Append(dst, h, recs)
			if err != nil {
				return nil, err
			}
			return longer, nil
		}
	}),
	"old formats refuse what is new": onKafka(func(k *twistCodec) {
		k.append = func(dst []byte, h codec.Header, recs []codec.Record) ([]byte, error) {
			if h.Magic < 2 && h.ProducerID != codec.NoProducerID {
				h.ProducerID = codec.NoProducerID
			}
			return k.Codec.Append(dst, h, recs)
		}
	}),
	"record headers are kept": recorded(func(_ codec.Header, r *codec.Record) { r.Headers = r.Headers[:min(len(r.Headers), 1)] }),
	"a batch may be empty": onKafka(func(k *twistCodec) {
		k.append = func(dst []byte, h codec.Header, recs []codec.Record) ([]byte, error) {
			if len(recs) == 0 {
				return dst, nil
			}
			return k.Codec.Append(dst, h, recs)
		}
	}),
	"plain messages are batches each": onKafka(func(k *twistCodec) {
		k.append = func(dst []byte, h codec.Header, recs []codec.Record) ([]byte, error) {
			if h.Magic < 2 && h.Attributes.Compression() == codec.None && len(recs) > 1 {
				h.Attributes |= codec.Attributes(codec.GZIP)
			}
			return k.Codec.Append(dst, h, recs)
		}
	}),
	"a restamped batch has its size": restamped(func(k codec.Codec, batch []byte, s codec.Stamp) error {
		s.LastOffset++
		return k.Restamp(batch, s)
	}),
	"a checksum is renewed where it must be": restamped(func(k codec.Codec, batch []byte, s codec.Stamp) error {
		h, err := k.Header(batch)
		if err != nil || h.Size != len(batch) || h.Magic != 2 {
			return k.Restamp(batch, s)
		}
		crc := binary.BigEndian.Uint32(batch[17:])
		err = k.Restamp(batch, s)
		binary.BigEndian.PutUint32(batch[17:], crc)
		return err
	}),
	"old formats have no epoch": restamped(func(k codec.Codec, batch []byte, s codec.Stamp) error {
		s.LeaderEpoch = codec.NoLeaderEpoch
		return k.Restamp(batch, s)
	}),
	"absolute offsets need an encoding": restamped(func(k codec.Codec, batch []byte, s codec.Stamp) error {
		err := k.Restamp(batch, s)
		if errors.Is(err, codec.ErrRewrite) {
			return nil
		}
		return err
	}),
	"no offset is below 0": restamped(func(k codec.Codec, batch []byte, s codec.Stamp) error {
		s.LastOffset = max(s.LastOffset, 2)
		return k.Restamp(batch, s)
	}),
	"what cannot be restamped stays": restamped(func(k codec.Codec, batch []byte, s codec.Stamp) error {
		err := k.Restamp(batch, s)
		if err != nil && len(batch) > 0 {
			batch[0] ^= 1
		}
		return err
	}),
}

// brokenValidators break the rule of one row each about what a leader appends.
var brokenValidators = map[string]makeCodec{
	"a magic of one's own is above Kafka's": appended(func(h *codec.Header, _ []codec.Record) {
		if h.Magic == -7 {
			h.Magic = 2
		}
	}),
	"a leader's append keeps a magic of one's own": newUnsealing,
}

// unsealing stores in clear what comes sealed.
type unsealing struct{ codec.Codec }

func newUnsealing() codec.Codec {
	c, err := sealed.New(make([]byte, 16))
	if err != nil {
		panic(err)
	}
	return unsealing{c}
}

func (u unsealing) Validate(dst, batches []byte, r codec.Rules) (codec.Validated, error) {
	clear, err := codec.Convert(u.Codec, nil, batches, r.Magic, 0)
	if err != nil {
		return codec.Validated{}, err
	}
	return codec.Validate(codec.Kafka(), dst, clear, r)
}
