//go:build !race

package index_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/stratalog/strata/index"
)

// Look-ups and appends allocate nothing. (The race detector makes a sync.Pool forget at random.)
func TestAllocations(t *testing.T) {
	fsys := newOS(t)
	for part, open := range map[string]index.OpenFunc{"mmap": index.OpenMmap, "file": index.OpenFile} {
		x, err := open(fsys, part, index.Options{Layout: index.OffsetLayout, MaxBytes: 1 << 20})
		assert.NoError(t, err)
		next := int64(0)
		appends := testing.AllocsPerRun(1000, func() {
			_ = x.Append(index.Entry{Key: next, Value: next})
			next++
		})
		assert.Zero(t, appends, "%s: Append", part)
		lookups := testing.AllocsPerRun(1000, func() {
			x.Lookup(500)
			x.Lookup(-1)
			x.At(3)
		})
		assert.Zero(t, lookups, "%s: Lookup and At", part)
		assert.NoError(t, x.Close())
	}
}
