package log_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
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
