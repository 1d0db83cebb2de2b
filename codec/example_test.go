package codec_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/stratalog/strata/codec"
)

// A batch is made of records, and read again.
func Example() {
	c := codec.Kafka()
	h := codec.NewHeader(2)
	h.BaseOffset = 100
	h.Attributes = codec.Attributes(codec.Zstd)
	batch, err := c.Append(nil, h, []codec.Record{
		{Offset: 100, Timestamp: 1700000000000, Key: []byte("k1"), Value: []byte("hello")},
		{Offset: 101, Timestamp: 1700000000001, Value: []byte("there")},
	})
	if err != nil {
		panic(err)
	}
	for r, err := range c.Records(batch) {
		if err != nil {
			panic(err)
		}
		fmt.Printf("%d %q %q\n", r.Offset, r.Key, r.Value)
	}
	// Output:
	// 100 "k1" "hello"
	// 101 "" "there"
}

// A Codec that does not unpack more than 1 MiB, and knows lz4 only.
func ExampleKafkaWith() {
	small := codec.KafkaWith(codec.Options{
		Compressors:   []codec.Compressor{codec.NewLZ4(0)},
		InflatedBytes: 1 << 20,
	})
	h := codec.NewHeader(2)
	h.Attributes = codec.Attributes(codec.GZIP)
	_, err := small.Append(nil, h, []codec.Record{{Value: []byte("v")}})
	fmt.Println(errors.Is(err, codec.ErrCompression))
	// Output: true
}

// A producer fills a batch until it is full.
func ExampleBuilder() {
	b := codec.NewBuilder(codec.Kafka(), codec.NewHeader(2), 200)
	for {
		ok, err := b.Add(codec.Record{Timestamp: 1700000000000, Value: []byte("a record of some bytes")})
		if err != nil {
			panic(err)
		}
		if !ok {
			break
		}
	}
	batch, err := b.AppendTo(nil)
	fmt.Println(b.Len(), len(batch), err)
	// Output: 4 177 <nil>
}

// A leader checks what a client sent, and gives it its offsets.
func ExampleValidate() {
	c := codec.Kafka()
	batch, err := c.Append(nil, codec.NewHeader(2), []codec.Record{
		{Offset: 0, Timestamp: 1700000000000, Key: []byte("k")},
		{Offset: 1, Timestamp: 1700000000000},
	})
	if err != nil {
		panic(err)
	}
	rules := codec.Rules{Offset: 500, Now: 1700000000000, Magic: 2, MaxAge: -1, MaxAhead: -1, FromClient: true}
	done, err := codec.Validate(c, nil, batch, rules)
	fmt.Println(done.LastOffset, done.InPlace, err)

	rules.NeedKey = true
	_, err = codec.Validate(c, nil, batch, rules)
	fmt.Println(err)
	// Output:
	// 501 true <nil>
	// record 1: no key, in a compacted log: codec: invalid record
}

// Damage costs the batch that it hit, and is named.
func ExampleScanner() {
	c := codec.Kafka()
	var stream []byte
	for offset := range int64(3) {
		h := codec.NewHeader(2)
		h.BaseOffset = offset
		var err error
		if stream, err = c.Append(stream, h, []codec.Record{{Offset: offset, Value: []byte("value")}}); err != nil {
			panic(err)
		}
	}
	stream[100] ^= 1

	s := codec.NewScanner(c, bytes.NewReader(stream), codec.Expect{})
	for {
		p, err := s.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			panic(err)
		}
		if p.Err != nil {
			fmt.Printf("damage at %d, %d bytes, offsets %d to %d\n", p.Position, p.Size, p.FirstOffset, p.NextOffset)
			continue
		}
		fmt.Printf("batch at %d, offset %d\n", p.Position, p.Batch.BaseOffset)
	}
	// Output:
	// batch at 0, offset 0
	// damage at 73, 73 bytes, offsets 1 to 2
	// batch at 146, offset 2
}
