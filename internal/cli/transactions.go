package cli

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/internal/producer"
	"github.com/stratalog/strata/log"
	"github.com/stratalog/strata/segment"
)

// transaction is an open or an aborted transaction.
type transaction struct {
	index.AbortedTxn                   // of an open one ProducerID and FirstOffset only
	producer         *segment.Producer // of an open one, otherwise nil
	started          int64             // the timestamp of an open one's first batch, as far as that can be read
	holds            bool              // the last stable offset is where it begins
}

// open reports whether it is open.
func (x transaction) open() bool { return x.producer != nil }

// state is open or aborted.
func (x transaction) state() string {
	if x.open() {
		return "open"
	}
	return "aborted"
}

// idle is how long before the time ms its producer wrote last.
func (x transaction) idle(ms int64) time.Duration {
	return time.Duration(ms-x.producer.LastTimestamp) * time.Millisecond
}

// transactions are those of a partition.
type transactions struct {
	all                   []transaction // by first offset
	stable, highWatermark int64
	holder                int64   // the producer whose transaction holds the stable offset, or codec.NoProducerID
	damage                []error // what is damaged, and was done without
}

// transactions finds out which transactions of p are open, and, unless onlyOpen, which were aborted.
func (p *partition) transactions(ctx context.Context, onlyOpen bool) (v transactions, err error) {
	l, err := p.log(ctx)
	if err != nil {
		return v, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	st := l.State()
	v = transactions{stable: st.StableOffset, highWatermark: st.HighWatermark, holder: codec.NoProducerID}
	for _, by := range st.Producers {
		if by.TxnFirstOffset == codec.NoOffset {
			continue
		}
		x := transaction{producer: &by, started: startOf(l, by.TxnFirstOffset), holds: by.TxnFirstOffset == st.FirstUnstable}
		x.ProducerID, x.FirstOffset = by.ID, by.TxnFirstOffset
		if x.holds {
			v.holder = by.ID
		}
		v.all = append(v.all, x)
	}
	if !onlyOpen {
		aborted, damage, err := p.aborted(ctx, l)
		if err != nil {
			return v, err
		}
		for _, t := range aborted {
			v.all = append(v.all, transaction{AbortedTxn: t, started: codec.NoTimestamp})
		}
		v.damage = damage
	}
	slices.SortFunc(v.all, func(a, b transaction) int { return cmp.Compare(a.FirstOffset, b.FirstOffset) })
	return v, nil
}

// startOf is the timestamp of the batch with which an open transaction begins; codec.NoTimestamp where that
// cannot be read.
func startOf(l *log.Log, offset int64) int64 {
	s, err := l.ReadWith(offset, log.ReadOptions{MaxBytes: 1, Isolation: log.ReadToEnd})
	if err != nil {
		return codec.NoTimestamp
	}
	defer func() { _ = s.Close() }() // nothing was written
	next, stop := iter.Pull2(s.Batches())
	defer stop()
	if b, err, ok := next(); ok && err == nil && b.BaseOffset == offset {
		return b.BaseTimestamp
	}
	return codec.NoTimestamp
}

// aborted are the aborted transactions of p, whose log is l. Where an index is damaged they are those that the
// batches tell, and damage says so.
func (p *partition) aborted(ctx context.Context, l *log.Log) (all []index.AbortedTxn, damage []error, err error) {
	all, err = l.Aborted(l.StartOffset(), l.EndOffset())
	if !errors.Is(err, index.ErrCorrupt) {
		return all, nil, err
	}
	damage = []error{err}
	all, err = p.abortedByBatches(ctx, l.StartOffset())
	return all, damage, err
}

// abortedByBatches finds the aborted transactions with records at start or above by their markers, as recovery
// does. Batches that do not fit those before, since something between them is lost, are passed over.
func (p *partition) abortedByBatches(ctx context.Context, start int64) (all []index.AbortedTxn, err error) {
	state, err := producer.Open(p.fsys, p.dir, producer.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	c := codec.Kafka()
	for _, base := range p.bases {
		err := p.eachBatch(ctx, c, base, func(b codec.Batch) (err error) {
			replayed := producer.Batch{Header: &b.Header}
			if b.Attributes.Control() {
				if replayed.Marker, err = producer.ReadMarker(c, b.Bytes); err != nil {
					return nil //nolint:nilerr // a control batch of another kind
				}
			}
			if more, err := state.Replay(all, replayed); err == nil {
				all = more
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(all, func(t index.AbortedTxn) bool { return t.LastOffset < start }), nil
}

// eachBatch calls do for the batches of a segment that can be read.
func (p *partition) eachBatch(ctx context.Context, c codec.Codec, base int64, do func(codec.Batch) error) (err error) {
	s, err := p.scan(ctx, c, base, base)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for piece, err := range s.pieces() {
		if err == nil && piece.Err == nil {
			err = do(piece.Batch)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
