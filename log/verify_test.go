package log_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/aferofs"
	"github.com/stratalog/strata/internal/fixture"
	"github.com/stratalog/strata/log"
)

// verifyAll is what Verify finds.
func verifyAll(t testing.TB, fsys fsio.FS, dir string, o log.VerifyOptions) (findings []log.Finding) {
	t.Helper()
	for f, err := range log.Verify(context.Background(), fsys, dir, o) {
		require.NoError(t, err)
		findings = append(findings, f)
	}
	return findings
}

// briefs are findings from least on, by what a program branches on.
func briefs(findings []log.Finding, least log.Severity) (all []string) {
	for _, f := range findings {
		if f.Severity >= least {
			all = append(all, fmt.Sprintf("%s %s %s %d", f.Severity, f.Code, filepath.Base(f.File), f.Position))
		}
	}
	return all
}

// TestVerifyBesideAWriter has the log change before each call of Verify's: that is no damage.
func TestVerifyBesideAWriter(t *testing.T) {
	for name, change := range map[string]func(w *world){
		"append": func(w *world) { w.fill("d", "e") },
		"abort":  func(w *world) { w.end(1, 0, false) },
		"roll": func(w *world) {
			_, err := w.l.Roll()
			require.NoError(w, err)
			w.fill("d")
		},
		"close": func(w *world) { require.NoError(w, w.l.Close()) },
	} {
		t.Run(name, func(t *testing.T) {
			for step, made := 0, true; made; step++ {
				made = false
				w := newWorld(t, backends[0])
				w.o.Config.SegmentBytes, w.o.Config.IndexBytes, w.o.Config.IndexIntervalBytes = 500, 96, 1
				w.open()
				w.append(produced(t, 1, 0, 0, true, 1))
				w.append(produced(t, 2, 0, 0, true, 1))
				w.fill(numbers(5)...)
				w.end(2, 0, false)
				require.NoError(t, w.l.Sync(w.l.EndOffset()))
				calls := 0
				beside := fsio.Intercept(w.fs, func(_ *fsio.Op, do func() error) error {
					if calls++; calls == step+1 {
						made = true
						change(w)
					}
					return do()
				})
				for _, f := range verifyAll(t, beside, w.dir, log.VerifyOptions{Deep: true}) {
					reserved := strings.Contains(f.Message, "bytes are reserved behind the last entry")
					require.True(t, reserved || f.Code == log.CodeUncleanStop, "call %d: %+v", step, f)
				}
			}
		})
	}
}

// TestVerifyLegacy finds no error in what Kafka 0.8.2 to 2.8 wrote, and in the damaged cases what was damaged.
func TestVerifyLegacy(t *testing.T) {
	versions := fixture.Versions()[:5]
	if testing.Short() {
		versions = versions[3:4]
	}
	for _, version := range versions {
		for _, name := range fixture.Cases(t, version) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				dir := fixture.Golden(t, name)
				c := fixture.ReadLegacyCase(t, dir)
				fsys, err := fsio.OS(dir)
				require.NoError(t, err)
				defer fsys.Close()
				resume := &log.Resume{
					Clean: c.End == "clean", RecoveryPoint: c.Facts.LogEndOffset, StartOffset: c.LogStartCheckpoint,
				}
				findings := verifyAll(t, fsys, "data", log.VerifyOptions{Deep: true, Resume: resume})
				warnings := briefs(findings, log.SeverityWarning)
				if want := legacyDamage(c); want == "" {
					assert.Empty(t, warnings)
				} else {
					require.NotEmpty(t, warnings)
					assert.Contains(t, strings.Join(warnings, "\n"), want)
				}
			})
		}
	}
}

// legacyDamage is the finding that a case has, "" where there is none.
func legacyDamage(c fixture.LegacyCase) string {
	switch c.Name {
	case "inner-crc":
		return "error CRC_MISMATCH"
	case "torn-header", "torn-plain", "torn-wrapper", "torn-batch":
		return "error TRAILING_BYTES"
	case "zero-tail", "preallocate":
		return "warning TRAILING_BYTES"
	case "outer-crc", "batch-crc":
		return "error CRC_MISMATCH"
	case "index-missing":
		return "warning INDEX_MISSING"
	case "time-index-corrupt":
		return "warning TIMEINDEX_INVALID"
	case "snapshot-corrupt":
		return "warning SNAPSHOT_INVALID"
	}
	return ""
}

// TestVerifyBesideOpen verifies a log beside one that has opened it, and has not changed it: its clean mark is still
// there, and its indexes have reserved space.
func TestVerifyBesideOpen(t *testing.T) {
	fsys := aferofs.Mem()
	for range 2 {
		l, err := log.Open(t.Context(), "p-0", log.Options{FS: fsys})
		require.NoError(t, err)
		assert.Empty(t, briefs(verifyAll(t, fsys, "p-0", log.VerifyOptions{}), log.SeverityWarning))
		if l.EndOffset() == 0 {
			_, err = l.AppendRecords(codec.Record{Value: []byte("x")})
			require.NoError(t, err)
			assert.Empty(t, briefs(verifyAll(t, fsys, "p-0", log.VerifyOptions{}), log.SeverityWarning))
		}
		require.NoError(t, l.Close())
		assert.Empty(t, briefs(verifyAll(t, fsys, "p-0", log.VerifyOptions{}), log.SeverityInfo))
	}
}
