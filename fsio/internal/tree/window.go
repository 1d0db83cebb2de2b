package tree

// windowBytes is the least size of a window, so that a map that is looked at from its beginning is not
// copied at each step.
const windowBytes = 64 << 10

// window is the beginning of a mapped file in one piece, as Views need it.
type window struct {
	b     []byte // as far as the file's pages; zeros past its end
	views int    // running Views that look into it
}

// windows are the windows of one file. The last is handed to new Views. Those before it became too short
// while Views looked into them; they are kept true like the last, until these Views end. So a View never
// waits, and never sees less than what was stored.
//
// A file's bytes are in its Content, all of them; a window is a copy, made as far as somebody looked. So a
// map of 10 MiB with ten entries costs one window of 64 KiB.
type windows []*window

// put copies bytes that were written.
func (ws windows) put(p []byte, off int64) {
	for _, w := range ws {
		if off < int64(len(w.b)) {
			copy(w.b[off:], p)
		}
	}
}

// cut clears what a truncation from was to size took away.
func (ws windows) cut(size, was int64) {
	for _, w := range ws {
		if end := min(was, int64(len(w.b))); size < end {
			clear(w.b[size:end])
		}
	}
}

// current is the window for new Views, or nil.
func (ws windows) current() *window {
	if len(ws) == 0 {
		return nil
	}
	return ws[len(ws)-1]
}

// sweep drops the windows, the current one apart, that nobody looks into.
func (ws windows) sweep() windows {
	kept := ws[:0]
	for i, w := range ws {
		if w.views > 0 || i == len(ws)-1 {
			kept = append(kept, w)
		}
	}
	clear(ws[len(kept):])
	return kept
}

// look returns a window that reaches to end, which lies in the file's last page at most, and counts a View
// of it. The caller holds n.mu.
func (n *node) look(end, page int64) (*window, error) {
	w := n.windows.current()
	if w == nil || int64(len(w.b)) < end {
		var err error
		if w, err = n.widen(end, page); err != nil {
			return nil, err
		}
	}
	w.views++
	return w, nil
}

// widen makes a new current window that reaches to end.
func (n *node) widen(end, page int64) (*window, error) {
	length := max(end, windowBytes)
	var old []byte
	if w := n.windows.current(); w != nil {
		old = w.b
		length = max(length, 2*int64(len(old)))
	}
	length = min(roundUp(length, page), roundUp(n.size, page))
	b := make([]byte, length)
	known := copy(b, old)
	if end := min(length, n.size); int64(known) < end {
		if err := n.content.ReadAt(b[known:end], int64(known)); err != nil {
			return nil, err
		}
	}
	w := &window{b: b}
	n.windows = append(n.windows, w).sweep()
	return w, nil
}

// looked ends a View of w. The caller holds n.mu.
func (n *node) looked(w *window) {
	w.views--
	if w.views == 0 && w != n.windows.current() {
		n.windows = n.windows.sweep()
	}
}

// roundUp is the least multiple of unit that is not below n.
func roundUp(n, unit int64) int64 { return (n + unit - 1) / unit * unit }
