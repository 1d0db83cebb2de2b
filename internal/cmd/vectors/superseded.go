package main

import (
	"path"
	"slices"
	"strings"
)

// change is a rule of Kafka that was another one before. DESIGN.md has the list, too.
type change struct {
	reason string
	until  []string // the versions with the old rule
	names  []string // patterns of the vectors that show it
	says   string   // is in what check then says
}

var (
	before010  = []string{"0.8.2.2"}
	before0102 = []string{"0.10.0.1"}
	before011  = []string{"0.10.0.1", "0.10.2.2"}
	before1    = []string{"0.11.0.3"}
	before2    = []string{"0.10.0.1", "0.10.2.2", "0.11.0.3"}
	before28   = []string{"0.8.2.2", "0.10.0.1", "0.10.2.2", "0.11.0.3"}
	before3    = []string{"0.10.0.1", "0.10.2.2", "0.11.0.3", "2.8.2"}
)

var changes = []change{
	{
		"0.8 reads lz4 of magic 0 with the wrong header checksum only; later either is read",
		before010,
		[]string{"lz4-header-v0-*"},
		"more than 0 records",
	},
	{
		"0.8 counted a compressed set as one offset where the target was none, and left it compressed",
		before010,
		[]string{"assign-v0-*-to-v0-none"},
		"next offset",
	},
	{
		"more than one batch in an append of wrappers or of magic 2 was accepted",
		before28,
		[]string{"two-wrappers-*"},
		"where there may be one",
	},
	{
		"0.10.0 cannot read wrappers that hold another magic (KAFKA-4298)",
		before0102,
		[]string{"inner-magic-*"},
		"more than 0 records",
	},
	{
		"0.10.2 says of such a message in a wrapper that it has no timestamp type; later it has the wrapper's",
		before011,
		[]string{"inner-magic-*"},
		"timestamp type",
	},
	{
		"the checksum of a message in a wrapper was not verified, or its error was that of an invalid record",
		before2,
		[]string{"inner-crc-*"},
		"checksum",
	},
	{
		"0.10.0 gave log append time to the wrapper only, not to messages taken out of it",
		before0102,
		[]string{"assign-*-to-v1-none-append-time"},
		"bytes",
	},
	{
		"before 0.11 a record without timestamp was refused where timestamps have a bound",
		before011,
		[]string{"no-time-bound-*"},
		"no error",
	},
	{
		"up to 2.8 a client's log append time was refused also for a log with create time; now it is changed",
		before3,
		[]string{"client-append-time-*-to-create"},
		"no error",
	},
	{
		"the offset of the largest timestamp was the record's own also in magic 2, or the last one where there is " +
			"no timestamp; now it is the last of the batch, or none",
		before3,
		[]string{"assign-*", "gaps-v0-gzip", "compacted-keys-*", "time*-v2-none"},
		"its offset",
	},
	{
		"0.10.2 told the largest timestamp of magic 1 also when it wrote magic 0",
		before011,
		[]string{"assign-v1-none-to-v0-none"},
		"max timestamp",
	},
	{
		"0.11 accepted gaps between the offsets of a client's batch of magic 2",
		before1,
		[]string{"gaps-v2-*"},
		"in the offsets",
	},
	{
		"0.11 could not convert records with headers down; now the headers are left out",
		before1,
		[]string{"convert-v2-*"},
		"no error",
	},
}

// supersededBy is the reason for which v, of which check says err, is no failure: the newest Kafka has another
// rule. It is empty where there is none.
func supersededBy(v *vector, err error) string {
	for _, c := range changes {
		if !slices.Contains(c.until, v.Kafka) || !strings.Contains(err.Error(), c.says) {
			continue
		}
		for _, pattern := range c.names {
			if ok, _ := path.Match(pattern, v.Name); ok {
				return c.reason
			}
		}
	}
	return ""
}
