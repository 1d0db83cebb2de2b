package trace

import (
	"context"
	"errors"
	"path"
	"time"

	"github.com/stratalog/strata/internal/checkpoint"
	"github.com/stratalog/strata/log"
)

// defaults are Kafka 4's where those of log.Config are others.
var defaults = map[string]string{
	"message.timestamp.after.max.ms": "3600000", // an hour since 4.0; before, as with us, there was no limit
}

// points are what a log directory's checkpoints hold of a log.
type points struct {
	RecoveryPoint int64 `json:"recoveryPoint"`
	LogStart      int64 `json:"logStart"`
}

// msTime is a time in milliseconds since 1970.
func msTime(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// open is the first operation.
func (w *world) open(ctx context.Context, op *Op) (any, error) {
	w.settings = *op
	w.setNow(or(op.Now, 0))
	return w.load(ctx, op.Config, or(op.Clean, true), points{or(op.RecoveryPoint.n, 0), or(op.LogStart.n, 0)})
}

// reopen loads the directory again.
func (w *world) reopen(ctx context.Context, op *Op) (any, error) {
	if w.log != nil {
		return nil, errors.New("trace: the log is still open")
	}
	if op.Now != nil {
		w.setNow(*op.Now)
	}
	p := points{or(op.RecoveryPoint.n, w.stored.RecoveryPoint), or(op.LogStart.n, w.stored.LogStart)}
	return w.load(ctx, op.Config, or(op.Clean, false), p)
}

// load opens the log.
func (w *world) load(ctx context.Context, config map[string]string, clean bool, p points) (any, error) {
	if err := w.dropTasks(ctx); err != nil {
		return nil, err
	}
	c, err := w.configure(config)
	if err != nil {
		return nil, err
	}
	o := log.Options{
		Config: c, FS: w.FS, Parts: w.Parts, Clock: w.clock, Scheduler: w.tasks, Replicated: true,
		Resume:             &log.Resume{Clean: clean, RecoveryPoint: p.RecoveryPoint, StartOffset: p.LogStart},
		VerifyTransactions: w.settings.VerifyTransactions,
		TxnTimeout:         milliseconds(w.settings.TxnTimeoutMs, 15*time.Minute),
	}
	if id := w.settings.TopicID; id != "" {
		if o.TopicID, err = checkpoint.ParseID(id); err != nil {
			return nil, err
		}
	}
	w.failed, w.loose = false, true
	o.Events.Failed = func(error) { w.failed = true }
	l, err := log.Open(ctx, w.dir(), o)
	if err != nil {
		return nil, err
	}
	w.log, w.guards = l, map[log.Guard]string{}
	period := milliseconds(w.settings.ExpireCheckMs, 10*time.Minute)
	w.tasks.Schedule("producer-expiry", period, period, func(context.Context) { l.ExpireProducers() })
	return p, nil
}

// milliseconds is a duration of so many, or otherwise.
func milliseconds(ms *int64, otherwise time.Duration) time.Duration {
	if ms == nil {
		return otherwise
	}
	return time.Duration(*ms) * time.Millisecond
}

// store notes what a log manager would write to its checkpoints.
func (w *world) store(point int64, st log.State) points {
	w.stored, w.active = points{RecoveryPoint: point}, st.Segments[len(st.Segments)-1].BaseOffset
	if st.StartOffset > st.Segments[0].BaseOffset {
		w.stored.LogStart = st.StartOffset
	}
	return w.stored
}

// close is a clean shutdown.
func (w *world) close(ctx context.Context) (any, error) {
	l := w.log
	err := l.Close()
	w.log, w.loose = nil, false
	st := l.State()
	return w.store(l.RecoveryPoint(), st), errors.Join(err, w.dropTasks(ctx))
}

// kill goes on with a copy of the directory. The log is thrown away with the old one.
func (w *world) kill(ctx context.Context) (any, error) {
	st := w.log.State()
	p := w.store(st.RecoveryPoint, st)
	if err := w.dropTasks(ctx); err != nil {
		return nil, err
	}
	old, run := w.dir(), path.Dir(w.dir())
	w.generation++
	if err := copyDir(w.FS, old, w.dir(), w.sizeOf); err != nil {
		return nil, err
	}
	l := w.log
	w.log, w.loose = nil, true
	_ = l.Close() // whatever it meets: nobody needs it any more
	return p, errors.Join(removeDir(w.FS, old), w.FS.Remove(run))
}
