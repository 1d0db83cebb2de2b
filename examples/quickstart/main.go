// Command quickstart writes a partition, is killed meanwhile, recovers, and reads by offset and by time.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/log"
)

func main() {
	ctx := context.Background()
	if len(os.Args) > 1 { // the child
		write(ctx, os.Args[1])
	}
	dir := filepath.Join(must(os.MkdirTemp("", "strata-")), "orders-0") // as Kafka names it: topic, dash, number
	out, err := exec.Command(os.Args[0], dir).Output()
	fmt.Printf("%sthe writer ended with: %v\n\n", out, err)
	l := must(log.Open(ctx, dir, log.Options{Events: log.Events{Recovered: func(r log.Recovery) {
		fmt.Printf("recovered %d segments, end offset %d, %d bytes cut\n", len(r.Segments), r.EndOffset, r.CutBytes())
	}}}))
	for r, err := range l.Records(ctx, 7) { // by offset
		fmt.Printf("offset %d: %s = %s %s\n", must(r, err).Offset, r.Key, r.Value, r.Headers)
	}
	found, _, err := l.OffsetForTime(1_700_000_004_000) // by time
	fmt.Println("first offset at or after 1700000004000:", must(found, err).Offset)
	must(dir, l.Close())
	for _, file := range must(os.ReadDir(dir)) {
		fmt.Printf("%6d %s\n", must(file.Info()).Size(), filepath.Join(dir, file.Name()))
	}
}

// write appends until it is killed, in the middle of its work.
func write(ctx context.Context, dir string) {
	l := must(log.Open(ctx, dir, log.Options{Config: log.Config{Compression: log.CompressionZstd}}))
	for i := range int64(10) {
		got := must(l.AppendRecords(codec.Record{
			Timestamp: 1_700_000_000_000 + i*1000, Key: fmt.Append(nil, "order-", i), Value: []byte("two apples"),
			Headers: []codec.RecordHeader{{Key: []byte("from"), Value: []byte("quickstart")}},
		}))
		if i == 4 {
			fmt.Println("no power cut loses what is below", must(got.LastOffset+1, l.Sync(got.LastOffset+1)))
			fmt.Println("rolled, new segment:", must(l.Roll()))
		}
	}
	fmt.Println("killed at end offset", l.EndOffset())
	panic(must(os.FindProcess(os.Getpid())).Kill()) // there is no time left to panic
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
