package fsio

import (
	"io/fs"
	"sync/atomic"
)

// claimable are the kinds for which an Interceptor may return nil without do.
const claimable = Mutates&^OpCreate | Closes

// guard runs i around do and holds it to the rules of Interceptor.
func guard(i Interceptor, op *Op, do func() error) error {
	kind, refusal := op.Kind, pathError(op.Kind.String(), op.Path, fs.ErrInvalid)
	var called, succeeded atomic.Bool
	err := i(op, func() error {
		if called.Swap(true) {
			return refusal
		}
		err := do()
		succeeded.Store(err == nil)
		return err
	})
	made := called.Swap(true) // do comes too late from here on, as a second call does
	switch {
	case err != nil || succeeded.Load() || claimable.Has(kind):
		return err
	case made && Reads.Has(kind):
		return nil // an error of a read was dropped: its count tells what is missing
	}
	return refusal // nil would come without a result
}

// shortage is the error of a call that did n of want bytes and has none: missing.
func shortage(op *Op, path string, n, want int64, err, missing error) error {
	if err == nil && n < want {
		return pathError(op.Kind.String(), path, missing)
	}
	return err
}
