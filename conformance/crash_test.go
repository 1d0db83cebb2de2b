package conformance_test

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/crashfs"
)

func crash(testing.TB) fsio.FS { return crashfs.New() }

// smallCrash is a crashfs.FS with a quota, which is a conformance.Filler.
func smallCrash(testing.TB) fsio.FS { return &crashDisk{crashfs.New(crashfs.WithQuota(8 << 20))} }

type crashDisk struct{ *crashfs.FS }

// Fill is conformance.Filler's.
func (d *crashDisk) Fill() error {
	f, err := d.OpenFile("ballast", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	size, err := f.Size()
	for unit := int64(8 << 20); err == nil && unit >= 512; {
		switch grown := f.Allocate(size + unit); {
		case grown == nil:
			size += unit
		case errors.Is(grown, syscall.ENOSPC):
			unit /= 2
		default:
			err = grown
		}
	}
	return errors.Join(err, f.Close())
}
