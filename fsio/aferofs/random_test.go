package aferofs_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
)

var scripts = flag.Int("scripts", 15, "how many scripts TestFSRandomScripts draws")

// TestFSRandomScripts plays drawn scripts on the disk and in memory.
func TestFSRandomScripts(t *testing.T) {
	for seed := range uint64(*scripts) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { compare(t, draw(seed)) })
	}
}

// draw makes a script of 100 lines. Sizes are multiples of a page: what a Map shows of a page's rest behind
// the file's end, after a store there, is the one thing in which disks differ.
func draw(seed uint64) script {
	random := rand.New(rand.NewPCG(seed, 17))
	pick := func(words ...string) string { return words[random.IntN(len(words))] }
	name := func() string { return pick("a", "b", "c", "d", "d/a", "d/b", "e", "e/a", "e/f", "e/f/a", "no/a", ".") }
	file := func() string { return pick("f", "g", "h") }
	mapping := func() string { return pick("m", "n") }
	page := func() int { return 64 << 10 * random.IntN(4) }
	within := func() string { // a position and the way from it to the end of its page
		off := random.IntN(256 << 10)
		return fmt.Sprintf("%d %d", off, 64<<10-off%(64<<10))
	}
	at := func(format string) string {
		off := random.IntN(256 << 10)
		return fmt.Sprintf(format, off, 64<<10-off%(64<<10), pick("x", "y", "z"))
	}
	s := script{name: fmt.Sprint("seed ", seed), lines: []string{"mkdir d", "mkdir e/f", "open f a rw,create"}}
	verbs := []func() string{
		func() string { return "open " + file() + " " + name() + " " + pick("r", "rw", "rw,trunc", "r,create") },
		func() string { return "open " + file() + " " + name() + " rw,create" + pick("", ",excl", ",trunc") },
		func() string { return "rename " + name() + " " + name() },
		func() string { return "rename " + name() + " " + name() },
		func() string { return "remove " + name() },
		func() string { return "mkdir " + name() },
		func() string { return pick("ls ", "stat ", "syncdir ") + name() },
		func() string { return "chtimes " + name() + " " + fmt.Sprint(random.IntN(1e6)) },
		func() string { return "lock " + pick("k", "l") + " " + name() },
		func() string { return "unlock " + pick("k", "l") },
		func() string { return pick("size ", "close ", "name ") + file() },
		func() string { return "write " + file() + at(" %d %d*%s") },
		func() string { return "write " + file() + at(" %d %d*%s") },
		func() string { return "read " + file() + " " + within() },
		func() string { return "copy " + file() + " " + within() },
		func() string { return pick("truncate ", "allocate ") + file() + " " + fmt.Sprint(page()) },
		func() string {
			return "map " + mapping() + " " + file() + " " + fmt.Sprint(page()) + pick(" ro", " rw")
		},
		func() string { return "view " + mapping() + " " + within() },
		func() string { return "store " + mapping() + at(" %d %d*%s") },
		func() string { return "resize " + mapping() + " " + fmt.Sprint(page()) },
		func() string { return pick("len ", "unmap ") + mapping() },
	}
	for range 100 {
		s.lines = append(s.lines, verbs[random.IntN(len(verbs))]())
	}
	return s
}
