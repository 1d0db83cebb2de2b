package faultfs_test

import (
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/faultfs"
)

var errOwn = errors.New("own error")

// TestParseRules compares what was parsed with the same rules built by hand, by their text; what a text does
// is the matter of other tests, which build.
func TestParseRules(t *testing.T) {
	on := faultfs.On
	for _, row := range []struct {
		text string
		want []*faultfs.Rule
	}{
		{"", nil},
		{" \n\t", nil},
		{"fail=EIO", []*faultfs.Rule{on(fsio.All).Fail(syscall.EIO)}},
		{"op=all fail=EIO", []*faultfs.Rule{on(fsio.All).Fail(syscall.EIO)}},
		{"op=write path=**/*.index nth=3 fail=EIO; op=sync prob=0.01 failafter=EIO", []*faultfs.Rule{
			on(fsio.OpWriteAt).Path("**/*.index").Nth(3).Fail(syscall.EIO),
			on(fsio.OpSync).Prob(0.01).FailAfter(syscall.EIO),
		}},
		{"op=reads|sync\tfrom=2  times=5 failafter=EOF;\nop=copy range=4096+512 short=7", []*faultfs.Rule{
			on(fsio.Reads | fsio.OpSync).From(2).Times(5).FailAfter(io.EOF),
			on(fsio.OpCopyTo).Range(4096, 512).Short(7, nil),
		}},
		{"op=writes after=1048576 short=0:ENOSPC", []*faultfs.Rule{
			on(fsio.Writes).AfterBytes(1<<20).Short(0, syscall.ENOSPC),
		}},
		{"delay=1h2m flip=3;op=read zero;op=write misdirect=-512;drop", []*faultfs.Rule{
			on(fsio.All).Delay(time.Hour + 2*time.Minute).FlipBits(3), on(fsio.OpReadAt).Zero(),
			on(fsio.OpWriteAt).Misdirect(-512), on(fsio.All).Drop(),
		}},
		{`off; panic=dead; path="a b/*;" panic="disk \"0\" on fire"`, []*faultfs.Rule{
			on(fsio.All).PowerOff(), on(fsio.All).Panic("dead"),
			on(fsio.All).Path("a b/*;").Panic(`disk "0" on fire`),
		}},
		{`panic=`, []*faultfs.Rule{on(fsio.All).Panic("")}},
	} {
		got, err := faultfs.ParseRules(row.text, nil)
		require.NoError(t, err, row.text)
		assert.Equal(t, texts(row.want), texts(got), "%q", row.text)
		again, err := faultfs.ParseRules(texts(got), nil)
		require.NoError(t, err, "the text of %q", row.text)
		assert.Equal(t, texts(got), texts(again), "%q, parsed again", row.text)
	}
}

// texts is rules as ParseRules reads them.
func texts(rules []*faultfs.Rule) string {
	all := make([]string, len(rules))
	for i, r := range rules {
		all[i] = r.String()
	}
	return strings.Join(all, "; ")
}

// TestParseRulesErrors: every error of the system is the one of its name, and the caller's come first.
func TestParseRulesErrors(t *testing.T) {
	for name, want := range map[string]error{
		"EIO": syscall.EIO, "ENOSPC": syscall.ENOSPC, "EDQUOT": syscall.EDQUOT, "EACCES": syscall.EACCES,
		"EROFS": syscall.EROFS, "EMFILE": syscall.EMFILE, "ENFILE": syscall.ENFILE, "ENOMEM": syscall.ENOMEM,
		"EINTR": syscall.EINTR, "EOF": io.EOF, "fsync-clean": errOwn, `"two words"`: errOwn,
	} {
		for _, word := range []string{"fail=", "failafter=", "short=1:"} {
			rules, err := faultfs.ParseRules("op=read|stat "+word+name, map[string]error{"fsync-clean": errOwn, "two words": errOwn})
			require.NoError(t, err, name)
			assert.Equal(t, "op=stat|read "+word+name, texts(rules))
			fsys := fsio.Intercept(newMem(t), faultfs.New(1, rules...).Intercept)
			f := create(t, fsys, "file", "content")
			_, err = f.ReadAt(make([]byte, 7), 0)
			assert.Equal(t, want, err, "%s%s", word, name)
		}
	}
	rules, err := faultfs.ParseRules("op=sync fail=EIO", map[string]error{"EIO": errOwn})
	require.NoError(t, err)
	assert.Equal(t, errOwn, call(faultfs.New(1, rules...), fsio.OpSync, "a", 0, 0))
}

// TestParseRulesRefuses: what is wrong is said, with the rule and the word.
func TestParseRulesRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"op=write":                          `rule 1: it has no action`,
		"fail=EIO;":                         `rule 2: it has no action`,
		";":                                 `rule 1: it has no action`,
		"op= fail=EIO":                      `rule 1: it is for no kind of call`,
		"op=wrote fail=EIO":                 `word "op=wrote": fsio: unknown kind "wrote": there are all allocate `,
		"fail=EIO; bad=1 fail=EIO":          `rule 2: word "bad=1": it is none of after, delay, drop, fail, failafter, flip, from, misdirect, nth, off, op, panic, path, prob, range, short, times, zero`,
		"FAIL=EIO":                          `word "FAIL=EIO": it is none of after, `,
		"nth=1 nth=2 drop":                  `word "nth=2": it was there before`,
		"drop=1":                            `word "drop=1": it takes no value`,
		"fail":                              `word "fail": it takes a value`,
		"fail=":                             `no error has the name ""`,
		"fail=EGGS":                         `no error has the name "EGGS"`,
		"fail=nil":                          `rule 1: fail has no error`,
		"failafter=nil":                     `rule 1: failafter has no error`,
		"op=read short=3:EGGS":              `no error has the name "EGGS"`,
		"op=read short=x":                   `its value is not of the form 7 or 7:EIO`,
		"op=read short=-1":                  `rule 1: short -1 is below 0`,
		"nth=x drop":                        `word "nth=x": its value is no number`,
		"nth=99999999999999999999 drop":     `its value is no number`,
		"nth=0 drop":                        `rule 1: nth 0 is below 1`,
		"from=-1 drop":                      `rule 1: from -1 is below 1`,
		"times=0 drop":                      `rule 1: times 0 is below 1`,
		"nth=2 from=3 drop":                 `rule 1: call 2 is not from 3 on`,
		"prob=x drop":                       `its value is no number`,
		"prob=1.5 drop":                     `rule 1: prob 1.5 is no probability`,
		"prob=NaN drop":                     `rule 1: prob NaN is no probability`,
		"after=-1 drop":                     `rule 1: after -1 bytes is never`,
		"op=sync after=9 drop":              `rule 1: after 9 bytes never comes: sync writes none`,
		"range=7 drop":                      `its value is not of the form 4096+512`,
		"range=7+0 drop":                    `rule 1: range 7+0 has no byte`,
		"range=-1+9 drop":                   `rule 1: range -1+9 has no byte`,
		"op=stat range=0+9 fail=EIO":        `rule 1: stat touches no range of bytes`,
		"path=[ drop":                       `word "path=[": syntax error in pattern`,
		"delay=fast":                        `its value is no duration as 250ms is`,
		"delay=-1s":                         `rule 1: delay of -1s is none`,
		"flip=0":                            `rule 1: flip 0 is below 1`,
		"misdirect=0":                       `rule 1: misdirect by 0 is no misdirection`,
		"op=stat drop":                      `rule 1: drop cannot be done to stat`,
		"op=create drop":                    `rule 1: drop cannot be done to create`,
		"op=write zero":                     `rule 1: zero cannot be done to write`,
		"op=syncs delay=1s short=3":         `rule 1: short cannot be done to syncdir|sync|flush`,
		"fail=EIO failafter=EIO":            `rule 1: of fail and failafter one hides the other`,
		"fail=EIO drop":                     `rule 1: of fail and drop one hides the other`,
		"off panic=x":                       `rule 1: of off and panic one hides the other`,
		"drop short=3":                      `rule 1: of short and drop one hides the other`,
		"op=read zero flip=1":               `rule 1: of flip and zero one hides the other`,
		"op=read short=1:EIO failafter=EIO": `rule 1: of failafter and short one hides the other`,
		`panic="x`:                          `its quotes have no end`,
		`panic="x"y`:                        `it goes on behind its quotes`,
		"when drop":                         `word "when": it is none of after, `,
		"hang":                              `word "hang": it is none of after, `,
		"a\x00b":                            `word "a\x00b": it is none of after, `,
	} {
		rules, err := faultfs.ParseRules(text, map[string]error{"nil": nil})
		assert.Nil(t, rules, text)
		if assert.Error(t, err, text) {
			assert.Contains(t, err.Error(), "faultfs: rule ")
			assert.Contains(t, err.Error(), want, "%q", text)
		}
	}
}

// FuzzParseRules: no text panics, and what was read says itself what it is.
func FuzzParseRules(f *testing.F) {
	for _, text := range []string{
		"", "op=write path=**/*.index nth=3 fail=EIO; op=sync prob=0.01 failafter=EIO",
		"op=reads|sync from=2 times=5 failafter=EOF;op=copy range=4096+512 short=7:own",
		"delay=1ms flip=3;op=read zero;op=write misdirect=-512;drop;off", `path="a b" panic="\x00;"`,
		"op=sync after=1", `path=a\[ panic=\`, "prob=1e-300 drop", "fail=\"two words\"", "panic=\xff",
	} {
		f.Add(text)
	}
	errs := map[string]error{"own": errOwn, "two words": errOwn, "": errOwn}
	f.Fuzz(func(t *testing.T, text string) {
		rules, err := faultfs.ParseRules(text, errs)
		if err != nil {
			return
		}
		said := texts(rules)
		again, err := faultfs.ParseRules(said, errs)
		require.NoError(t, err, said)
		assert.Equal(t, said, texts(again))
		faults := faultfs.New(1, rules...) // refuses nothing that ParseRules takes
		faults.SleepWith(func(time.Duration) {})
		func() {
			defer func() { _ = recover() }() // a Panic
			_ = faults.Intercept(&fsio.Op{Kind: fsio.OpReadAt, Path: "a", Size: 3, Data: []byte("abc")}, func() error { return nil })
		}()
	})
}
