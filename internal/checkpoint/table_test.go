package checkpoint_test

import (
	"errors"
	"io/fs"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/aferofs"
	"github.com/stratalog/strata/internal/checkpoint"
)

type offsets = map[checkpoint.Partition]int64

// kafkaOffsets is an offset checkpoint as Kafka writes it, and what it says.
const kafkaOffsets = "0\n2\nt-a 0 42\nt.b 10 7\n"

var sampleOffsets = offsets{{Topic: "t-a", ID: 0}: 42, {Topic: "t.b", ID: 10}: 7}

func TestReadOffsets(t *testing.T) {
	for _, row := range []struct {
		name, content string
		want          offsets
	}{
		{"Kafka's", kafkaOffsets, sampleOffsets},
		{"empty, as Kafka makes it", "", offsets{}},
		{"without the number of entries", "0\n", offsets{}},
		{"no entries", "0\n0\n", offsets{}},
		{"of Windows", "0\r\n1\r\nt 1 2\r\n", offsets{{Topic: "t", ID: 1}: 2}},
		{"any white space", "0\n1\nt\t 1\v2 \n", offsets{{Topic: "t", ID: 1}: 2}},
		{"the largest numbers", "0\n1\nt 2147483647 9223372036854775807\n", offsets{{Topic: "t", ID: math.MaxInt32}: math.MaxInt64}},
		{"twice: the later counts", "0\n2\nt 1 2\nt 1 1\n", offsets{{Topic: "t", ID: 1}: 1}},
	} {
		t.Run(row.name, func(t *testing.T) {
			fsys := aferofs.Mem()
			put(t, fsys, checkpoint.RecoveryPoints, row.content)
			got, err := checkpoint.ReadOffsets(fsys, checkpoint.RecoveryPoints)
			require.NoError(t, err)
			assert.Equal(t, row.want, got)
		})
	}
}

func TestReadOffsetsRefuses(t *testing.T) {
	for _, row := range []struct {
		name, content string
		pos           int64
	}{
		{"another version", "1\n1\nt 1 2\n", 0},
		{"no version", "\n1\nt 1 2\n", 0},
		{"a version that is no number", "zero\n1\nt 1 2\n", 0},
		{"a number of entries that is none", "0\n1x\nt 1 2\n", 2},
		{"a negative number of entries", "0\n-1\n", 2},
		{"fewer entries than it says", "0\n2\nt 1 2\n", 2},
		{"more entries than it says", "0\n1\nt 1 2\nt 2 2\n", 2},
		{"a number of entries without end", "0\n99999999999999999999\n", 2},
		{"two fields", "0\n1\nt 1\n", 4},
		{"four fields", "0\n1\nt 1 2 3\n", 4},
		{"a space first", "0\n1\n t 1 2\n", 4},
		{"an empty line", "0\n1\n\nt 1 2\n", 4},
		{"a partition past 31 bits", "0\n1\nt 2147483648 2\n", 4},
		{"a negative partition", "0\n1\nt -1 2\n", 4},
		{"an offset that is no number", "0\n2\nt 1 2\nt 2 2.5\n", 10},
		{"an offset past 63 bits", "0\n1\nt 1 9223372036854775808\n", 4},
		{"a negative offset", "0\n1\nt 1 -2\n", 4},
		{"a last line without end", "0\n1\nt 1 2", 9},
		{"a version without end", "0", 1},
		{"zeros", strings.Repeat("\x00", 64), 64},
	} {
		t.Run(row.name, func(t *testing.T) {
			fsys := aferofs.Mem()
			put(t, fsys, "offsets", row.content)
			got, err := checkpoint.ReadOffsets(fsys, "offsets")
			require.ErrorIs(t, err, checkpoint.ErrCorrupt)
			assert.Nil(t, got)
			at, ok := errors.AsType[*fsio.PosError](err)
			require.True(t, ok, "no place in %v", err)
			assert.Equal(t, "offsets", at.Path)
			assert.Equal(t, row.pos, at.Pos)
		})
	}
}

func TestMissingFiles(t *testing.T) {
	onEach(t, func(t *testing.T, fsys fsio.FS) {
		for name, read := range map[string]func() error{
			"offsets":  func() error { _, err := checkpoint.ReadOffsets(fsys, "x"); return err },
			"epochs":   func() error { _, err := checkpoint.ReadEpochs(fsys, "x"); return err },
			"topic id": func() error { _, err := checkpoint.ReadTopicID(fsys, "x"); return err },
			"meta":     func() error { _, err := checkpoint.ReadMeta(fsys, "x"); return err },
			"clean":    func() error { _, err := checkpoint.ReadClean(fsys, "x"); return err },
		} {
			assert.ErrorIs(t, read(), fs.ErrNotExist, name)
		}
	})
}

func TestWriteOffsets(t *testing.T) {
	onEach(t, func(t *testing.T, fsys fsio.FS) {
		for _, want := range []struct {
			content string
			offsets offsets
		}{
			{kafkaOffsets, sampleOffsets},
			{"0\n0\n", nil},
			{"0\n3\na 2 1\na 10 1\nb 0 1\n", offsets{{Topic: "b"}: 1, {Topic: "a", ID: 10}: 1, {Topic: "a", ID: 2}: 1}},
		} {
			require.NoError(t, checkpoint.WriteOffsets(fsys, "offsets", want.offsets))
			assert.Equal(t, want.content, get(t, fsys, "offsets"))
		}
		files, err := fsys.ReadDir(".")
		require.NoError(t, err)
		assert.Len(t, files, 1, "a temporary file is left")
	})
}

func TestWriteOffsetsRefuses(t *testing.T) {
	for name, bad := range map[string]offsets{
		"no topic":             {{Topic: ""}: 1},
		"a topic with a space": {{Topic: "a b"}: 1},
		"a topic with an end":  {{Topic: "a\n"}: 1},
		"a negative partition": {{Topic: "a", ID: -1}: 1},
		"a negative offset":    {{Topic: "a"}: -1},
	} {
		fsys := aferofs.Mem()
		put(t, fsys, "offsets", kafkaOffsets)
		assert.ErrorIs(t, checkpoint.WriteOffsets(fsys, "offsets", bad), fs.ErrInvalid, name)
		assert.Equal(t, kafkaOffsets, get(t, fsys, "offsets"), name)
	}
}

func TestEpochs(t *testing.T) {
	const kafkas = "0\n2\n0 0\n3 120\n"
	want := []checkpoint.Epoch{{Epoch: 0, StartOffset: 0}, {Epoch: 3, StartOffset: 120}}
	onEach(t, func(t *testing.T, fsys fsio.FS) {
		require.NoError(t, checkpoint.WriteEpochs(fsys, checkpoint.LeaderEpochs, want))
		assert.Equal(t, kafkas, get(t, fsys, checkpoint.LeaderEpochs))
		got, err := checkpoint.ReadEpochs(fsys, checkpoint.LeaderEpochs)
		require.NoError(t, err)
		assert.Equal(t, want, got)
		for _, bad := range []checkpoint.Epoch{{Epoch: -1}, {StartOffset: -1}} {
			require.ErrorIs(t, checkpoint.WriteEpochs(fsys, checkpoint.LeaderEpochs, []checkpoint.Epoch{bad}), fs.ErrInvalid)
		}
	})
}

// TestEpochsCutAnywhere cuts an epoch file at every byte: nothing that differs is read from it.
func TestEpochsCutAnywhere(t *testing.T) {
	const whole = "0\n2\n0 0\n3 120\n"
	for size := range len(whole) {
		fsys := aferofs.Mem()
		put(t, fsys, "epochs", whole[:size])
		got, err := checkpoint.ReadEpochs(fsys, "epochs")
		if size == 0 || size == len("0\n") { // as Kafka makes it, and as Kafka reads it
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, checkpoint.ErrCorrupt, "cut at %d", size)
		}
		assert.Empty(t, got, "cut at %d", size)
	}
}

func TestReadEpochsRefuses(t *testing.T) {
	for name, content := range map[string]string{
		"three fields":         "0\n1\n0 0 0\n",
		"one field":            "0\n1\n0\n",
		"a negative epoch":     "0\n1\n-1 0\n",
		"a negative offset":    "0\n1\n1 -1\n",
		"an epoch past 31 bit": "0\n1\n2147483648 0\n",
	} {
		fsys := aferofs.Mem()
		put(t, fsys, "epochs", content)
		_, err := checkpoint.ReadEpochs(fsys, "epochs")
		assert.ErrorIs(t, err, checkpoint.ErrCorrupt, name)
	}
}

// TestReadFileLimit has files that are larger than any of their kind. They are not read.
func TestReadFileLimit(t *testing.T) {
	fsys := aferofs.Mem()
	put(t, fsys, "large", strings.Repeat("x", 64<<10+1))
	_, err := checkpoint.ReadMeta(fsys, "large")
	require.ErrorIs(t, err, checkpoint.ErrCorrupt)
	_, err = checkpoint.ReadTopicID(fsys, "large")
	require.ErrorIs(t, err, checkpoint.ErrCorrupt)
	data, err := checkpoint.ReadFile(fsys, "large", 64<<10+1)
	require.NoError(t, err)
	assert.Len(t, data, 64<<10+1)
}
