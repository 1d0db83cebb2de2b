package conformance

import (
	"time"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/segment"
)

// SetRows are the rows of TestMessageSet.
func SetRows() (rows []Row) {
	for _, r := range setRows() {
		rows = append(rows, Row{Name: r.name, Rule: r.rule})
	}
	return rows
}

// TrySet runs the row of that name on open, and returns what it found wrong.
func TrySet(name string, fsys fsio.FS, open segment.OpenFunc, limit time.Duration) (failures []string) {
	for _, r := range setRows() {
		if r.name == name {
			failures = r.try(setSubject{fsys, open}, limit).failures
		}
	}
	return failures
}
