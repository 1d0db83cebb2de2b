// Command faults makes a sync fail, and then looks at every state that a power cut could leave the disk in.
package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/crashfs"
	"github.com/stratalog/strata/fsio/faultfs"
	"github.com/stratalog/strata/log"
)

func main() {
	eio := &crashfs.SyncError{Mode: crashfs.FsyncClean, Err: syscall.EIO} // as ext4 fails
	faults := faultfs.New(1, faultfs.On(fsio.OpSync).Path("**/*.log").Nth(3).Fail(eio))
	disk := crashfs.New(crashfs.WithInterceptor(faults.Intercept))
	l := open(disk)

	_, err := l.AppendRecords(codec.Record{Value: []byte("kept")})
	fmt.Println("first:", errors.Join(err, l.Sync(1)))
	_, err = l.AppendRecords(codec.Record{Value: []byte("in doubt")})
	fmt.Println("second:", errors.Join(err, l.Sync(2)))
	_, err = l.AppendRecords(codec.Record{Value: []byte("refused")})
	fmt.Println("third:", err, errors.Is(err, log.ErrReadOnly))

	for id, image := range disk.CrashClones(1, crashfs.Strict) {
		fmt.Println(id, "ends at", open(image).EndOffset()) // 1 or more, whatever was lost
	}
}

func open(fsys fsio.FS) *log.Log {
	l, err := log.Open(context.Background(), "orders-0", log.Options{FS: fsys})
	if err != nil {
		panic(err)
	}
	return l
}
