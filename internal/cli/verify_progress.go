package cli

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"

	"github.com/stratalog/strata/segment"
)

// progressDelay is how long a verb works before it shows how far it is.
const progressDelay = time.Second

// progress shows on a terminal how many bytes have been read. What is written to it goes to the same place, above that.
type progress struct {
	mu    sync.Mutex
	to    io.Writer
	shown bool // it is a terminal, and wanted
	total int64
	done  int64
	begun time.Time
	all   *mpb.Progress // nil until progressDelay is over
	bar   *mpb.Bar
}

// start begins to show on w how much is read of the logs that paths name, if that is wanted and w is a terminal.
func (p *progress) start(w io.Writer, paths []string, wanted bool) {
	p.to, p.begun = w, time.Now()
	if p.shown = wanted && onTerminal(w); !p.shown {
		return
	}
	for _, path := range paths {
		p.total += logBytes(path)
	}
}

// onTerminal reports whether what is written to w is seen at once.
func onTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// logBytes is the size of the logs that path names. It is an estimate: what cannot be read has none.
func logBytes(path string) (sum int64) {
	_ = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || filepath.Ext(name) != segment.LogExt {
			return nil //nolint:nilerr // it is told of when it is verified
		}
		if info, err := d.Info(); err == nil {
			sum += info.Size()
		}
		return nil
	})
	return sum
}

// read notes that n bytes are read.
func (p *progress) read(_ context.Context, n int64) error {
	if !p.shown {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += n
	if p.all == nil && time.Since(p.begun) > progressDelay {
		p.all = mpb.New(mpb.WithOutput(p.to), mpb.WithWidth(40))
		p.bar = p.all.AddBar(p.total,
			mpb.AppendDecorators(
				decor.CountersKibiByte("% .1f of % .1f"), decor.Name("  "),
				decor.AverageSpeed(decor.SizeB1024(0), "% .1f"), decor.Name("  "), decor.AverageETA(decor.ET_STYLE_GO),
			),
			mpb.BarRemoveOnComplete())
	}
	if p.bar != nil {
		p.bar.SetCurrent(min(p.done, p.total-1)) // it goes with stop
	}
	return nil
}

// Write writes b above the bar.
func (p *progress) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all != nil {
		return p.all.Write(b)
	}
	return p.to.Write(b)
}

// stop takes the bar away.
func (p *progress) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all != nil {
		p.bar.Abort(true)
		p.all.Wait()
		p.all, p.shown = nil, false
	}
}
