package conformance

import (
	"io/fs"
	"testing"

	"github.com/stratalog/strata/fsio"
)

// NewFS makes an empty FS, one for each row. What has to be undone goes into tb.Cleanup.
type NewFS func(tb testing.TB) fsio.FS

// Skip names the rows that a subject does not promise to pass, each with the reason. They are printed. A
// name that is no row's fails. nil skips none.
type Skip map[string]string

// TestFS checks an FS, its Files and its Maps, against the contract of package fsio. What a crash leaves it
// does not check.
//
// Some rules speak of what an FS cannot be asked to do to itself: their rows run where the FS is a Planter,
// a Filler or a Neighbour, too, and are skipped elsewhere.
func TestFS(t *testing.T, newFS NewFS, skip Skip) {
	t.Helper()
	given(t, newFS != nil, "newFS")
	runRows(t, fsRows(), newFS, skip)
}

// Planter is an FS under test that can be given what no FS makes.
type Planter interface {
	// Plant puts something of the type typ, one of the bits of fs.ModeType, at name. A symbolic link leads
	// to target, which is relative to its directory.
	Plant(name string, typ fs.FileMode, target string) error
}

// Filler is an FS under test whose disk can be filled.
type Filler interface {
	// Fill takes all the room that is left, and at least a file's first block is not.
	Fill() error
}

// Neighbour is an FS under test that another process can use at the same time.
type Neighbour interface {
	// LockElsewhere locks name in another process. End ends that process without freeing the lock before,
	// and returns when it has ended.
	LockElsewhere(name string) (end func() error, err error)
}

// fsRows are the rows of TestFS.
func fsRows() []row[fsio.FS] {
	var rows []row[fsio.FS]
	for _, part := range [][]row[fsio.FS]{
		fsNameRows, fsOpenRows, fsRenameRows, fsRemoveRows, fsLookRows, fsLockRows,
		fileUseRows, fileReadRows, fileWriteRows, fileSizeRows, fileRows, fullRows,
		mapUseRows, mapRows, mapFaultRows,
	} {
		rows = append(rows, part...)
	}
	return rows
}
