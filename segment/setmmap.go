package segment

import "github.com/stratalog/strata/fsio"

// OpenMmap opens a set that is preallocated and mapped while it is written, so that an append needs no
// system call. Its file is longer than Size until Seal or Close.
func OpenMmap(fsys fsio.FS, name string, o SetOptions) (MessageSet, error) { panic("skeleton") }
