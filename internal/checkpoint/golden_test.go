package checkpoint_test

import (
	"bufio"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/aferofs"
	"github.com/stratalog/strata/internal/checkpoint"
	"github.com/stratalog/strata/internal/fixture"
)

// TestGolden reads every file of Kafka's and writes it again: the bytes are the same. Of offset checkpoints
// the lines are, since Kafka writes them in the order of a hash map.
func TestGolden(t *testing.T) {
	cases := []string{"4.4.0/multi-dir", "4.4.0/transactions", "4.4.0/epochs", "3.9.2/compaction"}
	if !testing.Short() {
		cases = append(fixture.Cases(t, "4.4.0"), fixture.Cases(t, "2.8.2")...)
	}
	files := 0
	for _, name := range cases {
		dir := fixture.Golden(t, name)
		fsys := aferofs.Mem()
		for _, file := range fixture.Files(t, dir, "*") {
			again := rewriter(path.Base(file))
			if again == nil {
				continue
			}
			files++
			content, err := os.ReadFile(filepath.Join(dir, file))
			require.NoError(t, err)
			put(t, fsys, "file", string(content))
			sorted, err := again(fsys, "file", string(content))
			require.NoError(t, err, "%s: %s", name, file)
			assert.Equal(t, lines(string(content), sorted), lines(get(t, fsys, "file"), sorted), "%s: %s", name, file)
		}
	}
	assert.Greater(t, files, 50, "the cases hold fewer files than they should")
}

// lines are the lines of a file, in its order, or sorted.
func lines(content string, sorted bool) []string {
	lines := strings.Split(content, "\n")
	if sorted {
		slices.Sort(lines)
	}
	return lines
}

// rewriter is the function that reads a file of that name and writes it again; sorted says that the order of
// its lines does not count. It is nil where the file is none of ours.
func rewriter(base string) func(fsys fsio.FS, name, content string) (sorted bool, err error) {
	switch base {
	case checkpoint.RecoveryPoints, checkpoint.StartOffsets, checkpoint.HighWatermarks, checkpoint.CleanerOffsets:
		return func(fsys fsio.FS, name, content string) (bool, error) {
			offsets, err := checkpoint.ReadOffsets(fsys, name)
			if err != nil || content == "" {
				return true, err
			}
			return true, checkpoint.WriteOffsets(fsys, name, offsets)
		}
	case checkpoint.LeaderEpochs:
		return func(fsys fsio.FS, name, content string) (bool, error) {
			epochs, err := checkpoint.ReadEpochs(fsys, name)
			if err != nil || content == "" {
				return false, err
			}
			return false, checkpoint.WriteEpochs(fsys, name, epochs)
		}
	case checkpoint.PartitionMetadata:
		return func(fsys fsio.FS, name, _ string) (bool, error) {
			id, err := checkpoint.ReadTopicID(fsys, name)
			if err != nil {
				return false, err
			}
			return false, checkpoint.WriteTopicID(fsys, name, id)
		}
	case checkpoint.MetaProperties:
		return rewriteMeta
	case checkpoint.CleanShutdown:
		return func(fsys fsio.FS, name, content string) (bool, error) {
			epoch, err := checkpoint.ReadClean(fsys, name)
			if err != nil || content == "" {
				return false, err
			}
			return false, checkpoint.WriteClean(fsys, name, epoch)
		}
	}
	return nil
}

// rewriteMeta writes meta.properties at the time that is in its comment.
func rewriteMeta(fsys fsio.FS, name, content string) (sorted bool, err error) {
	meta, err := checkpoint.ReadMeta(fsys, name)
	if err != nil {
		return false, err
	}
	comments := bufio.NewScanner(strings.NewReader(content))
	comments.Scan()
	comments.Scan()
	now, err := time.Parse("#Mon Jan 02 15:04:05 MST 2006", comments.Text())
	if err != nil {
		return false, err
	}
	return false, checkpoint.WriteMeta(fsys, name, meta, now)
}
