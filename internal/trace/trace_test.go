package trace_test

import (
	"archive/zip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/internal/trace"
)

// archive is a choice of traces, of every profile.
func archive(t *testing.T) []*trace.Trace {
	t.Helper()
	z, err := zip.OpenReader("testdata/traces.zip")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, z.Close()) })
	all, err := trace.ReadAll(z)
	require.NoError(t, err)
	return all
}

// TestReplay replays what Kafka did on every composition: all of it in memory, and a third on each of those on
// the disk, which wait for it. With -short it is a little on each. The CI lane replays all on all.
func TestReplay(t *testing.T) {
	traces := archive(t)
	compositions, err := trace.Compositions("os+mmap,os+file,mem+mmap,mem+file,os+mmapset")
	require.NoError(t, err)
	for i, c := range compositions {
		step := 1
		switch {
		case testing.Short():
			step = 4 * len(compositions)
		case strings.HasPrefix(c.Name, "os"):
			step = 3
		}
		t.Run(c.Name, func(t *testing.T) {
			for j, tr := range traces {
				if j%step != i%step {
					continue
				}
				o, err := c.Replay(t.Context(), tr, t.TempDir())
				require.NoError(t, err)
				if tr.Meta.Quirk == "" {
					assert.Empty(t, o.Difference, "%s: %s", tr.Meta.Name, tr.Meta.About)
				}
			}
		})
	}
}

// TestReplayDiffers changes what a trace expects, and sees the replay differ.
func TestReplayDiffers(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(tr *trace.Trace)
		want   string
	}{
		{"nothing", func(*trace.Trace) {}, ""},
		{"a result", func(tr *trace.Trace) { tr.Want[1].Result["lastOffset"] = "7" }, "operation 1, append: r.lastOffset = "},
		{"a missing error", func(tr *trace.Trace) {
			tr.Want[1].Error = &trace.Refusal{Class: "OffsetOutOfRangeException"}
		}, "want the error OffsetOutOfRangeException"},
		{"an offset", func(tr *trace.Trace) { tr.Want[1].Short["leo"] = "7" }, "s.leo = "},
		{"a digest", func(tr *trace.Trace) { tr.Want[1].Data = "00000000" }, "data = "},
		{"an index after a close", func(tr *trace.Trace) { tr.Want[len(tr.Want)-1].Dir = "00000000" }, "close: dir = "},
		{"a file at the end", func(tr *trace.Trace) { tr.Final[0].CRC = "00000000" }, "at the end: file"},
		{"a file too much", func(tr *trace.Trace) { tr.Final = tr.Final[1:] }, "should not be there"},
		{"a file missing", func(tr *trace.Trace) { tr.Final = append(tr.Final, trace.File{Name: "x"}) }, "x is missing"},
	} {
		t.Run(row.name, func(t *testing.T) {
			tr := archive(t)[0]
			row.change(tr)
			compositions, err := trace.Compositions("mem+file")
			require.NoError(t, err)
			o, err := compositions[0].Replay(t.Context(), tr, "")
			require.NoError(t, err)
			if row.want == "" {
				assert.Empty(t, o.Difference)
				return
			}
			assert.Contains(t, o.Difference, row.want)
		})
	}
}

func TestCompositionsUnknown(t *testing.T) {
	_, err := trace.Compositions("os+mmap,tape")
	assert.EqualError(t, err, `"tape" is none of os+mmap, os+file, mem+mmap, mem+file, os+mmapset`)
}
