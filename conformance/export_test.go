package conformance

import "github.com/stratalog/strata/fsio"

// Row is a row as this package's tests see it.
type Row struct{ Name, Rule string }

func rowsOf[S any](rows []row[S]) (seen []Row) {
	for _, r := range rows {
		seen = append(seen, Row{Name: r.name, Rule: r.rule})
	}
	return seen
}

// Outcome is what a row found, as this package's tests see it.
type Outcome struct {
	Failures []string
	Skipped  string // why it did not run
	Hung     bool   // it did not end, and found nothing else
}

// tryRow runs the row of that name on subject, which breaks its rule. A call that ought to wait is watched for as long
// as a row may take: what is broken returns.
func tryRow[S any](rows []row[S], name string, subject S) Outcome {
	for _, r := range rows {
		if r.name == name {
			o := r.try(subject, &check{lull: rowLimit})
			return Outcome{Failures: o.failures, Skipped: o.skipped, Hung: o.hung}
		}
	}
	return Outcome{Skipped: "no such row"}
}

// FSRows are the rows of TestFS.
func FSRows() []Row { return rowsOf(fsRows()) }

// TryFS runs the row of that name on fsys.
func TryFS(name string, fsys fsio.FS) Outcome { return tryRow(fsRows(), name, fsys) }

// Told are those of a row's failures that are told.
func Told(failures []string) []string { return outcome{failures: failures}.told() }

// BadNames are the names that the suite tries.
func BadNames() []string { return badNames }
