package conformance

import (
	"bytes"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stratalog/strata/fsio"
)

// leftovers is what a process has that somebody must have made, and ought to have given back.
type leftovers struct {
	goroutines  map[string]string // their stacks, by "goroutine 7"
	descriptors int
	mappings    int // of files
}

// census counts what there is now.
func census() leftovers {
	l := leftovers{goroutines: map[string]string{}}
	// The descriptors of /proc itself are open in every census alike.
	if proc, err := fsio.OS("/proc/self"); err == nil {
		defer proc.Close()
		if fds, err := proc.ReadDir("fd"); err == nil {
			l.descriptors = len(fds)
		}
		l.mappings = mappings(proc)
	}
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for stack := range strings.SplitSeq(string(stacks), "\n\n") {
		l.goroutines[goroutineOf(stack)] = stack
	}
	return l
}

// goroutine names the goroutine that calls it, as "goroutine 7".
func goroutine() string {
	stack := make([]byte, 64)
	return goroutineOf(string(stack[:runtime.Stack(stack, false)]))
}

// goroutineOf is whose stack that is.
func goroutineOf(stack string) string {
	id, _, _ := strings.Cut(stack, " [")
	return id
}

// mappings counts the mapped files of this process: the lines of maps whose inode is not 0.
func mappings(proc fsio.FS) (n int) {
	f, err := proc.OpenFile("maps", os.O_RDONLY, 0)
	if err != nil {
		return 0
	}
	defer f.Close()
	all, err := io.ReadAll(io.NewSectionReader(f, 0, 64<<20))
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(all) {
		if fields := bytes.Fields(line); len(fields) > 4 && string(fields[4]) != "0" {
			n++
		}
	}
	return n
}

// compare fails where there is more now than in l. What is about to end gets the time to, on a busy machine, too.
func (l leftovers) compare(t *testing.T) {
	t.Helper()
	complaints := l.more(census())
	for try := 0; try < 6000 && len(complaints) > 0; try++ {
		time.Sleep(10 * time.Millisecond)
		complaints = l.more(census())
	}
	for _, complaint := range complaints {
		t.Error(complaint)
	}
}

// more says what now has that l had not.
func (l leftovers) more(now leftovers) (complaints []string) {
	if now.descriptors > l.descriptors {
		complaints = append(complaints, "open descriptors are left over")
	}
	if now.mappings > l.mappings {
		complaints = append(complaints, "mapped files are left over")
	}
	for id, stack := range now.goroutines {
		if _, old := l.goroutines[id]; !old && !strings.Contains(stack, "testing.tRunner(") {
			complaints = append(complaints, "a goroutine is left over: "+stack)
		}
	}
	return complaints
}
