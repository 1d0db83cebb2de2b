package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/stratalog/strata/scheduler"
)

// benchLine is what bench tells of a work.
type benchLine struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"` // of strata
	Unit  string  `json:"unit"`
	Limit float64 `json:"limit"` // of the same bytes by the bare system calls, in the same run
	Ratio float64 `json:"ratio"` // value / limit
}

// work is something that is measured: strata and the bare system calls in turn, several times.
type work struct {
	name   string
	about  string
	amount int64  // of a round
	unit   string // of the rates: millions of what amount counts, a second
	// start makes what the rounds need below dir.
	start func(ctx context.Context, dir string, amount int64) (rounds, error)
}

// rounds are the two sides of a work.
type rounds struct {
	limit, strata side
	stop          func() error
}

// side is what is done in a round: ready is not measured.
type side struct{ ready, do func() error }

// benchRounds is how often each side is measured. An odd number has a median.
const benchRounds = 15

// works are what bench measures.
var works = []work{
	{"append-1k-x100", "append as leader, batches of 100 records of 1 KiB, no sync; limit: write + CRC-32C", 128 << 20, "MB/s", appending(100, 1<<10)},
	{"append-100b-x100", "the same with records of 100 bytes", 64 << 20, "MB/s", appending(100, 100)},
	{"scan-1g", "visit all records of 1 GiB, checksums checked; limit: pread + CRC-32C", 1 << 30, "MB/s", scanning(100, 1<<10)},
	{"lookup-10m", "look-ups anywhere in an offset index of 10 MiB; limit: a binary search of the same mapped bytes", 1 << 20, "M/s", lookingUp},
	{"producers-100k", "append records of 100 bytes, one a batch, of 100,000 producers in turn; limit: of none", 16 << 20, "MB/s", producing},
}

// newBench is the verb bench.
func newBench(e *env) *cobra.Command {
	var output, dir string
	var only []string
	cmd := &cobra.Command{
		Use:   "bench [flags]",
		Short: "Measure appending, scanning and looking up beside the bare limits",
		Long:  "bench measures works on this machine, each beside a limit in the same run, in turn, and tells the medians.\nThe works:\n\n" + worksHelp(),
		Args:  takes(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output != "text" && output != "json" {
				return usagef("unknown output %q: -o takes text or json", output)
			}
			todo, err := choose(only)
			if err != nil {
				return err
			}
			return e.bench(cmd.Context(), todo, dir, output == "json")
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text or json: an object a work")
	cmd.Flags().StringVar(&dir, "dir", "", "the directory to work in, which is made where it is missing; a temporary one by default")
	cmd.Flags().StringSliceVar(&only, "only", nil, "works to do, with commas between; all by default")
	return cmd
}

// worksHelp is the list of the works.
func worksHelp() string {
	var b strings.Builder
	for _, w := range works {
		fmt.Fprintf(&b, "  %-18s %s\n", w.name, w.about)
	}
	return b.String()
}

// choose are the works that names names, all where there are none.
func choose(names []string) ([]work, error) {
	if len(names) == 0 {
		return works, nil
	}
	var chosen []work
	for _, name := range names {
		i := slices.IndexFunc(works, func(w work) bool { return w.name == name })
		if i < 0 {
			return nil, usagef("there is no work %q: strata bench --help lists them", name)
		}
		chosen = append(chosen, works[i])
	}
	return chosen, nil
}

// bench measures the works in a directory of its own below dir.
func (e *env) bench(ctx context.Context, todo []work, dir string, asJSON bool) (err error) {
	if dir != "" {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	own, err := os.MkdirTemp(dir, "strata-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(own)) }()
	table := tabwriter.NewWriter(e.out, 0, 0, 2, ' ', 0)
	for _, w := range todo {
		line, err := w.measure(ctx, own)
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		if asJSON {
			if err := errors.Join(jsonLines(e.out).Encode(line), e.out.Flush()); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(table, "%s\t%.4g %s\tof %.4g\t%.2f\n", line.Name, line.Value, line.Unit, line.Limit, line.Ratio)
	}
	return table.Flush()
}

// measure does the work in turn with its limit.
func (w work) measure(ctx context.Context, dir string) (line benchLine, err error) {
	r, err := w.start(ctx, dir, w.amount)
	if err != nil {
		return benchLine{}, err
	}
	defer func() { err = errors.Join(err, r.stop()) }()
	var values, limits []float64
	for range benchRounds {
		for _, s := range []struct {
			side
			into *[]float64
		}{{r.limit, &limits}, {r.strata, &values}} {
			if err := errors.Join(ctx.Err(), s.ready()); err != nil {
				return benchLine{}, err
			}
			begin := scheduler.System().Now()
			if err := s.do(); err != nil {
				return benchLine{}, err
			}
			*s.into = append(*s.into, w.rate(scheduler.System().Now().Sub(begin)))
		}
	}
	value, limit := median(values), median(limits)
	return benchLine{w.name, value, w.unit, limit, value / limit}, nil
}

// rate is w's amount in the time took, in millions a second.
func (w work) rate(took time.Duration) float64 { return float64(w.amount) / 1e6 / took.Seconds() }

// median is the middle one of an odd number of values.
func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}
