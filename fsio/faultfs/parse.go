package faultfs

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/internal/names"
)

// ParseRules reads rules from text, for flags, environment variables and fuzzing.
//
//	rules = rule { ";" rule }
//	rule  = word { " " word }
//	word  = "op=" kinds | "path=" glob | "range=" off "+" n
//	      | "after=" bytes | "nth=" n | "from=" n | "prob=" p | "times=" n
//	      | "fail=" error | "failafter=" error | "short=" n [ ":" error ] | "flip=" n | "zero" | "misdirect=" delta
//	      | "drop" | "delay=" duration | "off" | "panic=" text
//
// kinds are the words of fsio.ParseKind joined by "|". An error is the name of a system error (EIO, ENOSPC,
// EDQUOT, EACCES, EROFS, EMFILE, ENFILE, ENOMEM, EINTR), EOF, or a name in errs, which may be nil. A glob, a
// text or a name that holds a space, a ";" or a quote is written as a Go string, in double quotes. Example:
//
//	op=write path=**/*.index nth=3 fail=EIO; op=sync prob=0.01 failafter=EIO
//
// A rule without op= is for fsio.All. Blank text has no rules. Text that is none of this is an error that
// names the word, and a rule that can do nothing one that says why; no text panics.
func ParseRules(text string, errs map[string]error) ([]*Rule, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	known := maps.Clone(systemErrors)
	maps.Copy(known, errs)
	var rules []*Rule
	for rest, more := text, true; more; {
		p := parser{rule: On(fsio.All), errs: known, seen: map[string]bool{}}
		var err error
		rest, more, err = p.parse(rest)
		if err == nil {
			err = p.rule.check()
		}
		if err != nil {
			return nil, fmt.Errorf("faultfs: rule %d: %w", len(rules)+1, err)
		}
		rules = append(rules, p.rule)
	}
	return rules, nil
}

// parser reads one rule.
type parser struct {
	rule *Rule
	errs map[string]error
	seen map[string]bool
}

// parse reads the words of text up to a ";"; more says that there was one.
func (p *parser) parse(text string) (rest string, more bool, err error) {
	for rest = text; ; {
		rest = strings.TrimLeft(rest, " \t\r\n")
		switch {
		case rest == "":
			return "", false, nil
		case rest[0] == ';':
			return rest[1:], true, nil
		}
		var word string
		if word, rest, err = cutWord(rest); err == nil {
			err = p.word(word)
		}
		if err != nil {
			return "", false, fmt.Errorf("word %q: %w", word, err)
		}
	}
}

// cutWord splits text behind its first word, which a quoted value may make longer than it seems.
func cutWord(text string) (word, rest string, err error) {
	const ends = "; \t\r\n"
	end := strings.IndexAny(text, ends+`"`)
	if end >= 0 && text[end] == '"' {
		quoted, err := strconv.QuotedPrefix(text[end:])
		if err != nil {
			return text, "", errors.New("its quotes have no end")
		}
		if end += len(quoted); end < len(text) && !strings.ContainsRune(ends, rune(text[end])) {
			return text[:end], "", errors.New("it goes on behind its quotes")
		}
	}
	if end < 0 {
		end = len(text)
	}
	return text[:end], text[end:], nil
}

// word reads one word.
func (p *parser) word(word string) error {
	name, value, hasValue := strings.Cut(word, "=")
	read, ok := words[name]
	switch {
	case !ok:
		return fmt.Errorf("it is none of %s", strings.Join(slices.Sorted(maps.Keys(words)), ", "))
	case p.seen[name]:
		return errors.New("it was there before")
	case hasValue != (read.value != nil):
		if hasValue {
			return errors.New("it takes no value")
		}
		return errors.New("it takes a value")
	}
	p.seen[name] = true
	if !hasValue {
		read.flag(p.rule)
		return nil
	}
	return read.value(p, value)
}

// words are the words of a rule: those with a value, and those without.
var words = map[string]struct {
	value func(p *parser, value string) error
	flag  func(r *Rule) *Rule
}{
	"op":        {value: (*parser).op},
	"path":      {value: (*parser).path},
	"range":     {value: (*parser).span},
	"after":     {value: number((*Rule).AfterBytes)},
	"nth":       {value: count((*Rule).Nth)},
	"from":      {value: count((*Rule).From)},
	"times":     {value: count((*Rule).Times)},
	"flip":      {value: count((*Rule).FlipBits)},
	"misdirect": {value: number((*Rule).Misdirect)},
	"prob":      {value: (*parser).prob},
	"fail":      {value: failure((*Rule).Fail, func(r *Rule) *namedError { return &r.failure })},
	"failafter": {value: failure((*Rule).FailAfter, func(r *Rule) *namedError { return &r.lateError })},
	"short":     {value: (*parser).short},
	"delay":     {value: (*parser).delay},
	"panic":     {value: (*parser).panic},
	"zero":      {flag: (*Rule).Zero},
	"drop":      {flag: (*Rule).Drop},
	"off":       {flag: (*Rule).PowerOff},
}

func number(set func(*Rule, int64) *Rule) func(*parser, string) error {
	return func(p *parser, value string) error {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return errors.New("its value is no number")
		}
		set(p.rule, n)
		return nil
	}
}

func count(set func(*Rule, int) *Rule) func(*parser, string) error {
	return func(p *parser, value string) error {
		n, err := strconv.Atoi(value)
		if err != nil {
			return errors.New("its value is no number")
		}
		set(p.rule, n)
		return nil
	}
}

// failure keeps the name that the text had, so that String gives it back.
func failure(set func(*Rule, error) *Rule, at func(*Rule) *namedError) func(*parser, string) error {
	return func(p *parser, value string) error {
		e, err := p.find(value)
		if err == nil {
			set(p.rule, e.err)
			*at(p.rule) = e
		}
		return err
	}
}

// find is the error of a name.
func (p *parser) find(value string) (namedError, error) {
	name, err := unquote(value)
	if err != nil {
		return namedError{}, err
	}
	found, ok := p.errs[name]
	if !ok {
		return namedError{}, fmt.Errorf("no error has the name %q, there are %s", name, strings.Join(slices.Sorted(maps.Keys(p.errs)), ", "))
	}
	return namedError{quote(name), found}, nil
}

func (p *parser) op(value string) error {
	kinds, err := fsio.ParseKind(value)
	p.rule.kinds = kinds
	return err
}

func (p *parser) path(value string) error {
	glob, err := unquote(value)
	if err == nil {
		err = names.CheckGlob(glob)
	}
	if err != nil {
		return err
	}
	p.rule.Path(glob)
	return nil
}

func (p *parser) span(value string) error {
	off, n, ok := strings.Cut(value, "+")
	from, err := strconv.ParseInt(off, 10, 64)
	size, sizeErr := strconv.ParseInt(n, 10, 64)
	if !ok || err != nil || sizeErr != nil {
		return errors.New(`its value is not of the form 4096+512`)
	}
	p.rule.Range(from, size)
	return nil
}

func (p *parser) prob(value string) error {
	prob, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return errors.New("its value is no number")
	}
	p.rule.Prob(prob)
	return nil
}

func (p *parser) short(value string) error {
	keep, name, fails := strings.Cut(value, ":")
	n, err := strconv.Atoi(keep)
	if err != nil {
		return errors.New("its value is not of the form 7 or 7:EIO")
	}
	p.rule.Short(n, nil)
	if fails {
		p.rule.cutError, err = p.find(name)
	}
	return err
}

func (p *parser) delay(value string) error {
	d, err := time.ParseDuration(value)
	if err != nil {
		return errors.New("its value is no duration as 250ms is")
	}
	p.rule.Delay(d)
	return nil
}

func (p *parser) panic(value string) error {
	text, err := unquote(value)
	p.rule.Panic(text)
	return err
}

// unquote is the value of a word, which may be a Go string.
func unquote(value string) (string, error) {
	if !strings.HasPrefix(value, `"`) {
		return value, nil
	}
	text, err := strconv.Unquote(value)
	if err != nil {
		return "", errors.New("its quotes are broken")
	}
	return text, nil
}
