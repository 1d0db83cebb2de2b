package cli

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/log"
)

// benchProducers is how many producers append in turn, in a work that is not small.
const benchProducers = 100_000

// crowdWork appends batches of one record to two logs: of very many producers to one, of none to the other.
type crowdWork struct {
	ctx        context.Context
	dir        string
	batch      []byte
	n          int // batches a round
	none, many *log.Log
	producers  int64
	producer   int64
	sequence   uint32
}

// producing is the work of appending for many producers.
func producing(ctx context.Context, dir string, amount int64) (rounds, error) {
	batch, err := codec.Kafka().Append(nil, codec.NewHeader(2), []codec.Record{{Timestamp: 1_700_000_000_000, Value: make([]byte, 100)}})
	if err != nil {
		return rounds{}, err
	}
	w := &crowdWork{ctx: ctx, dir: dir, batch: batch, n: int(amount) / len(batch), producers: min(benchProducers, amount/100)}
	if err := w.open(); err != nil {
		return rounds{}, errors.Join(err, w.stop())
	}
	nothing := func() error { return nil }
	return rounds{
		side{nothing, func() error { return w.append(w.none, w.n) }},
		side{nothing, func() error { return w.append(w.many, w.n) }},
		w.stop,
	}, nil
}

// open makes the logs, one of which knows all producers.
func (w *crowdWork) open() (err error) {
	if w.none, err = log.Open(w.ctx, filepath.Join(w.dir, "none-0"), log.Options{}); err != nil {
		return err
	}
	if w.many, err = log.Open(w.ctx, filepath.Join(w.dir, "many-0"), log.Options{}); err != nil {
		return err
	}
	return w.append(w.many, int(w.producers))
}

// stop removes the logs.
func (w *crowdWork) stop() (err error) {
	for _, l := range []*log.Log{w.none, w.many} {
		if l != nil {
			err = errors.Join(err, l.Close())
		}
	}
	return errors.Join(err, os.RemoveAll(filepath.Join(w.dir, "none-0")), os.RemoveAll(filepath.Join(w.dir, "many-0")))
}

// append appends n batches to l, to the one with producers as the next of them.
func (w *crowdWork) append(l *log.Log, n int) error {
	const checksum, covered, producer, epoch, sequence = 17, 21, 43, 51, 53 // where they are in a batch
	for range n {
		clear(w.batch[:8]) // the base offset that the append before gave it
		id, number := codec.NoProducerID, uint32(0)
		if l == w.many {
			id, number = w.producer, w.sequence
			if w.producer++; w.producer == w.producers {
				w.producer, w.sequence = 0, w.sequence+1
			}
		}
		binary.BigEndian.PutUint64(w.batch[producer:], uint64(id))
		binary.BigEndian.PutUint16(w.batch[epoch:], 0)
		binary.BigEndian.PutUint32(w.batch[sequence:], number)
		binary.BigEndian.PutUint32(w.batch[checksum:], crc32.Checksum(w.batch[covered:], castagnoli))
		if _, err := l.Append(w.batch); err != nil {
			return err
		}
	}
	return nil
}
