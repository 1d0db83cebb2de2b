package index

// warmBytes are at the end of an index, where most look-ups lead to.
const warmBytes = 8192

// search finds the last entry in b whose key is at most key. Where b holds no entries in order, it answers
// with any of them or none.
//
// The last warmBytes are tried first: their pages stay in memory, while a plain binary search of a growing
// index comes to other pages by and by, and waits for the disk (KAFKA-6432).
func (f *format) search(b []byte, key int64) (e Entry, ok bool) {
	size, field, target := f.entryBytes, f.key, f.key.as(key)
	n := len(b) / size
	pos := (n - 1 - warmBytes/size) * size // where the entries that are searched begin
	switch {
	case pos > 0 && field.stored(b[pos:]) <= target:
		n = warmBytes/size + 1
	case n == 0 || field.stored(b) > target:
		return Entry{}, false
	default:
		if pos > 0 {
			n = pos / size
		}
		pos = 0
	}
	// The entry is one of the n at pos.
	for n > 1 {
		half := n >> 1
		if middle := pos + half*size; field.stored(b[middle:]) <= target {
			pos = middle
			n -= half
		} else {
			n = half
		}
	}
	return f.decode(b[pos:]), true
}
