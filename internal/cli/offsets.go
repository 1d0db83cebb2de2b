package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/log"
)

// offsetLine is the answer to a question for a time.
type offsetLine struct {
	Type        string  `json:"type"` // offset
	Topic       *string `json:"topic"`
	Partition   *int32  `json:"partition"`
	Offset      int64   `json:"offset"`    // −1: there is no such record
	Timestamp   int64   `json:"timestamp"` // of the record; −1 where the question was not for one
	LeaderEpoch int32   `json:"leaderEpoch"`
}

// newOffsets is the verb offsets.
func newOffsets(e *env) *cobra.Command {
	var at string
	cmd := &cobra.Command{
		Use:   "offsets [flags] DIR...",
		Short: "Tell offsets by time, as topic:partition:offset",
		Long: "offsets tells, of partitions or of all partitions of a log directory, the offset of the first record\n" +
			"at a time or after it, as kafka-get-offsets does of a broker: topic:partition:offset, with -1 where\n" +
			"there is no such record. Where damage hides it, standard error says so, and the exit status is 3.\n\n" +
			"The end is the end of the log on disk: a high watermark is a broker's.",
		Example: "  strata offsets /var/lib/kafka\n" +
			"  strata offsets --time 2026-07-01T00:00:00Z /var/lib/kafka/orders-0",
		Args: takes(1, -1, "at least one directory"),
	}
	asJSON := textOrJSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ms, err := parseTime(at)
		if err != nil {
			return err
		}
		asJSON, err := asJSON()
		if err != nil {
			return err
		}
		bad := false
		err = e.eachPartition(cmd.Context(), args, func(p *partition) error {
			switch err := e.tellOffset(cmd.Context(), p, ms, asJSON); {
			case errors.Is(err, codec.ErrCorrupt):
				bad = true
				e.notice("%s: no offset can be told: %v", p.path, err)
				return nil
			case err != nil:
				return fmt.Errorf("%s: %w", p.path, err)
			}
			return nil
		})
		if err == nil && bad {
			err = errProblems
		}
		return err
	}
	cmd.Flags().StringVar(&at, "time", "-1", "ms since 1970, RFC 3339, -1 or latest, -2 or earliest, -3 or max-timestamp")
	offer(cmd, "time", "latest", "earliest", "max-timestamp")
	return cmd
}

// tellOffset tells the offset of p for the time ms.
func (e *env) tellOffset(ctx context.Context, p *partition, ms int64, asJSON bool) (err error) {
	l, err := p.log(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	found, ok, err := l.OffsetForTime(ms)
	if err != nil {
		return err
	}
	line := offsetLine{"offset", p.name.topic, p.name.id, found.Offset, found.Timestamp, found.LeaderEpoch}
	if !ok {
		line.Offset, line.Timestamp, line.LeaderEpoch = codec.NoOffset, codec.NoTimestamp, codec.NoLeaderEpoch
	}
	if asJSON {
		return jsonLines(e.out).Encode(line)
	}
	_, err = fmt.Fprintf(e.out, "%s:%d\n", p.title(), line.Offset)
	return err
}

// times are the words for the times that are none.
var times = map[string]int64{
	"latest": log.Latest, "earliest": log.Earliest, "max-timestamp": log.MaxTimestamp,
	"earliest-local": log.EarliestLocal, "latest-tiered": log.LatestTiered,
}

// parseTime reads the argument of --time.
func parseTime(s string) (int64, error) {
	if ms, ok := times[s]; ok {
		return ms, nil
	}
	if ms, err := strconv.ParseInt(s, 10, 64); err == nil && ms >= log.EarliestPendingUpload {
		return ms, nil
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t.UnixMilli(), nil
	}
	return 0, usagef("--time is %q: give ms since 1970, a time as 2026-07-01T00:00:00Z, latest, earliest or max-timestamp", s)
}
