package log_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/aferofs"
	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/internal/checkpoint"
	"github.com/stratalog/strata/log"
	"github.com/stratalog/strata/segment"
)

// rolled is a log of three segments with transactions, that was closed: producer 1 aborts one that begins in the
// first segment and ends in the second, producer 2 commits one, and has another one aborted.
func rolled(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, backends[0])
	w.o.Config.IndexIntervalBytes = log.Zero
	w.open()
	w.append(produced(t, 1, 0, 0, true, 2)) // 0, 1
	w.append(produced(t, 2, 0, 0, true, 1)) // 2
	w.roll()
	w.append(produced(t, 1, 0, 2, true, 1)) // 3
	w.end(1, 0, false)                      // 4: aborted, from 0; producer 2's is open from 2
	w.end(2, 0, true)                       // 5
	w.roll()
	w.append(produced(t, 2, 0, 1, true, 1)) // 6
	w.end(2, 0, false)                      // 7: aborted, from 6
	w.fill("a", "b")
	require.Equal(t, []int64{0, 3, 6}, w.bases())
	w.close()
	require.Empty(t, briefs(verifyAll(t, w.fs, w.dir, log.VerifyOptions{Deep: true}), log.SeverityInfo))
	return w
}

// roll begins a new segment.
func (w *world) roll() {
	w.Helper()
	_, err := w.l.Roll()
	require.NoError(w, err)
}

// put replaces a file of w's directory.
func (w *world) put(name string, content []byte) { write(w, w.fs, path.Join(w.dir, name), content) }

// txnIndex makes the index of aborted transactions of the segment with the base offset base anew.
func (w *world) txnIndex(base int64, entries ...index.AbortedTxn) {
	w.Helper()
	name := path.Join(w.dir, name20(base)+segment.TxnIndexExt)
	if err := w.fs.Remove(name); !errors.Is(err, os.ErrNotExist) {
		require.NoError(w, err)
	}
	x, err := index.OpenTxn(w.fs, name, base)
	require.NoError(w, err)
	for _, e := range entries {
		require.NoError(w, x.Append(e))
	}
	require.NoError(w, x.Close())
}

// TestVerifyTransactions compares indexes of aborted transactions with the markers.
func TestVerifyTransactions(t *testing.T) {
	right := index.AbortedTxn{ProducerID: 1, FirstOffset: 0, LastOffset: 4, StableOffset: 2}
	for _, row := range []struct {
		name string
		make func(w *world)
		want string // "" for nothing
	}{
		{"as it was", func(w *world) { w.txnIndex(3, right) }, ""},
		{"gone", func(w *world) { w.txnIndex(3) }, "warning INDEX_MISSING 00000000000000000003.txnindex -1"},
		{"empty", func(w *world) { w.put(name20(3)+".txnindex", nil) }, "warning TXNINDEX_INVALID 00000000000000000003.txnindex 0"},
		{"of a segment without aborts", func(w *world) {
			w.txnIndex(0, index.AbortedTxn{ProducerID: 1, FirstOffset: 0, LastOffset: 2, StableOffset: 3})
		}, "warning TXNINDEX_INVALID 00000000000000000000.txnindex 0"},
		{"of another producer", func(w *world) {
			x := right
			x.ProducerID = 2
			w.txnIndex(3, x)
		}, "warning TXNINDEX_INVALID 00000000000000000003.txnindex 0"},
		{"from a later offset", func(w *world) {
			x := right
			x.FirstOffset = 3
			w.txnIndex(3, x)
		}, "warning TXNINDEX_INVALID 00000000000000000003.txnindex 0"},
		{"with a last stable offset that is too high", func(w *world) {
			x := right
			x.StableOffset = 5
			w.txnIndex(3, x)
		}, "warning TXNINDEX_INVALID 00000000000000000003.txnindex 0"},
		{"at a commit marker", func(w *world) {
			w.txnIndex(3, right, index.AbortedTxn{ProducerID: 2, FirstOffset: 2, LastOffset: 5, StableOffset: 6})
		}, "warning TXNINDEX_INVALID 00000000000000000003.txnindex 34"},
		{"of a version to come", func(w *world) {
			b := read(t, w.fs, path.Join(w.dir, name20(3)+".txnindex"))
			b[1] = 1
			w.put(name20(3)+".txnindex", b)
		}, "warning TXNINDEX_INVALID 00000000000000000003.txnindex 0"},
		{"of a transaction whose begin was deleted", func(w *world) {
			for _, e := range []string{".log", ".index", ".timeindex"} {
				require.NoError(t, w.fs.Remove(path.Join(w.dir, name20(0)+e)))
			}
		}, ""},
		{
			"of one whose begin is damaged", func(w *world) { flip(t, w.fs, path.Join(w.dir, name20(0)+".log"), 70) },
			"error CRC_MISMATCH 00000000000000000000.log 0",
		},
		{"of one whose marker is damaged", func(w *world) {
			b := read(t, w.fs, path.Join(w.dir, name20(3)+".log"))
			flip(t, w.fs, path.Join(w.dir, name20(3)+".log"), 12+int(b[11])+30)
		}, "error CRC_MISMATCH 00000000000000000003.log 72"},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := rolled(t)
			row.make(w)
			got := briefs(verifyAll(t, w.fs, w.dir, log.VerifyOptions{}), log.SeverityWarning)
			if row.want == "" {
				assert.Empty(t, got)
				return
			}
			assert.Equal(t, []string{row.want}, got)
		})
	}
}

// TestVerifyNames looks at what lies in a directory besides its segments.
func TestVerifyNames(t *testing.T) {
	for _, row := range []struct {
		name    string
		content string
		want    string
	}{
		{name20(0) + ".log.deleted", "x", "info LEFTOVER"},
		{name20(0) + ".index.cleaned", "x", "info LEFTOVER"},
		{name20(9) + ".timeindex.swap", "x", "info LEFTOVER"},
		{checkpoint.LeaderEpochs + ".tmp", "x", "info LEFTOVER"},
		{name20(2) + ".index", "x", "info LEFTOVER"},
		{name20(2) + ".snapshot", "\x00\x01\x48\x67\x4b\xc7\x00\x00\x00\x00", "info LEFTOVER"},
		{name20(2) + ".foo", "x", "info FOREIGN_FILE"},
		{"README", "x", "info FOREIGN_FILE"},
		{"12.log", "x", "info FOREIGN_FILE"},
		{"99999999999999999999.log", "x", "info FOREIGN_FILE"},
		{"quorum-state", "x", ""},
		{name20(0) + "-0000000001.checkpoint", "x", ""},
		{name20(0) + "-000000001.checkpoint", "x", "info FOREIGN_FILE"},
		{checkpoint.LeaderEpochs, "0\n2\n0 0\n", "warning EPOCHS_INVALID"},
		{checkpoint.LeaderEpochs, "0\n2\n0 0\n0 3\n", "warning EPOCHS_INVALID"},
		{checkpoint.LeaderEpochs, "0\n2\n0 0\n3 11\n", "warning EPOCHS_INVALID"},
		{checkpoint.LeaderEpochs, "0\n2\n0 0\n3 10\n", ""}, // a leader that has appended nothing
		{checkpoint.PartitionMetadata, "version: 0\ntopic_id: x", "warning METADATA_INVALID"},
		{"strata.checkpoint", "x", "warning CHECKPOINT_INVALID"},
	} {
		w := rolled(t)
		w.put(row.name, []byte(row.content))
		var got []string
		for _, f := range verifyAll(t, w.fs, w.dir, log.VerifyOptions{}) {
			if path.Base(f.File) == row.name {
				got = append(got, fmt.Sprintf("%s %s", f.Severity, f.Code))
			} else {
				assert.Equal(t, log.SeverityInfo, f.Severity, "%s: %+v", row.name, f)
			}
		}
		want := []string{row.want}
		if row.want == "" {
			want = nil
		}
		assert.Equal(t, want, got, "%s %q", row.name, row.content)
	}
	w := rolled(t)
	require.NoError(t, w.fs.MkdirAll(path.Join(w.dir, "some"), 0o755))
	require.NoError(t, w.fs.MkdirAll(path.Join(w.dir, name20(8)+".log"), 0o755))
	assert.Equal(t, []string{"warning FOREIGN_FILE 00000000000000000008.log -1", "info FOREIGN_FILE some -1"},
		briefs(verifyAll(t, w.fs, w.dir, log.VerifyOptions{}), log.SeverityInfo))
}

// TestVerifySealed looks at damage at the end of a segment that others follow, and at what only an active one may
// have.
func TestVerifySealed(t *testing.T) {
	for _, row := range []struct {
		name string
		make func(w *world)
		want log.Finding
	}{
		{"bytes behind the last batch", func(w *world) {
			w.put(name20(0)+".log", append(read(w, w.fs, path.Join(w.dir, name20(0)+".log")), "garbage"...))
		}, log.Finding{Severity: log.SeverityError, Code: log.CodeTail, FirstOffset: 3, NextOffset: 3, SeekTo: 3}},
		{"the last batch cut off", func(w *world) {
			b := read(w, w.fs, path.Join(w.dir, name20(0)+".log"))
			w.put(name20(0)+".log", b[:len(b)-1])
		}, log.Finding{Severity: log.SeverityError, Code: log.CodeTail, FirstOffset: 2, NextOffset: 3, SeekTo: 3}},
		{"offsets of the next segment", func(w *world) {
			b := read(w, w.fs, path.Join(w.dir, name20(0)+".log"))
			w.put(name20(0)+".log", append(b, at(w, 3, 0, "twice")...))
		}, log.Finding{Severity: log.SeverityError, Code: log.CodeOffsetOrder, FirstOffset: 3, NextOffset: 4, SeekTo: 3}},
		{"a reserved index", func(w *world) {
			w.put(name20(0)+".index", append(read(w, w.fs, path.Join(w.dir, name20(0)+".index")), make([]byte, 80)...))
		}, log.Finding{Severity: log.SeverityWarning, Code: log.CodeIndex, FirstOffset: -1, NextOffset: -1, SeekTo: -1}},
		{"a reserved index of the last segment, after a clean stop", func(w *world) {
			w.put(name20(6)+".index", append(read(w, w.fs, path.Join(w.dir, name20(6)+".index")), make([]byte, 80)...))
		}, log.Finding{Severity: log.SeverityWarning, Code: log.CodeIndex, FirstOffset: -1, NextOffset: -1, SeekTo: -1}},
	} {
		for _, clean := range []bool{true, false} {
			w := rolled(t)
			row.make(w)
			resume := log.Resume{Clean: clean, RecoveryPoint: 10}
			found := verifyAll(t, w.fs, w.dir, log.VerifyOptions{Resume: &resume})
			found = slices.DeleteFunc(found, func(f log.Finding) bool { return f.Code == log.CodeUncleanStop })
			want := row.want
			if !clean && strings.Contains(row.name, "clean stop") {
				want.Severity = log.SeverityInfo
			}
			if assert.Len(t, found, 1, row.name) {
				f := found[0]
				got := log.Finding{Severity: f.Severity, Code: f.Code, FirstOffset: f.FirstOffset, NextOffset: f.NextOffset, SeekTo: f.SeekTo}
				assert.Equal(t, want, got, "%s, clean: %v", row.name, clean)
			}
		}
	}
}

// TestVerifySwap reads a compaction that is complete in the place of the older segments.
func TestVerifySwap(t *testing.T) {
	w := rolled(t)
	from, to := path.Join(w.dir, name20(3)), path.Join(w.dir, name20(3))
	for _, e := range []string{".log", ".index", ".timeindex", ".txnindex"} {
		require.NoError(t, w.fs.Rename(from+e, to+e+".swap"))
	}
	findings := verifyAll(t, w.fs, w.dir, log.VerifyOptions{})
	assert.Empty(t, briefs(findings, log.SeverityWarning))
	assert.Len(t, briefs(findings, log.SeverityInfo), 4)
	flip(t, w.fs, to+".log.swap", 70)
	assert.Equal(t, []string{"error CRC_MISMATCH 00000000000000000003.log.swap 0"},
		briefs(verifyAll(t, w.fs, w.dir, log.VerifyOptions{}), log.SeverityWarning))
	w.put(name20(3)+".log.swap", []byte(strings.Repeat("x", 100)))
	assert.Contains(t, briefs(verifyAll(t, w.fs, w.dir, log.VerifyOptions{}), log.SeverityError),
		"error BATCH_INVALID 00000000000000000003.log.swap 0")
}

// TestVerifyCheckpoints compares what the checkpoints of the directory above say with the log.
func TestVerifyCheckpoints(t *testing.T) {
	for _, row := range []struct {
		name   string
		resume log.Resume
		want   []string
	}{
		{"right", log.Resume{Clean: true, RecoveryPoint: 10, HighWatermark: 10}, nil},
		{"not clean", log.Resume{RecoveryPoint: 6}, []string{"info UNCLEAN_STOP t-0 -1"}},
		{
			"recovery point above the end",
			log.Resume{Clean: true, RecoveryPoint: 11},
			[]string{"warning CHECKPOINT_INVALID recovery-point-offset-checkpoint -1"},
		},
		{
			"recovery point below the end of a clean stop",
			log.Resume{Clean: true, RecoveryPoint: 9},
			[]string{"warning CHECKPOINT_INVALID recovery-point-offset-checkpoint -1"},
		},
		{
			"log start above the end",
			log.Resume{Clean: true, RecoveryPoint: 10, StartOffset: 11},
			[]string{"warning CHECKPOINT_INVALID log-start-offset-checkpoint -1"},
		},
		{
			"high watermark above the end",
			log.Resume{Clean: true, RecoveryPoint: 10, HighWatermark: 11},
			[]string{"warning CHECKPOINT_INVALID replication-offset-checkpoint -1"},
		},
	} {
		w := rolled(t)
		got := briefs(verifyAll(t, w.fs, w.dir, log.VerifyOptions{Resume: &row.resume}), log.SeverityInfo)
		assert.Equal(t, row.want, got, row.name)
	}
}

// TestVerifyBehindBroker looks at a log that was opened alone and closed, and that a broker, which leaves
// strata.checkpoint alone, then appended to: the next Open takes the stop for an unclean one.
func TestVerifyBehindBroker(t *testing.T) {
	w := rolled(t)
	own := path.Join(w.dir, "strata.checkpoint")
	before := read(t, w.fs, own)
	w.open()
	w.fill("of a broker")
	w.close()
	write(t, w.fs, own, before)
	assert.Equal(t, []string{"info LEFTOVER 00000000000000000010.snapshot -1", "info UNCLEAN_STOP strata.checkpoint -1"},
		briefs(verifyAll(t, w.fs, w.dir, log.VerifyOptions{}), log.SeverityInfo))
	var recovered log.Recovery
	w.o.Events.Recovered = func(r log.Recovery) { recovered = r }
	w.open()
	require.False(t, recovered.Clean)
	require.EqualValues(t, 11, w.l.EndOffset())
}

// TestVerifyOptions looks at a part of a log.
func TestVerifyOptions(t *testing.T) {
	w := rolled(t)
	flip(t, w.fs, path.Join(w.dir, name20(0)+".log"), 70)
	flip(t, w.fs, path.Join(w.dir, name20(6)+".log"), 70)
	base := int64(6)
	assert.Equal(t, []string{"error CRC_MISMATCH 00000000000000000006.log 0"},
		briefs(verifyAll(t, w.fs, w.dir, log.VerifyOptions{Base: &base}), log.SeverityInfo))

	old := time.UnixMilli(started)
	require.NoError(t, w.fs.Chtimes(path.Join(w.dir, name20(0)+".log"), old))
	assert.Equal(t, []string{"error CRC_MISMATCH 00000000000000000006.log 0"},
		briefs(verifyAll(t, w.fs, w.dir, log.VerifyOptions{ModifiedSince: old.Add(time.Hour)}), log.SeverityWarning))

	var counts log.Counts
	asked := int64(0)
	all := verifyAll(t, w.fs, w.dir, log.VerifyOptions{Counts: &counts, Throttle: func(_ context.Context, n int64) error {
		asked += n
		return nil
	}})
	assert.Equal(t, int64(9-2), counts.Batches, "but for the two that are damaged")
	assert.Equal(t, int64(10-3), counts.Records)
	assert.GreaterOrEqual(t, asked, counts.Bytes)
	for workers := range 5 {
		assert.Equal(t, all, verifyAll(t, w.fs, w.dir, log.VerifyOptions{Workers: workers}), "%d workers", workers)
	}
	assert.True(t, slices.IsSortedFunc(all, func(a, b log.Finding) int { return strings.Compare(a.File, b.File) }))

	for f, err := range log.Verify(t.Context(), w.fs, w.dir, log.VerifyOptions{}) {
		assert.NoError(t, err)
		assert.ErrorIs(t, f.Err, codec.ErrCorrupt)
		at, ok := errors.AsType[*fsio.PosError](f.Err)
		require.True(t, ok)
		assert.Equal(t, f.File, at.Path)
		break // and is not called again
	}
}

// TestVerifyErrors yields last what could not be read, and goes on with the rest.
func TestVerifyErrors(t *testing.T) {
	w := rolled(t)
	flip(t, w.fs, path.Join(w.dir, name20(6)+".log"), 70)
	broken := fsio.Intercept(w.fs, func(op *fsio.Op, do func() error) error {
		if op.Kind == fsio.OpReadAt && strings.HasSuffix(op.Path, name20(3)+".log") {
			return syscall.EIO
		}
		return do()
	})
	var findings []log.Finding
	var failed error
	for f, err := range log.Verify(t.Context(), broken, w.dir, log.VerifyOptions{}) {
		require.NoError(t, failed, "behind an error")
		if failed = err; err == nil {
			findings = append(findings, f)
		}
	}
	require.ErrorIs(t, failed, syscall.EIO)
	assert.Contains(t, briefs(findings, log.SeverityError), "error CRC_MISMATCH 00000000000000000006.log 0")

	stopped := errors.New("enough read")
	for _, err := range log.Verify(t.Context(), w.fs, w.dir, log.VerifyOptions{
		Throttle: func(context.Context, int64) error { return stopped },
	}) {
		failed = err
	}
	require.ErrorIs(t, failed, stopped)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range log.Verify(ctx, w.fs, w.dir, log.VerifyOptions{}) {
		failed = err
	}
	require.ErrorIs(t, failed, context.Canceled)

	for _, err := range log.Verify(t.Context(), w.fs, "none-0", log.VerifyOptions{}) {
		failed = err
	}
	require.ErrorIs(t, failed, os.ErrNotExist)
}

// FuzzVerify gives a file of a directory any content: it is verified to its end, in order, without a panic.
func FuzzVerify(f *testing.F) {
	names := []string{
		name20(0) + ".log", name20(0) + ".index", name20(0) + ".timeindex", name20(0) + ".txnindex", name20(0) + ".snapshot",
		name20(0) + ".log.swap", name20(0) + ".sum", checkpoint.LeaderEpochs, checkpoint.PartitionMetadata, "strata.checkpoint",
	}
	good := set(f, rec("a"), rec("b"))
	for i := range names {
		f.Add(uint8(i), good, good)
		f.Add(uint8(i), []byte("0\n1\n0 0\n"), make([]byte, 100))
	}
	f.Fuzz(func(t *testing.T, which uint8, one, two []byte) {
		fsys := aferofs.Mem()
		require.NoError(t, fsys.MkdirAll("t-0", 0o755))
		write(t, fsys, "t-0/"+name20(0)+".log", append(good, two...))
		write(t, fsys, "t-0/"+name20(3)+".log", nil)
		write(t, fsys, "t-0/"+names[int(which)%len(names)], one)
		before := ""
		for finding, err := range log.Verify(t.Context(), fsys, "t-0", log.VerifyOptions{Deep: true}) {
			require.NoError(t, err)
			require.LessOrEqual(t, before, finding.File)
			require.NotEmpty(t, finding.Message)
			require.NotEmpty(t, finding.Repair)
			if finding.NextOffset != codec.NoOffset {
				require.LessOrEqual(t, finding.FirstOffset, finding.NextOffset)
			}
			before = finding.File
		}
	})
}
