package aferofs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/aferofs"
	"github.com/stratalog/strata/fsio/crashfs"
)

// TestFSScenarios plays each script of testdata/scenarios on the disk, in memory, and on crashfs.
func TestFSScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/scenarios/*.txt")
	require.NoError(t, err)
	scenarios, differences := 0, 0
	names := map[string]bool{}
	for _, file := range files {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, s := range parseScripts(t, string(source)) {
			require.False(t, names[s.name], "two scenarios are named %q", s.name)
			names[s.name] = true
			if s.largest > 0 && !isLargest(t, s.largest) {
				t.Logf("scenario %s: not compared, since the disk bears other sizes than %d", s.name, s.largest)
				continue
			}
			scenarios++
			differences += compare(t, s)
		}
	}
	fmt.Printf("RESULT scenarios=%d differences=%d\n", scenarios, differences)
	require.GreaterOrEqual(t, scenarios, 150)
}

// isLargest reports whether files of the disk have at most size bytes.
func isLargest(t *testing.T, size int64) bool {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	require.NoError(t, err)
	defer f.Close()
	return f.Truncate(size) == nil && f.Truncate(size+1) != nil
}

// compare plays s on all, and counts the lines that differ from the disk's.
func compare(t *testing.T, s script) (differences int) {
	t.Helper()
	disk, err := fsio.OS(t.TempDir())
	require.NoError(t, err)
	onDisk := s.play(t, disk)
	require.NoError(t, disk.Close())
	for name, fsys := range map[string]fsio.FS{"in memory": aferofs.Mem(), "on crashfs": crashfs.New()} {
		inMemory := s.play(t, fsys)
		for i, line := range append(s.lines, "tree") {
			if onDisk[i] != inMemory[i] {
				differences++
				t.Errorf("scenario %s: %s\n on the disk: %s\n %s: %s", s.name, line, onDisk[i], name, inMemory[i])
			}
		}
	}
	return differences
}
