//go:build !linux

package conformance_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
)

func newLab(tb testing.TB) *laboratory {
	dir := tb.TempDir()
	fsys, err := fsio.OS(dir)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, fsys.Close()) })
	return &laboratory{FS: fsys, dir: dir}
}

func newTmpfs(testing.TB) (fsio.FS, error) { return nil, errors.ErrUnsupported }
