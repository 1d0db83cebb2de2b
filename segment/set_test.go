package segment_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/conformance"
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/aferofs"
	"github.com/stratalog/strata/segment"
)

// TestMessageSet holds both message sets, on the disk and in memory, to the contract.
func TestMessageSet(t *testing.T) { // C90, C91, C93, C95, C98, C99, F19
	for name, open := range map[string]segment.OpenFunc{"file": segment.OpenFile, "mmap": segment.OpenMmap} {
		t.Run("os+"+name, func(t *testing.T) { conformance.TestMessageSet(t, osFS, open, nil) })
		t.Run("mem+"+name, func(t *testing.T) {
			conformance.TestMessageSet(t, func(testing.TB) fsio.FS { return aferofs.Mem() }, open, nil)
		})
	}
}

// TestSetNoOpTruncate cuts a set where it ends: the file is not touched, because its age counts.
func TestSetNoOpTruncate(t *testing.T) { // C98
	truncates := 0
	fsys := fsio.Intercept(aferofs.Mem(), func(op *fsio.Op, do func() error) error {
		if op.Kind == fsio.OpTruncate {
			truncates++
		}
		return do()
	})
	set, err := segment.OpenFile(fsys, "set", segment.SetOptions{})
	require.NoError(t, err)
	defer set.Close()
	_, err = set.Append([]byte("batch"))
	require.NoError(t, err)
	require.NoError(t, set.Truncate(5))
	assert.Zero(t, truncates)
}
