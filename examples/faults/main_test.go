package main

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/crashfs"
)

// TestNothingAcknowledgedIsLost is a crash test of a store in 20 lines.
func TestNothingAcknowledgedIsLost(t *testing.T) {
	workload := func(_ testing.TB, fsys *crashfs.FS) error {
		l := open(fsys)
		for range 4 {
			got, err := l.AppendRecords(codec.Record{Value: []byte("x")})
			if err := errors.Join(err, l.Sync(got.LastOffset+1)); err != nil {
				return err
			}
			fsys.Ack(got.LastOffset + 1)
		}
		return l.Close()
	}
	check := func(_ testing.TB, image *crashfs.FS, h crashfs.History) error {
		if end := open(image).EndOffset(); len(h.Acks) > 0 && end < h.Acks[len(h.Acks)-1].(int64) {
			return fmt.Errorf("ends at %d, acknowledged %v", end, h.Acks)
		}
		return nil
	}
	report := crashfs.CrashEverywhere(t, crashfs.Config{Depth: 2}, workload, check)
	t.Logf("%d images of %d steps", report.Unique, report.Steps)
}

func TestClassAndPlace(t *testing.T) {
	err := fmt.Errorf("orders-0: %w", &fsio.PosError{Op: "verify", Path: "0.log", Pos: 4173, Err: codec.ErrCorrupt})
	if pe, ok := errors.AsType[*fsio.PosError](err); !ok || pe.Pos != 4173 {
		t.Error("no place")
	}
	if !errors.Is(err, codec.ErrCorrupt) {
		t.Error("no class")
	}
}
