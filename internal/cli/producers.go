package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/segment"
)

// producerStateLine is what a partition remembers of a producer.
type producerStateLine struct {
	Type string `json:"type"` // producerState
	partitionField
	ProducerID       int64  `json:"producerId"`
	ProducerEpoch    int16  `json:"producerEpoch"`
	CoordinatorEpoch int32  `json:"coordinatorEpoch"`      // of its last marker; −1 before the first
	TxnFirstOffset   *int64 `json:"currentTxnFirstOffset"` // of its open transaction
	LastTimestamp    int64  `json:"lastTimestamp"`
	LastSequence     int32  `json:"lastSequence"` // of its last data batch; −1 where only a marker is known
	LastOffset       int64  `json:"lastOffset"`   // of the same
}

// newProducers is the verb producers.
func newProducers(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "producers [flags] DIR...",
		Short: "Show the idempotent and transactional producers that a partition remembers",
		Long: "producers shows what partitions, or all partitions of a log directory, remember of their producers:\n" +
			"epochs, the last sequence and offset, and where an open transaction begins. It is what the newest\n" +
			"producer snapshot and the batches behind it tell, whatever the producers' age: a broker forgets one\n" +
			"without open transaction when producer.id.expiration.ms is over, a day by default.",
		Example: "  strata producers /var/lib/kafka/orders-0\n" +
			"  strata producers -o json /var/lib/kafka | grep '\"producerId\":7001,'",
		Args: takes(1, -1, "at least one directory"),
	}
	asJSON := textOrJSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		show := e.producersText
		switch asJSON, err := asJSON(); {
		case err != nil:
			return err
		case asJSON:
			show = producersJSON(jsonLines(e.out))
		}
		return e.eachPartition(cmd.Context(), args, func(p *partition) error {
			all, err := p.producers(cmd.Context())
			if err != nil {
				return fmt.Errorf("%s: %w", p.path, err)
			}
			return show(p, all)
		})
	}
	return cmd
}

// producers are the producers that p remembers, by rising ID.
func (p *partition) producers(ctx context.Context) (all []segment.Producer, err error) {
	l, err := p.log(ctx)
	if err != nil {
		return nil, err
	}
	return l.Producers(), l.Close()
}

// producersJSON shows producers as objects.
func producersJSON(lines *json.Encoder) func(*partition, []segment.Producer) error {
	return func(p *partition, all []segment.Producer) error {
		for _, producer := range all {
			if err := lines.Encode(newProducerStateLine(p, producer)); err != nil {
				return err
			}
		}
		return nil
	}
}

// newProducerStateLine is the line of one of p's producers.
func newProducerStateLine(p *partition, producer segment.Producer) producerStateLine {
	line := producerStateLine{
		Type: "producerState", partitionField: p.field(),
		ProducerID: producer.ID, ProducerEpoch: producer.Epoch, CoordinatorEpoch: producer.CoordinatorEpoch,
		LastTimestamp: producer.LastTimestamp, LastSequence: producer.LastSequence(), LastOffset: producer.LastOffset(),
	}
	if producer.TxnFirstOffset != codec.NoOffset {
		line.TxnFirstOffset = &producer.TxnFirstOffset
	}
	return line
}

// producersText shows producers to people.
func (e *env) producersText(p *partition, all []segment.Producer) error {
	fmt.Fprintf(e.out, "%s  %s\n", p.path, counted(int64(len(all)), "producer"))
	if len(all) == 0 {
		return nil
	}
	w := tabwriter.NewWriter(e.out, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "  PRODUCER\tEPOCH\tCOORDINATOR EPOCH\tLAST SEQUENCE\tLAST OFFSET\tLAST TIMESTAMP\tOPEN TRANSACTION\n")
	for _, producer := range all {
		fmt.Fprintf(w, "  %d\t%d\t%s\t%s\t%s\t%s\t%s\n", producer.ID, producer.Epoch,
			numberText(int64(producer.CoordinatorEpoch)), numberText(int64(producer.LastSequence())), numberText(producer.LastOffset()),
			timeText(producer.LastTimestamp), openText(producer.TxnFirstOffset))
	}
	return w.Flush()
}

// openText says where an open transaction begins.
func openText(offset int64) string {
	if offset == codec.NoOffset {
		return "-"
	}
	return fmt.Sprintf("since offset %d", offset)
}

// numberText is n, or "-" where it is negative, since there is none.
func numberText(n int64) string {
	if n < 0 {
		return "-"
	}
	return fmt.Sprint(n)
}
