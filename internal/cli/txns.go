package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/stratalog/strata/codec"
)

// transactionLine is a transaction. What only an open one has is null of an aborted one, and the other way
// round.
type transactionLine struct {
	Type string `json:"type"` // transaction
	partitionField
	State       string `json:"state"` // open or aborted
	ProducerID  int64  `json:"producerId"`
	FirstOffset int64  `json:"firstOffset"`

	ProducerEpoch    *int16 `json:"producerEpoch"`
	CoordinatorEpoch *int32 `json:"coordinatorEpoch"` // of the producer's last marker; −1 before the first
	StartTimestamp   *int64 `json:"startTimestamp"`   // of the first batch; −1 where that is gone or damaged
	LastTimestamp    *int64 `json:"lastTimestamp"`    // of the producer's last batch
	HoldsStable      *bool  `json:"holdsStableOffset"`

	LastOffset       *int64 `json:"lastOffset"`       // of the marker
	LastStableOffset *int64 `json:"lastStableOffset"` // when the marker was written
}

// txnsSummaryLine ends what txns tells with -o json.
type txnsSummaryLine struct {
	Type       string `json:"type"` // summary
	Partitions int    `json:"partitions"`
	Open       int    `json:"open"`
	Aborted    int    `json:"aborted"`
}

// newTxns is the verb txns.
func newTxns(e *env) *cobra.Command {
	t := &txns{env: e}
	cmd := &cobra.Command{
		Use:   "txns [flags] DIR...",
		Short: "Show open and aborted transactions, and what holds the last stable offset",
		Long: "txns shows the open and the aborted transactions of partitions, or of all partitions of a log\n" +
			"directory, by their first offset, and which open one holds the last stable offset: no reader of\n" +
			"committed records gets beyond that while it is open. Committed transactions leave nothing to show.\n\n" +
			"--older-than shows the open ones to which nothing was written for longer than that, as\n" +
			"kafka-transactions find-hanging does: give it transaction.max.timeout.ms, 15m by default, or more.\n\n" +
			"Where an index of aborted transactions is damaged, they are found by reading all batches, and the\n" +
			"exit status is 3.",
		Example: "  strata txns /var/lib/kafka/orders-0\n" +
			"  strata txns --older-than 15m /var/lib/kafka",
		Args: takes(1, -1, "at least one directory"),
	}
	asJSON := textOrJSON(cmd)
	cmd.Flags().BoolVar(&t.open, "open", false, "only open transactions")
	cmd.Flags().DurationVar(&t.olderThan, "older-than", 0, "only open ones whose last record is older than this, as 15m")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch asJSON, err := asJSON(); {
		case err != nil:
			return err
		case t.olderThan < 0:
			return usagef("--older-than is %v: give a time span as 15m", t.olderThan)
		case asJSON:
			t.lines = jsonLines(e.out)
		}
		t.aged = cmd.Flags().Changed("older-than")
		return t.run(cmd.Context(), args)
	}
	return cmd
}

// txns is one run of the verb.
type txns struct {
	*env
	open      bool
	aged      bool // --older-than is given
	olderThan time.Duration
	lines     *json.Encoder // of json, otherwise nil
	told      txnsSummaryLine
	bad       bool // an index was damaged
}

// run shows the transactions of the partitions that args name.
func (t *txns) run(ctx context.Context, args []string) error {
	err := t.eachPartition(ctx, args, func(p *partition) error {
		if err := t.partition(ctx, p); err != nil {
			return fmt.Errorf("%s: %w", p.path, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if t.lines != nil {
		t.told.Type = "summary"
		if err := t.lines.Encode(t.told); err != nil {
			return err
		}
	}
	if t.bad {
		return errProblems
	}
	return nil
}

// partition shows the transactions of p.
func (t *txns) partition(ctx context.Context, p *partition) error {
	v, err := p.transactions(ctx, t.open || t.aged)
	if err != nil {
		return err
	}
	for _, damage := range v.damage {
		t.bad = true
		t.notice("%s: aborted transactions are found by their markers: %v", p.path, damage)
	}
	shown := v.all[:0]
	for _, x := range v.all {
		if !t.aged || x.idle(now()) > t.olderThan {
			shown = append(shown, x)
		}
	}
	t.count(shown)
	if t.lines == nil {
		return t.text(p, v, shown)
	}
	for _, x := range shown {
		if err := t.lines.Encode(newTransactionLine(p, x)); err != nil {
			return err
		}
	}
	return nil
}

// count counts what is shown of a partition.
func (t *txns) count(shown []transaction) {
	t.told.Partitions++
	for _, x := range shown {
		if x.open() {
			t.told.Open++
		} else {
			t.told.Aborted++
		}
	}
}

// newTransactionLine is the line of one of p's transactions.
func newTransactionLine(p *partition, x transaction) transactionLine {
	line := transactionLine{
		Type: "transaction", partitionField: p.field(), State: x.state(),
		ProducerID: x.ProducerID, FirstOffset: x.FirstOffset,
	}
	if producer := x.producer; producer != nil {
		line.ProducerEpoch, line.CoordinatorEpoch = &producer.Epoch, &producer.CoordinatorEpoch
		line.StartTimestamp, line.LastTimestamp = &x.started, &producer.LastTimestamp
		line.HoldsStable = &x.holds
		return line
	}
	line.LastOffset, line.LastStableOffset = &x.LastOffset, &x.StableOffset
	return line
}

// text shows transactions of p to people.
func (t *txns) text(p *partition, v transactions, shown []transaction) error {
	if len(shown) == 0 && (t.open || t.aged) {
		return nil
	}
	fmt.Fprintf(t.out, "%s  last stable offset %d, high watermark %d", p.path, v.stable, v.highWatermark)
	if v.holder != codec.NoProducerID {
		fmt.Fprintf(t.out, ", held by producer %d", v.holder)
	}
	fmt.Fprintln(t.out)
	if len(shown) == 0 {
		return nil
	}
	w := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "  STATE\tPRODUCER\tEPOCH\tFIRST OFFSET\tMARKER\tBEGUN\tLAST WRITTEN\tNOTE\n")
	for _, x := range shown {
		epoch, marker, last, note := "-", numberText(x.LastOffset), "-", ""
		if x.open() {
			epoch, marker, last = fmt.Sprint(x.producer.Epoch), "-", timeText(x.producer.LastTimestamp)
		}
		if x.holds {
			note = "holds the last stable offset"
		}
		fmt.Fprintf(w, "  %s\t%d\t%s\t%d\t%s\t%s\t%s\t%s\n", x.state(), x.ProducerID, epoch, x.FirstOffset, marker, timeText(x.started), last, note)
	}
	return w.Flush()
}
