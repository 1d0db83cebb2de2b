package conformance

import (
	"time"

	"github.com/stratalog/strata/fsio"
)

// Row is a row as this package's tests see it.
type Row struct{ Name, Rule string }

// FSRows are the rows of TestFS.
func FSRows() (rows []Row) {
	for _, r := range fsRows() {
		rows = append(rows, Row{Name: r.name, Rule: r.rule})
	}
	return rows
}

// TryFS runs the row of that name on fsys, and returns what it found wrong, or why it did not run.
func TryFS(name string, fsys fsio.FS, limit time.Duration) (failures []string, skipped string) {
	for _, r := range fsRows() {
		if r.name == name {
			o := r.try(fsys, limit)
			return o.failures, o.skipped
		}
	}
	return nil, "no such row"
}

// Told are those of a row's failures that are told.
func Told(failures []string) []string { return outcome{failures: failures}.told() }

// BadNames are the names that the suite tries.
func BadNames() []string { return badNames }
