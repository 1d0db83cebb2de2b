package checkpoint

import (
	"fmt"
	"io/fs"
	"strconv"

	"github.com/stratalog/strata/fsio"
)

// Epoch is where a leader epoch begins.
type Epoch struct {
	Epoch       int32
	StartOffset int64
}

// ReadEpochs reads a leader epoch checkpoint, in the order of the file. A negative number is ErrCorrupt;
// entries that do not rise are not.
func ReadEpochs(fsys fsio.FS, name string) ([]Epoch, error) {
	var epochs []Epoch
	err := readTable(fsys, name, maxEpochsSize, func(fields [][]byte) bool {
		if len(fields) != 2 {
			return false
		}
		epoch, epochOK := number(fields[0], 32)
		offset, offsetOK := number(fields[1], 64)
		epochs = append(epochs, Epoch{Epoch: int32(epoch), StartOffset: offset})
		return epochOK && offsetOK
	})
	if err != nil {
		return nil, err
	}
	return epochs, nil
}

// WriteEpochs replaces a leader epoch checkpoint, durably. What is negative is fs.ErrInvalid.
func WriteEpochs(fsys fsio.FS, name string, epochs []Epoch) error {
	data := appendHead(nil, len(epochs))
	for _, e := range epochs {
		if e.Epoch < 0 || e.StartOffset < 0 {
			return fmt.Errorf("write %s: epoch %d at %d: %w", name, e.Epoch, e.StartOffset, fs.ErrInvalid)
		}
		data = strconv.AppendInt(data, int64(e.Epoch), 10)
		data = append(data, ' ')
		data = strconv.AppendInt(data, e.StartOffset, 10)
		data = append(data, '\n')
	}
	return fsio.WriteFile(fsys, name, data)
}
