package checkpoint_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/aferofs"
	"github.com/stratalog/strata/internal/checkpoint"
)

// check reports an error that is not of the one class that bytes may have.
func check(t *testing.T, err error) (ok bool) {
	t.Helper()
	if err == nil {
		return true
	}
	if _, placed := errors.AsType[*fsio.PosError](err); !placed || !errors.Is(err, checkpoint.ErrCorrupt) {
		t.Fatalf("got %v, want ErrCorrupt in an *fsio.PosError", err)
	}
	return false
}

func FuzzReadOffsets(f *testing.F) {
	f.Add([]byte(kafkaOffsets))
	f.Add([]byte("0\n"))
	f.Add([]byte("0\r\n1\r\n__consumer_offsets 49 9223372036854775807\r\n"))
	f.Add([]byte("0\n1\nt 1 -2"))
	f.Fuzz(func(t *testing.T, data []byte) {
		fsys := aferofs.Mem()
		put(t, fsys, "x", string(data))
		got, err := checkpoint.ReadOffsets(fsys, "x")
		if !check(t, err) {
			return
		}
		if err := checkpoint.WriteOffsets(fsys, "x", got); err != nil {
			t.Fatalf("write %v: %v", got, err)
		}
		again, err := checkpoint.ReadOffsets(fsys, "x")
		if err != nil || len(again) != len(got) {
			t.Fatalf("read again: %v, %v, want %v", again, err, got)
		}
	})
}

func FuzzReadEpochs(f *testing.F) {
	f.Add([]byte("0\n2\n0 0\n3 120\n"))
	f.Add([]byte("0\n1\n6 0\n"))
	f.Add([]byte("0\n2\n3 7\n1 9\n"))
	f.Add([]byte("0\n999999999\n0 0\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		fsys := aferofs.Mem()
		put(t, fsys, "x", string(data))
		got, err := checkpoint.ReadEpochs(fsys, "x")
		if !check(t, err) {
			return
		}
		if err := checkpoint.WriteEpochs(fsys, "x", got); err != nil {
			t.Fatalf("write %v: %v", got, err)
		}
	})
}

// FuzzMeta has the three small files of text: each of them has a reader that any bytes may come to.
func FuzzMeta(f *testing.F) {
	f.Add([]byte(kafkaMeta))
	f.Add([]byte("version: 0\ntopic_id: kzapmueIkmvLGm26X6isGQ"))
	f.Add([]byte(`{"version":0,"brokerEpoch":14}`))
	f.Add([]byte("broker\\.id : \\u0031\\\n  2\r\ncluster.id\tc"))
	f.Add([]byte("\\"))
	f.Fuzz(func(t *testing.T, data []byte) {
		fsys := aferofs.Mem()
		put(t, fsys, "x", string(data))
		_, err := checkpoint.ReadTopicID(fsys, "x")
		check(t, err)
		_, err = checkpoint.ReadClean(fsys, "x")
		check(t, err)
		got, err := checkpoint.ReadMeta(fsys, "x")
		if !check(t, err) {
			return
		}
		if err := checkpoint.WriteMeta(fsys, "x", got, time.Unix(0, 0).UTC()); err != nil {
			t.Fatalf("write %+v: %v", got, err)
		}
		if again, err := checkpoint.ReadMeta(fsys, "x"); err != nil || again != got {
			t.Fatalf("read again: %+v, %v, want %+v", again, err, got)
		}
	})
}
