package trace

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/stratalog/strata/fsio"
)

// empty is the answer of an operation that returns nothing of interest.
type empty struct{}

// errNotOpen is the answer of an operation that needs an open log where there is none.
var errNotOpen = errors.New("trace: no log is open")

// do makes an operation, and returns its answer.
func (w *world) do(ctx context.Context, op *Op, m Meta) (any, error) {
	switch op.Op {
	case "open":
		return w.open(ctx, op)
	case "reopen":
		return w.reopen(ctx, op)
	case "advance":
		w.setNow(w.nowMs() + op.Milliseconds)
		return empty{}, nil
	case "cut", "overwrite", "appendBytes", "deleteFile", "createFile", "rename", "setMtime":
		return empty{}, w.damage(op)
	}
	if w.log == nil {
		return nil, errNotOpen
	}
	switch op.Op {
	case "kill":
		return w.kill(ctx)
	case "close":
		return w.close(ctx)
	case "read", "offsetForTimestamp", "endOffsetForEpoch", "epochForOffset", "abortedTxns", "state":
		return w.ask(op, m)
	}
	return w.change(ctx, op)
}

// damage changes files behind the log's back.
func (w *world) damage(op *Op) error {
	name := w.path(op.File)
	b, err := op.bytes()
	if err != nil {
		return err
	}
	switch op.Op {
	case "cut":
		return change(w.FS, name, 0, func(f fsio.File) error { return f.Truncate(op.Size) })
	case "overwrite":
		return change(w.FS, name, 0, func(f fsio.File) error {
			_, err := f.WriteAt(b, op.At)
			return err
		})
	case "appendBytes":
		return change(w.FS, name, 0, func(f fsio.File) error {
			size, err := f.Size()
			if err == nil {
				_, err = f.WriteAt(b, size)
			}
			return err
		})
	case "createFile":
		return change(w.FS, name, os.O_CREATE|os.O_TRUNC, func(f fsio.File) error {
			_, err := f.WriteAt(b, 0)
			return err
		})
	case "deleteFile":
		return w.FS.Remove(name)
	case "rename":
		return w.FS.Rename(w.path(op.From), w.path(op.To))
	case "setMtime":
		return w.FS.Chtimes(name, msTime(op.Milliseconds))
	}
	return fmt.Errorf("trace: operation %q is not known", op.Op)
}
