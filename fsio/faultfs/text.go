package faultfs

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"syscall"

	"github.com/stratalog/strata/fsio"
)

// systemErrors are those that ParseRules knows by name.
var systemErrors = map[string]error{
	"EIO": syscall.EIO, "ENOSPC": syscall.ENOSPC, "EDQUOT": syscall.EDQUOT, "EACCES": syscall.EACCES,
	"EROFS": syscall.EROFS, "EMFILE": syscall.EMFILE, "ENFILE": syscall.ENFILE, "ENOMEM": syscall.ENOMEM,
	"EINTR": syscall.EINTR, "EOF": io.EOF,
}

// namedError is an error and its word in a text.
type namedError struct {
	name string
	err  error
}

// nameOf is err with its name, or with its text, quoted, where ParseRules could not know it.
func nameOf(err error) namedError {
	if err == nil {
		return namedError{}
	}
	if _, ok := err.(syscall.Errno); ok || err == io.EOF { //nolint:errorlint // by itself: a wrapped one is another error
		for name, known := range systemErrors {
			if known == err { //nolint:errorlint // as above
				return namedError{name, err}
			}
		}
	}
	return namedError{strconv.Quote(err.Error()), err}
}

// String is the Rule in ParseRules' words. What they have none for, a When, a Hang and errors without a name,
// is there to be read, and ParseRules refuses it.
func (r *Rule) String() string {
	var words []string
	add := func(is bool, format string, args ...any) {
		if is {
			words = append(words, fmt.Sprintf(format, args...))
		}
	}
	cond := func(c condition) bool { return r.conds&c != 0 }
	act := func(a action) bool { return r.acts&a != 0 }
	add(r.kinds != fsio.All, "op=%v", r.kinds)
	add(cond(condPath), "path=%s", quote(r.glob))
	add(cond(condRange), "range=%d+%d", r.off, r.size)
	add(cond(condWhen), "when")
	add(cond(condAfterBytes), "after=%d", r.afterBytes)
	add(cond(condNth), "nth=%d", r.nth)
	add(cond(condFrom), "from=%d", r.from)
	add(cond(condProb), "prob=%v", r.prob)
	add(cond(condTimes), "times=%d", r.times)
	add(act(delay), "delay=%v", r.wait)
	add(act(hang), "hang")
	add(act(panics), "panic=%s", quote(fmt.Sprint(r.value)))
	add(act(powerOff), "off")
	add(act(fail), "fail=%s", r.failure.name)
	add(act(drop), "drop")
	add(act(misdirect), "misdirect=%d", r.delta)
	add(act(short) && r.cutError.err == nil, "short=%d", r.keep)
	add(act(short) && r.cutError.err != nil, "short=%d:%s", r.keep, r.cutError.name)
	add(act(flip), "flip=%d", r.bits)
	add(act(zero), "zero")
	add(act(failAfter), "failafter=%s", r.lateError.name)
	return strings.Join(words, " ")
}

// quote is s as a word can have it.
func quote(s string) string {
	if s == "" || strings.ContainsAny(s, "\"; \t\r\n") || strconv.Quote(s) != `"`+s+`"` {
		return strconv.Quote(s)
	}
	return s
}
