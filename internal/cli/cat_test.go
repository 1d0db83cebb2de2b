package cli

import (
	"bufio"
	"bytes"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/internal/fixture"
	"github.com/stratalog/strata/log"
)

// TestCatSegmentGone has a broker remove the first segment behind the back of a reader, who goes on with the next.
func TestCatSegmentGone(t *testing.T) {
	dir := filepath.Join(fixture.Golden(t, "4.4.0/transactions"), "data", "txn-0")
	p, err := openPartition(dir)
	require.NoError(t, err)
	defer func() { require.NoError(t, p.close()) }()
	require.NoError(t, os.Remove(filepath.Join(dir, "00000000000000000000.log")))
	var out, errs bytes.Buffer
	lay, err := parseLayout(`%o\n`)
	require.NoError(t, err)
	c := &cat{env: &env{out: bufio.NewWriter(&out), errs: &errs}, codec: codec.Kafka(), lay: lay, left: 2}
	require.NoError(t, c.segments(t.Context(), p, 0))
	require.NoError(t, c.out.Flush())
	assert.Equal(t, "17\n18\n", out.String())
	assert.Contains(t, errs.String(), "txn-0/00000000000000000000.log is gone")
	assert.False(t, c.bad)
}

// TestCatOverflow reads a last segment whose offsets become too far from its base, as Kafka up to 1.0 wrote them
// (KAFKA-6264), before and after a log has split it; where strata has written last, such offsets are damage.
func TestCatOverflow(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "far-0")
	require.NoError(t, os.Mkdir(dir, 0o755))
	var segment []byte
	for _, offset := range []int64{0, 1, math.MaxInt32, math.MaxInt32 + 1, 1 << 32, 1<<32 + 1} {
		h := codec.NewHeader(2)
		h.BaseOffset = offset
		var err error
		segment, err = codec.Kafka().Append(segment, h, []codec.Record{{Offset: offset, Value: []byte("x")}})
		require.NoError(t, err)
	}
	name := filepath.Join(dir, "00000000000000000000.log")
	require.NoError(t, os.WriteFile(name, segment, 0o644))

	all := "0 1 2147483647 2147483648 4294967296 4294967297 "
	assert.Equal(t, result{ExitOK, all, ""}, run(t, "cat", "-f", "%o ", dir))
	assert.Equal(t, result{ExitOK, "4294967297 ", ""}, run(t, "cat", "-f", "%o ", "--offset", "4294967297", dir))
	assert.Equal(t, result{ExitOK, "4294967296 4294967297 ", ""}, run(t, "cat", "-f", "%o ", "--offset", "-2", dir))
	flipped := bytes.Clone(segment)
	flipped[len(segment)/6+3] ^= 1 // the second batch goes far away, and the third one does not
	require.NoError(t, os.WriteFile(name, flipped, 0o644))
	got := run(t, "cat", "-f", "%o ", dir)
	assert.Equal(t, ExitProblems, got.status)
	assert.Equal(t, "0 2147483647 2147483648 4294967296 4294967297 ", got.out)
	assert.Contains(t, got.errs, "00000000000000000000.log at 69: 69 bytes cannot be read, offsets 1 to 2147483646: ")
	require.NoError(t, os.WriteFile(name, segment, 0o644))

	l, err := log.Open(t.Context(), dir, log.Options{})
	require.NoError(t, err)
	require.NoError(t, l.Close())
	assert.Equal(t, result{ExitOK, all, ""}, run(t, "cat", "-f", "%o ", dir))
	last := filepath.Join(dir, "00000000004294967296.log")
	batches, err := os.ReadFile(last)
	require.NoError(t, err)
	batches[len(batches)/2+3] ^= 1 // the second one's
	require.NoError(t, os.WriteFile(last, batches, 0o644))
	got = run(t, "cat", "-f", "%o ", dir)
	assert.Equal(t, ExitProblems, got.status)
	assert.Equal(t, "0 1 2147483647 2147483648 4294967296 ", got.out)
	assert.Contains(t, got.errs, "00000000004294967296.log at 69: the last 69 bytes are no whole batch")
}

// result is what a run of the command did.
type result struct {
	status    int
	out, errs string
}

// run runs the command with args.
func run(t *testing.T, args ...string) result {
	t.Helper()
	var out, errs bytes.Buffer
	status := Main(args, strings.NewReader(""), &out, &errs)
	return result{status, out.String(), errs.String()}
}

// TestBesideWriter has a file go between the list of a directory and the look at it, once and for ever.
func TestBesideWriter(t *testing.T) {
	opened := 0
	open := func(good int) func() (*log.Log, error) {
		opened = 0
		return func() (*log.Log, error) {
			if opened++; opened == good {
				return &log.Log{}, nil
			}
			return nil, &fs.PathError{Op: "open", Path: "a-0/00000000000000000000.log", Err: fs.ErrNotExist}
		}
	}
	l, err := besideWriter(open(2))
	require.NoError(t, err)
	assert.NotNil(t, l)
	assert.Equal(t, 2, opened)
	l, err = besideWriter(open(0))
	require.ErrorIs(t, err, fs.ErrNotExist)
	assert.Nil(t, l)
	assert.Less(t, opened, 100)
}
