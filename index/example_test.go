package index_test

import (
	"fmt"

	"github.com/stratalog/strata/fsio/aferofs"
	"github.com/stratalog/strata/index"
)

// A segment with base offset 100 has batches that end with the offsets 109, 119 and 129. Who looks for offset
// 125 begins to read at position 4200, where the last batch begins that ends at or before it.
func Example() {
	x, err := index.OpenMmap(aferofs.Mem(), "00000000000000000100.index", index.Options{
		Layout: index.OffsetLayout, Base: 100, MaxBytes: 4096,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range []index.Entry{{Key: 109, Value: 0}, {Key: 119, Value: 4200}, {Key: 129, Value: 8400}} {
		if err := x.Append(e); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(x.Lookup(125))
	fmt.Println(x.Lookup(105))
	fmt.Println(x.Close())
	// Output:
	// {119 4200} true
	// {0 0} false
	// <nil>
}
