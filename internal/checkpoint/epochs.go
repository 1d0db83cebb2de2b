package checkpoint

import "github.com/stratalog/strata/fsio"

// Epoch is where a leader epoch begins.
type Epoch struct {
	Epoch       int32
	StartOffset int64
}

// ReadEpochs reads a leader epoch checkpoint, in the order of the file. A negative number is ErrCorrupt;
// entries that do not rise are not.
func ReadEpochs(fsys fsio.FS, name string) ([]Epoch, error) { panic("skeleton") }

// WriteEpochs replaces a leader epoch checkpoint, durably. What is negative is fs.ErrInvalid.
func WriteEpochs(fsys fsio.FS, name string, epochs []Epoch) error { panic("skeleton") }
