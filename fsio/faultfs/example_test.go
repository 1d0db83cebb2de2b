package faultfs_test

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/aferofs"
	"github.com/stratalog/strata/fsio/faultfs"
	"github.com/stratalog/strata/scheduler"
)

// The third sync of a log fails, as a bad sector makes it fail.
func Example() {
	faults := faultfs.New(1, faultfs.On(fsio.OpSync).Path("**/*.log").Nth(3).Fail(syscall.EIO))
	fsys := fsio.Intercept(aferofs.Mem(), faults.Intercept)

	f, err := fsys.OpenFile("0.log", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		panic(err)
	}
	for range 4 {
		fmt.Println(f.Sync())
	}
	for _, firing := range faults.Fired() {
		fmt.Printf("call %d, %v of %s: %v\n", firing.Call, firing.Op.Kind, firing.Op.Path, firing.Rule)
	}
	// Output:
	// <nil>
	// <nil>
	// input/output error
	// <nil>
	// call 4, sync of 0.log: op=sync path=**/*.log nth=3 fail=EIO
}

// Faults that a flag or a variable of the environment asks for.
func ExampleParseRules() {
	rules, err := faultfs.ParseRules("op=write after=8 short=2:ENOSPC; op=sync prob=0.5 fail=EIO", nil)
	if err != nil {
		panic(err)
	}
	faults := faultfs.New(1, rules...)
	fsys := fsio.Intercept(aferofs.Mem(), faults.Intercept)
	f, err := fsys.OpenFile("file", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		panic(err)
	}
	fmt.Println(f.WriteAt([]byte("12345678"), 0))
	n, err := f.WriteAt([]byte("9abcdef"), 8)
	fmt.Println(n, errors.Is(err, syscall.ENOSPC))

	_, err = faultfs.ParseRules("op=sync nth=2 from=3 fail=EIO", nil)
	fmt.Println(err)
	_, err = faultfs.ParseRules("op=sync fail=ETOOBAD", nil)
	fmt.Println(err)
	// Output:
	// 8 <nil>
	// 2 true
	// faultfs: rule 1: call 2 is not from 3 on
	// faultfs: rule 1: word "fail=ETOOBAD": no error has the name "ETOOBAD", there are EACCES, EDQUOT, EINTR, EIO, EMFILE, ENFILE, ENOMEM, ENOSPC, EOF, EROFS
}

// A slow disk in a simulation: the time that passes is the simulation's.
func ExampleFaults_SleepWith() {
	clock := scheduler.NewManual(scheduler.ManualOptions{})
	begin := clock.Now()
	faults := faultfs.New(1, faultfs.On(fsio.Syncs).Delay(30*time.Millisecond))
	faults.SleepWith(clock.Advance)
	fsys := fsio.Intercept(aferofs.Mem(), faults.Intercept)

	fmt.Println(fsys.SyncDir("."), clock.Now().Sub(begin))
	// Output: <nil> 30ms
}
