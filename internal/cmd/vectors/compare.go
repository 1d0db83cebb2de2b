package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// compareLog compares a log with what a Kafka read from it, one JSON object a line. With batches the lines say
// all of the batches too, as those of Kafka from 3.9 on do.
func compareLog(log, records string, batches bool, out io.Writer) (failed bool, err error) {
	set, err := os.ReadFile(log)
	if err != nil {
		return false, err
	}
	var count int
	var difference error
	if batches {
		count, difference, err = compareWith(records, set, checkBatches)
	} else {
		count, difference, err = compareWith(records, set, func(set []byte, want []record) error {
			return checkRead(set, want, false)
		})
	}
	switch {
	case err != nil:
		return false, err
	case difference != nil:
		fmt.Fprintf(out, "%s: %v\n", log, difference)
		fmt.Fprintf(out, "RESULT records=%d differences=1\n", count)
		return true, nil
	}
	fmt.Fprintf(out, "RESULT records=%d differences=0\n", count)
	return false, nil
}

// compareWith checks set against the lines of a file, and returns their number.
func compareWith[T any](name string, set []byte, check func([]byte, []T) error) (count int, difference, err error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, nil, err
	}
	defer f.Close()
	var want []T
	for lines := json.NewDecoder(f); ; {
		var line T
		err := lines.Decode(&line)
		if errors.Is(err, io.EOF) {
			return len(want), check(set, want), nil
		}
		if err != nil {
			return 0, nil, fmt.Errorf("%s: %w", name, err)
		}
		want = append(want, line)
	}
}
