// Command codec keeps a log whose records are encrypted on disk: a record format of a user's own, with a magic
// of its own, under an unchanged log.
package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/examples/thirdparty/codec/sealed"
	"github.com/stratalog/strata/log"
	"github.com/stratalog/strata/segment"
)

func main() {
	ctx := context.Background()
	key := make([]byte, 32)
	must(rand.Read(key))
	o := log.Options{Parts: segment.Parts{Codec: must(sealed.New(key))}}
	dir := filepath.Join(must(os.MkdirTemp("", "strata-")), "secrets-0")

	l := must(log.Open(ctx, dir, o))
	for _, value := range []string{"one secret", "another secret"} {
		must(l.AppendRecords(codec.Record{Value: []byte(value)}))
	}
	check(l.Close())

	file := must(os.ReadFile(filepath.Join(dir, "00000000000000000000.log")))
	fmt.Println("secrets to be seen in the file:", bytes.Contains(file, []byte("secret")))
	l = must(log.Open(ctx, dir, o))
	for r, err := range l.Records(ctx, 0) {
		check(err)
		fmt.Printf("offset %d: %s\n", r.Offset, r.Value)
	}
	check(l.Close())
	check(os.RemoveAll(filepath.Dir(dir)))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func must[T any](v T, err error) T {
	check(err)
	return v
}
