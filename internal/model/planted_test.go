package model_test

import (
	"context"
	"iter"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio/aferofs"
	"github.com/stratalog/strata/internal/model"
	"github.com/stratalog/strata/log"
	"github.com/stratalog/strata/segment"
)

// TestPlanted has logs that are wrong in one thing each, and sees some script differ, also once it was
// shrunk.
func TestPlanted(t *testing.T) {
	for _, row := range []struct {
		name string
		wrap func(model.Subject) model.Subject
	}{
		{"truncation one too high", func(s model.Subject) model.Subject { return truncatesHigh{s} }},
		{"start one too low", func(s model.Subject) model.Subject { return deletesLow{s} }},
		{"retention that does less", func(s model.Subject) model.Subject { return retainsNothing{s} }},
		{"time one too late", func(s model.Subject) model.Subject { return findsLate{s} }},
		{"epoch one too long", func(s model.Subject) model.Subject { return endsEpochLate{s} }},
		{"watermark that lags", func(s model.Subject) model.Subject { return raisesLow{s} }},
		{"reads too much", func(s model.Subject) model.Subject { return readsOn{s} }},
		{"sync of less", func(s model.Subject) model.Subject { return syncsLess{s} }},
		{"stable offset too high", func(s model.Subject) model.Subject { return undecided{s} }},
		{"four batches remembered", func(s model.Subject) model.Subject { return forgets{s} }},
		{"duplicates not told", func(s model.Subject) model.Subject { return repeats{s} }},
		{"aborted records read", func(s model.Subject) model.Subject { return readsAborted{s} }},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := model.Store{FS: aferofs.Mem(), Wrap: row.wrap}
			differs := func(script []byte) bool {
				d, err := model.Run(t.Context(), script, s)
				require.NoError(t, err)
				return d != nil
			}
			for seed := range uint64(400) {
				script := model.Script(seed)
				if !differs(script) {
					continue
				}
				short := model.Shrink(script, differs)
				assert.True(t, differs(short))
				assert.LessOrEqual(t, len(short), 8+4*8, model.Text(short))
				return
			}
			t.Error("no script differs")
		})
	}
}

type truncatesHigh struct{ model.Subject }

func (x truncatesHigh) Truncate(offset int64) (bool, error) { return x.Subject.Truncate(offset + 1) }

type deletesLow struct{ model.Subject }

func (x deletesLow) DeleteBefore(offset int64) (bool, error) {
	return x.Subject.DeleteBefore(offset - 1)
}

type retainsNothing struct{ model.Subject }

func (x retainsNothing) Retain(context.Context) (log.Deleted, error) { return log.Deleted{}, nil }

type findsLate struct{ model.Subject }

func (x findsLate) OffsetForTime(ms int64) (segment.Found, bool, error) {
	return x.Subject.OffsetForTime(max(ms+1, log.EarliestPendingUpload))
}

type endsEpochLate struct{ model.Subject }

func (x endsEpochLate) OffsetForEpoch(epoch int32) (log.EpochEnd, bool) {
	return x.Subject.OffsetForEpoch(epoch + 1)
}

type raisesLow struct{ model.Subject }

func (x raisesLow) SetHighWatermark(offset int64) (int64, bool) {
	return x.Subject.SetHighWatermark(offset - 1)
}

type readsOn struct{ model.Subject }

func (x readsOn) ReadWith(offset int64, o log.ReadOptions) (*segment.Slice, error) {
	o.Isolation = log.ReadToEnd
	return x.Subject.ReadWith(offset, o)
}

type syncsLess struct{ model.Subject }

func (x syncsLess) Sync(offset int64) error { return x.Subject.Sync(offset - 1) }

type undecided struct{ model.Subject }

func (x undecided) StableOffset() int64 { return x.HighWatermark() }

type forgets struct{ model.Subject }

func (x forgets) Producers() []segment.Producer {
	all := x.Subject.Producers()
	for i := range all {
		all[i].Batches = all[i].Batches[max(0, len(all[i].Batches)-4):]
	}
	return all
}

type repeats struct{ model.Subject }

func (x repeats) AppendWith(batches []byte, o log.AppendOptions) (log.Appended, error) {
	a, err := x.Subject.AppendWith(batches, o)
	a.Duplicate = false
	return a, err
}

type readsAborted struct{ model.Subject }

func (x readsAborted) RecordsWith(ctx context.Context, from int64, o log.ReadOptions) iter.Seq2[codec.Record, error] {
	if o.Isolation == log.ReadCommitted {
		o.Isolation = log.ReadUncommitted
	}
	return x.Subject.RecordsWith(ctx, from, o)
}
