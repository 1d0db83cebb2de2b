// Command handover makes partitions of everything that producers, transactions and leader epochs leave behind,
// for a broker to take over, and then holds what consumers and package log read there against its own model:
//
//	go run ./internal/cmd/handover -dir DIR -time MS [-kill] make
//	go run ./internal/cmd/handover -time MS input
//	go run ./internal/cmd/handover -time MS [-isolation read_committed] consumed FILE.jsonl
//	go run ./internal/cmd/handover -dir DIR -time MS check
//
// make writes the partitions txns-0, in which transactions are left open, and txns-1, in which all are decided,
// below DIR. With -kill it ends without closing them. input prints what a transactional producer is to append to
// them when the broker runs. consumed compares the records that a consumer then got, one JSON object a line.
// check opens the partitions, once the broker has left them, and compares all that is in them.
//
// All of it follows from the time in ms at which the partitions were made, which should be now, since brokers
// forget producers after a day. Each call but input ends with a line of results. The exit status is 1 if
// something differs, and 2 for a wrong call.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

// topic is the topic of the partitions.
const topic = "txns"

// partitions is how many there are. In the first one transactions stay open.
const partitions = 2

// errDiffers says that something is not as the model has it.
var errDiffers = errors.New("differs from the model")

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// call is what the command line says.
type call struct {
	dir       string
	time      int64
	kill      bool
	committed bool
	out       io.Writer
}

// run is the command, and returns its exit status.
func run(args []string, out, errs io.Writer) int {
	c := call{out: out}
	flags := flag.NewFlagSet("handover", flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.StringVar(&c.dir, "dir", "", "the `directory` of the partitions")
	flags.Int64Var(&c.time, "time", 0, "when the partitions were made, in `ms` since 1970")
	flags.BoolVar(&c.kill, "kill", false, "end without closing the partitions")
	isolation := flags.String("isolation", "read_uncommitted", "of the consumer: read_uncommitted or read_committed")
	if flags.Parse(args) != nil {
		return 2
	}
	c.committed = *isolation == "read_committed"
	err := c.do(flags.Args())
	switch {
	case errors.Is(err, errDiffers):
		fmt.Fprintf(errs, "handover: %v\n", err)
		return 1
	case err != nil:
		fmt.Fprintf(errs, "handover: %v\n", err)
		return 2
	}
	return 0
}

// do does what the arguments name.
func (c *call) do(args []string) error {
	verb := ""
	if len(args) > 0 {
		verb = args[0]
	}
	switch {
	case c.time <= 0:
		return errors.New("-time says when the partitions were made")
	case verb == "make" && len(args) == 1 && c.dir != "":
		return c.make()
	case verb == "input" && len(args) == 1:
		return c.input()
	case verb == "consumed" && len(args) == 2:
		return c.consumed(args[1])
	case verb == "check" && len(args) == 1 && c.dir != "":
		return c.check()
	}
	return errors.New("name one of make, input, consumed FILE and check; make and check need -dir")
}
