package main

import (
	"encoding/json"
	"errors"
	"fmt"
)

// What a transactional producer appends to each partition: so many transactions, of so many records each.
const (
	transactionsOfInput = 4
	recordsOfInput      = 3
)

// committedOfInput says whether the i-th transaction is committed.
func committedOfInput(i int) bool { return i%2 == 0 }

// inputValue is the value of the j-th record of the i-th transaction.
func inputValue(partition, i, j int) string {
	return fmt.Sprintf("record %d of transaction %d in partition %d", j, i, partition)
}

// inputRecord is a record of the producer's input.
type inputRecord struct {
	Key       string `json:"key"`
	Value     string `json:"value"`
	Timestamp int64  `json:"timestamp"`
	Partition int    `json:"partition"`
}

// inputTxn begins or ends a transaction.
type inputTxn struct {
	Txn string `json:"txn"`
}

// inputFlush sends what is waiting: an abort would drop it.
type inputFlush struct {
	Flush bool `json:"flush"`
}

// input prints what a transactional producer is to append.
func (c *call) input() error {
	lines := json.NewEncoder(c.out)
	var errs []error
	print := func(line any) { errs = append(errs, lines.Encode(line)) }
	for i := range transactionsOfInput {
		print(inputTxn{"begin"})
		for partition := range partitions {
			for j := range recordsOfInput {
				print(inputRecord{"input", inputValue(partition, i, j), c.time + int64(i), partition})
			}
		}
		print(inputFlush{true})
		end := "abort"
		if committedOfInput(i) {
			end = "commit"
		}
		print(inputTxn{end})
	}
	return errors.Join(errs...)
}
