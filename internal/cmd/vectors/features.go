package main

import (
	"encoding/hex"
	"math"
	"strings"

	"github.com/stratalog/strata/codec"
)

// feature is something that a batch can have.
type feature struct {
	name  string
	since int8 // the magic that brought it
	plain bool // only without compression
	// make returns the records of a batch, and sets in its header what the feature needs.
	make func(g *generator, h *codec.Header) []codec.Record
}

// features are all of them. Null and empty keys and values, values larger than a block, records without
// timestamp, record headers and gaps in the offsets are everywhere.
var features = []feature{
	{name: "create time", make: data},
	{name: "log append time", since: 1, make: func(g *generator, h *codec.Header) []codec.Record {
		h.Attributes |= codec.LogAppendTimeBit
		h.MaxTimestamp = someTime + g.Int64N(100_000)
		return data(g, h)
	}},
	{name: "idempotent", since: 2, make: func(g *generator, h *codec.Header) []codec.Record {
		g.produce(h)
		return data(g, h)
	}},
	{name: "sequences that wrap", since: 2, make: func(g *generator, h *codec.Header) []codec.Record {
		g.produce(h)
		h.BaseSequence = math.MaxInt32
		return data(g, h)
	}},
	{name: "transactional", since: 2, make: func(g *generator, h *codec.Header) []codec.Record {
		g.produce(h)
		h.Attributes |= codec.TransactionalBit
		return data(g, h)
	}},
	{name: "delete horizon", since: 2, make: func(g *generator, h *codec.Header) []codec.Record {
		h.Attributes |= codec.DeleteHorizonBit
		h.BaseTimestamp = someTime + g.Int64N(100_000)
		return data(g, h)
	}},
	{name: "everything at once", since: 2, make: func(g *generator, h *codec.Header) []codec.Record {
		g.produce(h)
		h.Attributes |= codec.TransactionalBit | codec.DeleteHorizonBit | codec.LogAppendTimeBit
		h.BaseTimestamp, h.MaxTimestamp = someTime, someTime+g.Int64N(100_000)
		return data(g, h)
	}},
	{name: "emptied by compaction", since: 2, plain: true, make: func(g *generator, h *codec.Header) []codec.Record {
		g.produce(h)
		h.MaxTimestamp = someTime + g.Int64N(100_000)
		h.LastOffset = h.BaseOffset + g.Int64N(30)
		return nil
	}},
	// Of the control records these are the versions that Kafka 4.4 writes.
	{name: "abort", since: 2, plain: true, make: marker("00000000")},
	{name: "commit", since: 2, plain: true, make: marker("00000001")},
	{name: "leader change", since: 2, plain: true, make: control("00000002", "0000 00000001 02 00000001 00 02 00000001 00 00")},
	{name: "snapshot header", since: 2, plain: true, make: control("00000003", "0000 000001a22a0bf5e1 00")},
	{name: "snapshot footer", since: 2, plain: true, make: control("00000004", "0000 00")},
	{name: "KRaft version", since: 2, plain: true, make: control("00000005", "0000 0001 00")},
	{name: "KRaft voters", since: 2, plain: true, make: control("00000006",
		"0000 02 00000001 00112233445566778899aabbccddeeff 02 04 535344 05 686f7374 2384 00 0000 0001 00 00 00")},
}

// data are records of a batch that is nothing special.
func data(g *generator, h *codec.Header) []codec.Record { return g.records(h.Magic) }

// produce gives the batch a producer.
func (g *generator) produce(h *codec.Header) {
	h.ProducerID, h.ProducerEpoch, h.BaseSequence = g.Int64N(5), int16(g.IntN(3)), g.Int32N(1000)
}

// marker makes a transaction's end, with the key of hexadecimal digits.
func marker(key string) func(g *generator, h *codec.Header) []codec.Record {
	return func(g *generator, h *codec.Header) []codec.Record {
		g.produce(h)
		h.BaseSequence = codec.NoSequence
		h.Attributes |= codec.TransactionalBit
		return control(key, "0000 000000"+hex.EncodeToString([]byte{byte(g.IntN(256))}))(g, h)
	}
}

// control makes a control record of key and value in hexadecimal digits, which may be grouped.
func control(key, value string) func(g *generator, h *codec.Header) []codec.Record {
	return func(g *generator, h *codec.Header) []codec.Record {
		h.Attributes |= codec.ControlBit
		r := codec.Record{Offset: g.offset, Timestamp: someTime + g.Int64N(100_000), Key: digits(key), Value: digits(value)}
		g.offset++
		return []codec.Record{r}
	}
}

// digits are the bytes of grouped hexadecimal digits, which are in the source.
func digits(s string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		panic(err)
	}
	return b
}
