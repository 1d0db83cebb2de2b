package model

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/stratalog/strata/log"
)

// The form of a script.
const (
	headBytes = 8 // the configuration
	opBytes   = 4
)

// op is an operation of a script: what it does, and three numbers that it reads as it likes.
type op struct {
	kind
	a, b, c byte
}

// kind is what an op does, and how often it comes.
type kind struct {
	name  string
	often int
	do    func(*runner)
}

// kinds are all kinds.
var kinds = [...]kind{
	{"append", 15, (*runner).append},
	{"produce", 15, (*runner).produce},
	{"mark", 8, (*runner).mark},
	{"verify", 2, (*runner).verify},
	{"raft", 2, (*runner).raft},
	{"expire", 2, (*runner).expire},
	{"snapshot", 1, (*runner).snapshot},
	{"aborted", 3, (*runner).aborted},
	{"follow", 10, (*runner).follow},
	{"read", 10, (*runner).read},
	{"time", 6, func(r *runner) { r.time(r.someTime()) }},
	{"roll", 3, (*runner).roll},
	{"sync", 2, (*runner).sync},
	{"set", 6, (*runner).setHigh},
	{"raise", 3, (*runner).raiseHigh},
	{"delete", 3, (*runner).deleteBefore},
	{"advance", 4, (*runner).advance},
	{"retain", 4, (*runner).retain},
	{"truncate", 4, (*runner).truncate},
	{"reset", 1, (*runner).reset},
	{"reopen", 3, (*runner).reopen},
	{"kill", 3, (*runner).kill},
	{"compare", 5, (*runner).compareAll},
	{"configure", 1, (*runner).configure},
	{"assign", 2, (*runner).assign},
	{"epoch", 4, (*runner).epochs},
}

// kindOf is the kind that a byte stands for: each has as many as it is to come often.
func kindOf(b byte) kind {
	all := 0
	for _, k := range kinds {
		all += k.often
	}
	at := int(b) % all
	for _, k := range kinds {
		if at -= k.often; at < 0 {
			return k
		}
	}
	panic("model: no kind") // at is below the sum
}

// Script is the script of a seed.
func Script(seed uint64) []byte {
	random := rand.New(rand.NewPCG(seed, 7))
	script := make([]byte, headBytes+opBytes*(10+random.IntN(36)))
	for i := range script {
		script[i] = byte(random.Uint32())
	}
	return script
}

// opAt is the i-th operation of a script.
func opAt(script []byte, i int) op {
	b := script[headBytes+opBytes*i:]
	return op{kindOf(b[0]), b[1], b[2], b[3]}
}

// ops is how many operations a script has. One that is shorter than its head has none.
func ops(script []byte) int { return max(0, len(script)-headBytes) / opBytes }

// String names the operation and its numbers.
func (o op) String() string { return fmt.Sprintf("%s %d %d %d", o.name, o.a, o.b, o.c) }

// Text is a script for people, with the bytes that repeat it.
func Text(script []byte) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%+v\n", hex.EncodeToString(script), choose(script))
	for i := range ops(script) {
		fmt.Fprintf(&b, "%3d %s\n", i, opAt(script, i))
	}
	return b.String()
}

// tick is what most times are whole numbers of, so that they meet.
const tick = 100 * time.Millisecond

// setup is what the head of a script chooses.
type setup struct {
	config                       log.Config
	replicated, alone, scheduled bool
	verify                       bool // the first batch of a transaction needs a guard
	sums                         bool
	workers                      int // that recover
	handles                      int // files that may be open; 0 means the default
}

// choose reads the head of a script.
func choose(script []byte) setup {
	var head [headBytes]byte
	copy(head[:], script)
	c := log.Config{
		SegmentBytes:       pick[int64](head[0], 600, 300, 1500, 4000),
		IndexBytes:         pick[int64](head[0]>>2, 4096, 4096, 60, 24),
		IndexIntervalBytes: pick[int64](head[0]>>4, 200, log.Zero, 500, 4096),
		MessageBytes:       pick[int64](head[0]>>6, 4000, 4000, 400, 250),
		SegmentAge:         pick(head[1], 0, 0, 3*tick, 15*tick),
		FlushMessages:      pick[int64](head[1]>>2, 0, 0, 5, 1),
		Timestamps:         pick(head[1]>>4, log.CreateTime, log.CreateTime, log.CreateTime, log.LogAppendTime),
		TimestampBefore:    pick(head[1]>>6, 0, 0, 0, 9*tick),
		TimestampAfter:     pick(head[2], 0, 0, 0, 9*tick),
		ProducerAge:        pick(head[2]>>4, 0, 0, 0, 20*tick),
		Cleanup:            pick(head[2]>>2, log.Delete, log.Delete, log.Delete|log.Compact, log.Compact),
		Compression:        pick(head[2]>>6, log.CompressionProducer, log.CompressionProducer, log.CompressionNone, log.CompressionSnappy),
	}
	retention(&c, head[3])
	c.Preallocate = head[4]>>2%4 == 1
	return setup{
		config: c, replicated: head[4]%4 != 0, alone: head[5]%2 == 0, scheduled: head[6]%2 == 0, verify: head[6]>>1%4 == 1,
		sums: head[7]%4 == 1, workers: pick(head[7]>>2, 0, 0, 0, 3), handles: pick(head[7]>>4, 0, 0, 0, 2),
	}
}

// retention chooses how long c keeps records.
func retention(c *log.Config, b byte) {
	c.RetainBytes = pick[int64](b, -1, 1000, 400, log.Zero)
	c.RetainAge = pick(b>>2, -1, 0, 5*tick, 20*tick)
}

// pick is one of four.
func pick[T any](b byte, from ...T) T { return from[int(b)%len(from)] }
