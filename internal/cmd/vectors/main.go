// Command vectors checks package codec against bytes that several versions of Kafka have written, read,
// validated and converted:
//
//	go run ./internal/cmd/vectors FILE...
//
// A file has one JSON object a line. The name of each line that fails is printed, and at the end a line of
// results; the exit status is 1 if any failed. A line that an older version answers otherwise than the newest,
// whose rules are ours, is counted as superseded.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run is the command, and returns its exit status.
func run(files []string, out, errs io.Writer) int {
	if len(files) == 0 {
		fmt.Fprintln(errs, "vectors: name at least one file of vectors")
		return 2
	}
	var total tally
	for _, name := range files {
		if err := total.file(name, out); err != nil {
			fmt.Fprintf(errs, "vectors: %v\n", err)
			return 2
		}
	}
	fmt.Fprintln(out, total)
	if total.failed() > 0 {
		return 1
	}
	return 0
}

// tally counts.
type tally struct {
	vectors, pass, superseded int
}

func (t tally) failed() int { return t.vectors - t.pass - t.superseded }

// String is the line of results.
func (t tally) String() string {
	return fmt.Sprintf("RESULT vectors=%d pass=%d superseded=%d", t.vectors, t.pass, t.superseded)
}

func (t *tally) file(name string, out io.Writer) error {
	f, err := os.Open(name) //nolint:forbidigo // no file of a store
	if err != nil {
		return err
	}
	defer f.Close()
	if err := t.read(f, out); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// maxLineBytes is longer than any vector.
const maxLineBytes = 64 << 20

// read checks the vectors of r.
func (t *tally) read(r io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLineBytes)
	for lines.Scan() {
		var v vector
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			return err
		}
		t.vectors++
		err := v.check()
		switch {
		case err == nil:
			t.pass++
		case supersededBy(&v, err) != "":
			t.superseded++
		default:
			fmt.Fprintf(out, "%s %s: %v\n", v.Kafka, v.Name, err)
		}
	}
	return lines.Err()
}
