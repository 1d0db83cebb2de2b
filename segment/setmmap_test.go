package segment_test

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/aferofs"
	"github.com/stratalog/strata/segment"
)

// A mapped set whose reserved space cannot be given back is unmapped all the same.
func TestMappedSetIsUnmapped(t *testing.T) {
	for name, end := range map[string]func(s segment.MessageSet) error{
		"close": segment.MessageSet.Close,
		"seal":  segment.MessageSet.Seal,
	} {
		t.Run(name, func(t *testing.T) {
			maps := 0
			fsys := fsio.Intercept(aferofs.Mem(), func(op *fsio.Op, do func() error) error {
				switch op.Kind {
				case fsio.OpMap:
					maps++
				case fsio.OpMapClose:
					maps--
				case fsio.OpMapResize:
					return syscall.EIO
				}
				return do()
			})
			s, err := segment.OpenMmap(fsys, "a.log", segment.SetOptions{SegmentBytes: 4096})
			require.NoError(t, err)
			_, err = s.Append([]byte("bytes"))
			require.NoError(t, err)
			require.Equal(t, 1, maps)
			require.ErrorIs(t, end(s), syscall.EIO)
			require.Zero(t, maps)
			_, err = s.Append([]byte("bytes"))
			require.Error(t, err)
			_ = s.Close()
		})
	}
}
