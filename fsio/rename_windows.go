package fsio

// openFlags keep an open from waiting: nothing on Windows does.
const openFlags = 0

// replaceDir renames the directory oldname onto the directory newname. Windows cannot do it in one step.
func (f *OSFS) replaceDir(oldname, newname string) error {
	if err := f.root.Remove(newname); err != nil {
		return err
	}
	return f.root.Rename(oldname, newname)
}
