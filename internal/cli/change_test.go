package cli

import (
	"bufio"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/internal/checkpoint"
	"github.com/stratalog/strata/internal/fixture"
	"github.com/stratalog/strata/log"
	"github.com/stratalog/strata/segment"
)

// TestChangeMark looks for the mark of a clean stop at each step of a change: it is away from before the first
// file is opened to be written until the log is closed, and then is what it was, also where nothing was changed.
func TestChangeMark(t *testing.T) {
	data := filepath.Join(fixture.Golden(t, "4.4.0/idempotent"), "data")
	mark := filepath.Join(data, checkpoint.CleanShutdown)
	was, err := os.ReadFile(mark)
	if errors.Is(err, fs.ErrNotExist) {
		was = []byte(`{"version":0,"brokerEpoch":7}`)
		err = os.WriteFile(mark, was, 0o600)
	}
	require.NoError(t, err)
	e := &env{out: bufio.NewWriter(&bytes.Buffer{}), errs: &bytes.Buffer{}}
	opened, done := 0, false
	failure := errors.New("failure")
	o := log.Options{Parts: segment.Parts{OpenIndex: func(fsys fsio.FS, name string, o index.Options) (index.Index, error) {
		opened++
		assert.NoFileExists(t, mark, "while %s is opened", name)
		return index.OpenMmap(fsys, name, o)
	}}}
	for _, want := range []error{nil, failure} {
		err := e.change(t.Context(), filepath.Join(data, "idem-0"), o, func(*above, *log.Log) error {
			done = true
			assert.NoFileExists(t, mark, "while the log is open")
			return want
		})
		require.ErrorIs(t, err, want)
		now, err := os.ReadFile(mark)
		require.NoError(t, err)
		assert.Equal(t, was, now)
	}
	assert.Positive(t, opened)
	assert.True(t, done)

	err = e.change(t.Context(), filepath.Join(data, "idem-0"), log.Options{TopicID: [16]byte{1}}, nil)
	require.ErrorIs(t, err, log.ErrTopicID)
	assert.FileExists(t, mark, "a refusal")
}
