package cli

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/log"
)

// teller tells of what verify finds, in one of the outputs.
type teller interface {
	finding(f log.Finding) error
	summary(c log.Counts) error
	problems() int64 // the number of errors and warnings so far
}

// tally counts findings by their severity.
type tally struct{ errors, warnings, infos int64 }

// count counts f.
func (t *tally) count(f log.Finding) {
	switch f.Severity {
	case log.SeverityError:
		t.errors++
	case log.SeverityWarning:
		t.warnings++
	case log.SeverityInfo:
		t.infos++
	}
}

// problems implements teller.
func (t *tally) problems() int64 { return t.errors + t.warnings }

// verifySummaryLine ends what verify tells with -o json.
type verifySummaryLine struct {
	Type     string `json:"type"` // summary
	Files    int64  `json:"files"`
	Bytes    int64  `json:"bytes"` // of .log files
	Batches  int64  `json:"batches"`
	Records  int64  `json:"records"`
	Errors   int64  `json:"errors"`
	Warnings int64  `json:"warnings"`
	Infos    int64  `json:"infos"`
}

// jsonTeller tells of everything on standard output, one object a line.
type jsonTeller struct {
	tally
	lines *json.Encoder
}

func (t *jsonTeller) finding(f log.Finding) error {
	t.count(f)
	return t.lines.Encode(newFindingLine(f))
}

func (t *jsonTeller) summary(c log.Counts) error {
	return t.lines.Encode(verifySummaryLine{
		"summary", c.Files, c.Bytes, c.Batches, c.Records, t.errors, t.warnings, t.infos,
	})
}

// textTeller tells of errors and warnings on standard error, and of the rest on standard output.
type textTeller struct {
	tally
	out, errs io.Writer
}

func (t *textTeller) finding(f log.Finding) error {
	t.count(f)
	line := findingText(f) + "\n"
	if f.Severity > log.SeverityInfo {
		_, _ = io.WriteString(t.errs, line) // where it cannot be written there is nobody to tell
		return nil
	}
	_, err := io.WriteString(t.out, line)
	return err
}

func (t *textTeller) summary(c log.Counts) error {
	_, err := fmt.Fprintf(t.out, "%s, %s, %s, %s: %s, %s, %d info\n",
		counted(c.Files, "file"), counted(c.Bytes, "byte"), counted(c.Batches, "batch"), counted(c.Records, "record"),
		counted(t.errors, "error"), counted(t.warnings, "warning"), t.infos)
	return err
}

// counted is a number of things.
func counted(n int64, thing string) string {
	switch {
	case n == 1:
	case thing == "batch":
		thing = "batches"
	default:
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// findingText is the line of f for people.
func findingText(f log.Finding) string {
	text := fmt.Sprintf("%s %s %s", f.Severity, f.Code, f.File)
	if f.Position >= 0 {
		text += fmt.Sprintf(" at %d", f.Position)
	}
	text += ": " + f.Message
	notes, between := "", ""
	note := func(tell bool, format string, args ...any) {
		if tell {
			notes += between + fmt.Sprintf(format, args...)
			between = "; "
		}
	}
	known, bounded := f.FirstOffset != codec.NoOffset, f.NextOffset > f.FirstOffset
	note(known && bounded, "offsets %d to %d", f.FirstOffset, f.NextOffset-1)
	note(known && !bounded, "from offset %d on", f.FirstOffset)
	note(f.Repair != log.MendNone, "mend: %s", f.Repair)
	note(f.SeekTo != codec.NoOffset, "go on at %d", f.SeekTo)
	if notes != "" {
		text += " (" + notes + ")"
	}
	return text
}
