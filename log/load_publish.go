package log

import (
	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/internal/checkpoint"
)

// publish makes the log visible, with all that loading changed durable.
func (r *loader) publish() error {
	active := r.segs[len(r.segs)-1]
	size := active.Size()
	if r.o.ReadOnly {
		size = r.edge
	}
	point := min(r.resume.RecoveryPoint, r.end)
	if r.resume.Clean {
		point = r.end
	}
	r.syncer.init(max(point, r.start))
	hw := r.start
	if r.o.Resume != nil {
		hw = max(hw, r.o.Resume.HighWatermark)
	}
	v := view{segs: r.segs, size: size, start: r.start, end: r.end, hw: hw, unstable: codec.NoOffset}
	if r.o.Replicated { // as in Kafka, the high watermark is an offset at first, and has no place in a file
		v.hw = min(hw, r.end)
		r.txnsOf(&v)
		r.show(v)
	} else {
		r.Log.publishTxns(v)
	}
	if r.o.ReadOnly {
		return nil
	}
	if r.o.Resume != nil {
		if r.syncer.names.Swap(false) {
			return r.fsys.SyncDir(r.Dir())
		}
		return nil
	}
	return r.publishOwn()
}

// publishOwn syncs what was recovered, so that the next recovery begins behind it, and says so in
// strata.checkpoint.
func (r *loader) publishOwn() error {
	c, err := openOwn(r.fsys, r.path(checkpoint.Strata), r.was.slot, r.was.at)
	if err != nil {
		return err
	}
	r.Log.own = c
	if r.resume.Clean && !r.syncer.names.Load() {
		return nil
	}
	c.touched = true
	r.syncer.names.Store(true)
	if err := r.syncAll(r.view.Load()); err != nil {
		return err
	}
	r.syncer.raise(r.end)
	return c.write(r.slot, true)
}

// tell tells what was put in order, if anything was.
func (r *loader) tell() {
	x := &r.report
	x.Clean, x.From, x.EndOffset, x.Elapsed = r.resume.Clean, r.resume.RecoveryPoint, r.end, r.now().Sub(r.began)
	some := len(x.Repaired) + len(x.Split) + len(x.Segments) + len(x.Dropped) + len(x.Finished) + len(x.Undone) + len(x.Removed)
	if some == 0 && !x.Epochs {
		return
	}
	r.info("recovered", "end", r.end, "cut", x.CutBytes())
	if tell := r.o.Events.Recovered; tell != nil {
		report := *x
		r.news.add(func() { tell(report) })
	}
}
