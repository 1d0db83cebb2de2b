package main

import (
	"math"
	"slices"
	"strings"

	"github.com/stratalog/strata/codec"
)

// change is a rule of Kafka that was another one before. DESIGN.md has the list, too.
type change struct {
	reason string
	until  []string // the versions with the old rule
	says   []string // one is in each difference that check then finds
	// shows reports whether v comes under the rule, by what it holds, and is what the old one makes of it.
	shows func(v *vector) bool
}

var (
	only08    = []string{"0.8.2.2"}
	only0100  = []string{"0.10.0.1"}
	only0102  = []string{"0.10.2.2"}
	only011   = []string{"0.11.0.3"}
	before011 = []string{"0.10.0.1", "0.10.2.2"}
	before2   = []string{"0.10.0.1", "0.10.2.2", "0.11.0.3"}
	before28  = []string{"0.8.2.2", "0.10.0.1", "0.10.2.2", "0.11.0.3"}
	before3   = []string{"0.10.0.1", "0.10.2.2", "0.11.0.3", "2.8.2"}
)

var changes = []change{
	{
		"0.8 reads lz4 of magic 0 with the wrong header checksum only; later either is read",
		only08,
		[]string{"more than 0 records"},
		func(v *vector) bool {
			in := v.input()
			return v.ReadError != "" && in.Magic == 0 && in.Attributes.Compression() == codec.LZ4
		},
	},
	{
		"0.8 counted a compressed set as one offset where the target was none, and left it compressed",
		only08,
		[]string{"bytes", "next offset", "in place"},
		func(v *vector) bool { return v.unpacks() && v.NextOffset == v.Offset+1 },
	},
	{
		"more than one batch in an append of wrappers or of magic 2 was accepted",
		before28,
		[]string{"where there may be one"},
		func(v *vector) bool {
			in := v.input()
			return v.Error == "" && in.batches > 1 && (in.Magic == 2 || in.packed())
		},
	},
	{
		"0.10.0 cannot read wrappers that hold another magic (KAFKA-4298)",
		only0100,
		[]string{"more than 0 records"},
		func(v *vector) bool { return v.ReadError != "" && v.input().holdsOtherMagic() },
	},
	{
		"0.10.2 says of such a message in a wrapper that it has no timestamp type; later it has the wrapper's",
		only0102,
		[]string{"timestamp type"},
		func(v *vector) bool { return v.Kind == "set" && v.input().holdsOtherMagic() },
	},
	{
		"the checksum of a message in a wrapper was not verified, or its error was that of an invalid record",
		before2,
		[]string{"checksum"},
		func(v *vector) bool { return v.Kind == "validate" && v.input().holdsWrongChecksum() },
	},
	{
		"before 0.11 log append time was given to the wrapper only, not to messages taken out of it",
		before011,
		[]string{"bytes"},
		func(v *vector) bool {
			return v.wantsLogAppendTime() && v.unpacks() && v.keptTimes()
		},
	},
	{
		"before 0.11 a record without timestamp was refused where timestamps have a bound",
		before011,
		[]string{"want org.apache.kafka.common.errors.InvalidTimestampException"},
		func(v *vector) bool { return v.MaxDiffMs < math.MaxInt64 && v.input().lacksTime() },
	},
	{
		"up to 2.8 a client's log append time was refused also for a log with create time; now it is changed",
		before3,
		[]string{"want org.apache.kafka.common.errors.InvalidTimestampException"},
		func(v *vector) bool { return !v.wantsLogAppendTime() && v.input().Attributes.LogAppendTime() },
	},
	{
		"the last offset was that of the largest timestamp where there is none; now there is no such offset",
		before3,
		[]string{"its offset"},
		func(v *vector) bool { return has(v.MaxTimestamp, codec.NoTimestamp) && v.toldLast() },
	},
	{
		"the offset of the largest timestamp was the record's own also in magic 2; now it is the last of the batch",
		before3,
		[]string{"its offset"},
		func(v *vector) bool {
			return v.TargetMagic == 2 && !v.input().packed() && !v.wantsLogAppendTime() && v.toldOwn()
		},
	},
	{
		"0.10.2 told the last offset for log append time also of messages that it took out of a wrapper or gave " +
			"another magic; now it is the first",
		only0102,
		[]string{"its offset"},
		func(v *vector) bool {
			in := v.input()
			return v.wantsLogAppendTime() && (in.packed() || in.Magic != v.TargetMagic) && v.TargetCodec.Compression == codec.None && v.toldLast()
		},
	},
	{
		"0.10.2 told the largest timestamp of magic 1 also when it wrote magic 0",
		only0102,
		[]string{"max timestamp", "its offset"},
		func(v *vector) bool {
			return v.input().Magic == 1 && v.TargetMagic == 0 && v.toldNewest() && v.toldOwn()
		},
	},
	{
		"0.11 accepted gaps between the offsets of a client's batch of magic 2",
		only011,
		[]string{"in the offsets"},
		func(v *vector) bool { return v.Error == "" && v.input().Magic == 2 && v.input().hasGaps() },
	},
	{
		"0.11 could not convert records with headers down; now the headers are left out",
		only011,
		[]string{"no error"},
		func(v *vector) bool { return v.Kind == "convert" && v.input().hasHeaders() },
	},
}

// isSaid reports whether the difference is one that the old rule makes.
func (c *change) isSaid(difference error) bool {
	return slices.ContainsFunc(c.says, func(part string) bool { return strings.Contains(difference.Error(), part) })
}

// supersededBy are the reasons for which v is no failure, although check says errs of it: the newest Kafka has
// other rules. There are none where one of errs has no reason.
func supersededBy(v *vector, errs []error) (reasons []string) {
	for _, err := range errs {
		i := slices.IndexFunc(changes, func(c change) bool {
			return slices.Contains(c.until, v.Kafka) && c.isSaid(err) && c.shows(v)
		})
		if i < 0 {
			return nil
		}
		reasons = append(reasons, changes[i].reason)
	}
	return reasons
}
