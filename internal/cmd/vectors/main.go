// Command vectors checks package codec against bytes that several versions of Kafka have written, read,
// validated and converted:
//
//	go run ./internal/cmd/vectors FILE...
//
// A file has one JSON object a line. The name of each line that fails is printed, and at the end a line of
// results; the exit status is 1 if any failed. A line that an older version answers otherwise than the newest,
// whose rules are ours, is counted as superseded.
//
// For the other direction, it makes logs of batches of every format, by a seed, and compares what a Kafka read
// from such a log with what the codec reads:
//
//	go run ./internal/cmd/vectors -make DIR [-seed N]
//	go run ./internal/cmd/vectors -log FILE.log [-batches] RECORDS.jsonl
//
// With -batches the records are as Kafka from 3.9 on tells them, with all of their batches.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run is the command, and returns its exit status.
func run(args []string, out, errs io.Writer) int {
	flags := flag.NewFlagSet("vectors", flag.ContinueOnError)
	flags.SetOutput(errs)
	dir := flags.String("make", "", "make logs of batches of every format in this `directory`")
	seed := flags.Uint64("seed", 1, "what the logs are made from")
	log := flags.String("log", "", "compare this `file` with what Kafka read from it")
	batches := flags.Bool("batches", false, "with -log: compare the batches, too")
	if flags.Parse(args) != nil {
		return 2
	}
	var failed bool
	var err error
	switch files := flags.Args(); {
	case *dir != "" && len(files) == 0:
		err = makeLogs(*dir, *seed, out)
	case *log != "" && len(files) == 1:
		failed, err = compareLog(*log, files[0], *batches, out)
	case *dir == "" && *log == "" && len(files) > 0:
		failed, err = checkAll(files, out)
	default:
		err = fmt.Errorf("name at least one file of vectors, or -make DIR, or -log FILE and one file of records")
	}
	switch {
	case err != nil:
		fmt.Fprintf(errs, "vectors: %v\n", err)
		return 2
	case failed:
		return 1
	}
	return 0
}

// checkAll checks the vectors in files.
func checkAll(files []string, out io.Writer) (failed bool, err error) {
	var total tally
	for _, name := range files {
		if err := total.file(name, out); err != nil {
			return false, err
		}
	}
	fmt.Fprintln(out, total)
	return total.failed() > 0, nil
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
	f, err := os.Open(name)
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
		differences := v.check()
		switch {
		case len(differences) == 0:
			t.pass++
		case len(supersededBy(&v, differences)) > 0:
			t.superseded++
		default:
			fmt.Fprintf(out, "%s %s: %v\n", v.Kafka, v.Name, said(differences))
		}
	}
	return lines.Err()
}

// said are differences in one line.
func said(differences []error) string {
	texts := make([]string, len(differences))
	for i, err := range differences {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}
