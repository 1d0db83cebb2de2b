package log_test

import (
	"context"
	"fmt"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio/aferofs"
	"github.com/stratalog/strata/log"
)

// A consumer reads what is there, and waits for what comes.
func ExampleLog_Wait() {
	ctx := context.Background()
	l := must(log.Open(ctx, "orders-0", log.Options{FS: aferofs.Mem()}))
	done := make(chan struct{})
	go func() {
		defer close(done)
		next := l.StartOffset()
		for next < 3 && l.Wait(ctx, next, log.ReadUncommitted) == nil { // its error is ctx's, or log.ErrClosed
			end := l.HighWatermark()
			for r, err := range l.Records(ctx, next) {
				if err != nil {
					fmt.Println(err) // damage: what is behind it comes next
					continue
				}
				fmt.Printf("%d %s\n", r.Offset, r.Value)
				next = r.Offset + 1
			}
			next = max(next, end) // the last ones may be markers, or damage
		}
	}()
	for _, value := range []string{"one", "two", "three"} {
		must(l.AppendRecords(codec.Record{Value: []byte(value)}))
	}
	<-done
	must(0, l.Close())
	// Output:
	// 0 one
	// 1 two
	// 2 three
}

// A transaction is batches of a producer, with its sequence numbers, and a marker, which a coordinator appends.
func ExampleLog_AppendWith() {
	ctx := context.Background()
	l := must(log.Open(ctx, "orders-0", log.Options{FS: aferofs.Mem()}))
	h := codec.NewHeader(2)
	h.ProducerID, h.ProducerEpoch, h.BaseSequence, h.Attributes = 7001, 0, 0, codec.TransactionalBit
	batch := func() []byte { // anew for each call, which writes its offsets into it
		b := codec.NewBuilder(codec.Kafka(), h, 1<<20)
		must(b.Add(codec.Record{Timestamp: 1_700_000_000_000, Value: []byte("apples")}))
		must(b.Add(codec.Record{Timestamp: 1_700_000_000_000, Value: []byte("pears")}))
		return must(b.AppendTo(nil))
	}

	must(l.AppendWith(batch(), log.AppendOptions{}))
	fmt.Println("open:", l.EndOffset(), "records, committed are those below", l.StableOffset())
	again := must(l.AppendWith(batch(), log.AppendOptions{})) // as a producer does that got no answer
	fmt.Println("sent again:", again.Duplicate, again.BaseOffset)

	marker := must(codec.AppendMarker(nil, h, codec.Marker{Commit: true}, 1_700_000_001_000))
	must(l.AppendWith(marker, log.AppendOptions{Origin: log.FromCoordinator, TxnVersion: log.TxnV1}))
	fmt.Println("committed are those below", l.StableOffset())
	for r, err := range l.RecordsWith(ctx, 0, log.ReadOptions{Isolation: log.ReadCommitted}) {
		fmt.Printf("%d %s\n", must(r, err).Offset, r.Value)
	}
	must(0, l.Close())
	// Output:
	// open: 2 records, committed are those below 0
	// sent again: true 0
	// committed are those below 3
	// 0 apples
	// 1 pears
}

// must is v, where there is no error.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
