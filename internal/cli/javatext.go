package cli

import "unicode/utf8"

// javaText appends b to dst as Java's new String(b, UTF_8) shows it: each malformed sequence becomes one
// replacement character. Go replaces byte by byte, and a Unicode surrogate by three characters where Java
// has one, so kafka-dump-log's lines would differ for binary keys and values.
func javaText(dst, b []byte) []byte {
	for len(b) > 0 {
		if b[0] < utf8.RuneSelf {
			dst, b = append(dst, b[0]), b[1:]
			continue
		}
		if _, n := utf8.DecodeRune(b); n > 1 {
			dst, b = append(dst, b[:n]...), b[n:]
			continue
		}
		dst, b = utf8.AppendRune(dst, utf8.RuneError), b[malformed(b):]
	}
	return dst
}

// malformed is how many bytes of b Java's decoder takes for one malformed sequence. b does not begin with a
// character.
func malformed(b []byte) int {
	switch lead := b[0]; {
	case lead >= 0xe0 && lead <= 0xef:
		return malformedThree(b)
	case lead >= 0xf0 && lead <= 0xf4:
		return malformedFour(b)
	}
	return 1
}

// malformedThree is malformed for the lead byte of three.
func malformedThree(b []byte) int {
	switch {
	case len(b) < 2 || !continues(b[1]) || b[0] == 0xe0 && b[1] < 0xa0:
		return 1
	case len(b) < 3 || !continues(b[2]):
		return 2
	}
	return 3 // a surrogate
}

// malformedFour is malformed for the lead byte of four.
func malformedFour(b []byte) int {
	switch {
	case len(b) < 2 || !continues(b[1]) || b[0] == 0xf0 && b[1] < 0x90 || b[0] == 0xf4 && b[1] > 0x8f:
		return 1
	case len(b) < 3 || !continues(b[2]):
		return 2
	}
	return 3
}

// continues reports whether c is a continuation byte.
func continues(c byte) bool { return c&0xc0 == 0x80 }
