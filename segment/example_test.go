package segment_test

import (
	"fmt"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio/aferofs"
	"github.com/stratalog/strata/segment"
)

func ExampleOpen() {
	fsys := aferofs.Mem()
	_ = fsys.MkdirAll("orders-0", 0o755)
	s, err := segment.Open(fsys, segment.Parts{}, "orders-0", 0, segment.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	c := s.Codec()
	batch, _ := c.Append(nil, codec.NewHeader(2), []codec.Record{
		{Offset: 0, Value: []byte("one")},
		{Offset: 1, Value: []byte("two")},
	})
	h, _ := c.Header(batch)
	_, _ = s.Append(batch, []codec.Header{h})

	r, _, _ := s.Read(1, segment.Limits{MaxBytes: 1 << 20, AtLeastOne: true})
	for record, err := range r.Records() {
		fmt.Println(record.Offset, string(record.Value), err)
	}
	_ = r.Close()
	fmt.Println(s.Close())
	// Output:
	// 1 two <nil>
	// <nil>
}
