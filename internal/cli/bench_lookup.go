package cli

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/index"
)

// lookupEntries fill the 10 MiB that Kafka reserves for an index.
const lookupEntries = 10 << 20 / 8

// lookupWork looks up keys in an index, in turn through package index and by a binary search of its bytes.
type lookupWork struct {
	fsys  *fsio.OSFS
	index index.Index
	file  fsio.File
	bytes fsio.Map
	keys  []int64
	n     int // look-ups a round
}

// lookingUp is the work of looking up keys anywhere.
func lookingUp(_ context.Context, dir string, amount int64) (r rounds, err error) {
	w := &lookupWork{n: int(amount)}
	if err := w.open(dir); err != nil {
		return rounds{}, errors.Join(err, w.stop())
	}
	random := rand.New(rand.NewPCG(1, 1))
	for range 4096 {
		w.keys = append(w.keys, 3*random.Int64N(lookupEntries))
	}
	nothing := func() error { return nil }
	return rounds{side{nothing, w.search}, side{nothing, w.lookUp}, w.stop}, nil
}

// open makes the index, and opens it and its bytes.
func (w *lookupWork) open(dir string) (err error) {
	const name = "lookup.index"
	if w.fsys, err = fsio.OS(dir); err != nil {
		return err
	}
	entries := make([]byte, 0, 8*lookupEntries)
	for i := range uint32(lookupEntries) {
		entries = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(entries, 3*i), 100*i)
	}
	if err := fsio.WriteFile(w.fsys, name, entries); err != nil {
		return err
	}
	if w.index, err = index.OpenMmap(w.fsys, name, index.Options{Layout: index.OffsetLayout, Sealed: true}); err != nil {
		return err
	}
	if w.file, err = w.fsys.OpenFile(name, os.O_RDONLY, 0); err != nil {
		return err
	}
	w.bytes, err = w.file.Map(int64(len(entries)), fsio.ReadOnly)
	return errors.Join(err, w.fsys.Remove(name))
}

// stop frees what open opened.
func (w *lookupWork) stop() (err error) {
	if w.bytes != nil {
		err = w.bytes.Close()
	}
	if w.file != nil {
		err = errors.Join(err, w.file.Close())
	}
	if w.index != nil {
		err = errors.Join(err, w.index.Close())
	}
	if w.fsys != nil {
		err = errors.Join(err, w.fsys.Close())
	}
	return err
}

func (w *lookupWork) search() error {
	return w.bytes.View(0, w.bytes.Len(), fsio.ViewFunc(func(b []byte) error {
		for i := range w.n {
			key := uint32(w.keys[i%len(w.keys)])
			if found := binarySearch(b, key); found != key {
				return fmt.Errorf("found entry %d for key %d", found, key)
			}
		}
		return nil
	}))
}

// binarySearch is the last key in b that is at most key.
func binarySearch(b []byte, key uint32) uint32 {
	low, high := 0, len(b)/8-1
	for low < high {
		if middle := int(uint(low+high+1) >> 1); binary.BigEndian.Uint32(b[8*middle:]) <= key {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return binary.BigEndian.Uint32(b[8*low:])
}

func (w *lookupWork) lookUp() error {
	for i := range w.n {
		key := w.keys[i%len(w.keys)]
		if e, ok := w.index.Lookup(key); !ok || e.Key != key {
			return fmt.Errorf("found entry %d for key %d", e.Key, key)
		}
	}
	return nil
}
