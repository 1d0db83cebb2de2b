package manager_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/aferofs"
	"github.com/stratalog/strata/internal/checkpoint"
	"github.com/stratalog/strata/internal/fixture"
	"github.com/stratalog/strata/log"
	"github.com/stratalog/strata/manager"
)

// onEach runs a test on the disk and in memory.
func onEach(t *testing.T, test func(t *testing.T, fsys fsio.FS)) {
	t.Helper()
	t.Run("disk", func(t *testing.T) {
		fsys, err := fsio.OS(t.TempDir())
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, fsys.Close()) })
		test(t, fsys)
	})
	t.Run("memory", func(t *testing.T) { test(t, aferofs.Mem()) })
}

// put makes content that of a file, and the directory that it is in.
func put(tb testing.TB, fsys fsio.FS, name, content string) {
	tb.Helper()
	require.NoError(tb, fsys.MkdirAll(path.Dir(name), 0o755))
	f, err := fsys.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	require.NoError(tb, err)
	_, err = f.WriteAt([]byte(content), 0)
	require.NoError(tb, err)
	require.NoError(tb, f.Close())
}

// view opens a View.
func view(tb testing.TB, fsys fsio.FS) *manager.View {
	tb.Helper()
	v, err := manager.OpenView(tb.Context(), fsys)
	require.NoError(tb, err)
	return v
}

// files of a directory that has everything once.
var files = map[string]string{
	"meta.properties":                   "version=1\nnode.id=7\ncluster.id=c\ndirectory.id=kzapmueIkmvLGm26X6isGQ\n",
	".kafka_cleanshutdown":              `{"version":0,"brokerEpoch":14}`,
	"recovery-point-offset-checkpoint":  "0\n2\norders 1 20\norders 0 10\n",
	"log-start-offset-checkpoint":       "0\n1\norders 0 3\n",
	"replication-offset-checkpoint":     "0\n1\norders 0 9\n",
	"cleaner-offset-checkpoint":         "0\n1\norders 0 5\n",
	"bootstrap.checkpoint":              "not ours",
	"orders-0/partition.metadata":       "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ",
	"orders-10/leader-epoch-checkpoint": "",
	"orders-0.131d091d1c14421fa24f76acf770a0ed-delete/partition.metadata": "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAg",
	"orders-0.131d091d1c14421fa24f76acf770a0ed-stray/x":                   "",
	"orders-1.131d091d1c14421fa24f76acf770a0ed-future/x":                  "",
	"a-0/x":                    "",
	"remote-log-index-cache/x": "",
}

// filled has the files.
func filled(tb testing.TB, fsys fsio.FS) {
	tb.Helper()
	for name, content := range files {
		put(tb, fsys, name, content)
	}
}

func TestView(t *testing.T) {
	const id = ".131d091d1c14421fa24f76acf770a0ed"
	partition := func(dir, topic string, n int32, role manager.Role) manager.PartitionView {
		return manager.PartitionView{
			Partition: manager.Partition{Topic: topic, ID: n}, Dir: dir, Role: role,
			Resume: log.Resume{Clean: true}, CleanerOffset: codec.NoOffset,
		}
	}
	orders := partition("orders-0", "orders", 0, manager.Current)
	orders.TopicID = [16]byte{15: 1}
	orders.Resume = log.Resume{Clean: true, RecoveryPoint: 10, StartOffset: 3, HighWatermark: 9}
	orders.CleanerOffset = 5
	deleting := partition("orders-0"+id+"-delete", "orders", 0, manager.Deleting)
	deleting.TopicID = [16]byte{15: 2}
	future := partition("orders-1"+id+"-future", "orders", 1, manager.Future)
	future.Resume.RecoveryPoint = 20
	want := []manager.PartitionView{
		partition("a-0", "a", 0, manager.Current), orders,
		partition("orders-0"+id+"-stray", "orders", 0, manager.Stray), deleting, future,
		partition("orders-10", "orders", 10, manager.Current),
	}
	onEach(t, func(t *testing.T, fsys fsio.FS) {
		filled(t, fsys)
		v := view(t, fsys)
		assert.Equal(t, want, v.Partitions())
		assert.Empty(t, v.Warnings())
		identity, ok := v.Identity()
		assert.True(t, ok)
		assert.Equal(t, manager.Identity{ClusterID: "c", NodeID: 7}, identity)
		assert.Equal(t, "kzapmueIkmvLGm26X6isGQ", checkpoint.FormatID(v.DirID()))
		epoch, clean := v.Clean()
		assert.True(t, clean)
		assert.Equal(t, int64(14), epoch)
		v.Partitions()[0].Dir = "changed by the caller"
		assert.Equal(t, want, v.Partitions())
	})
}

func TestViewOfAnEmptyDirectory(t *testing.T) {
	onEach(t, func(t *testing.T, fsys fsio.FS) {
		v := view(t, fsys)
		assert.Empty(t, v.Partitions())
		assert.Empty(t, v.Warnings())
		_, ok := v.Identity()
		assert.False(t, ok)
		assert.Zero(t, v.DirID())
		epoch, clean := v.Clean()
		assert.False(t, clean)
		assert.Equal(t, int64(-1), epoch)
	})
}

func TestViewWarns(t *testing.T) {
	for _, row := range []struct {
		name, file, content string
		want                error
	}{
		{"meta.properties", "meta.properties", "version=9\n", checkpoint.ErrCorrupt},
		{"recovery points", checkpoint.RecoveryPoints, "0\n7\n", checkpoint.ErrCorrupt},
		{"start offsets", checkpoint.StartOffsets, "0\n7\n", checkpoint.ErrCorrupt},
		{"high watermarks", checkpoint.HighWatermarks, "0\n7\n", checkpoint.ErrCorrupt},
		{"cleaner offsets", checkpoint.CleanerOffsets, "0\n7\n", checkpoint.ErrCorrupt},
		{"the clean mark", checkpoint.CleanShutdown, "{", checkpoint.ErrCorrupt},
		{"a topic id", "orders-0/partition.metadata", "version: 0\n", checkpoint.ErrCorrupt},
		{"a foreign directory", "lost+found", "", manager.ErrName},
		{"one partition twice", "orders-00", "", manager.ErrName},
		{"a suffix without id", "orders-0-delete", "", manager.ErrName},
		{"a suffix with an empty id", "orders-0.-stray", "", manager.ErrName},
		{"a suffix behind no partition", "orders.1-future", "", manager.ErrName},
	} {
		t.Run(row.name, func(t *testing.T) {
			fsys := aferofs.Mem()
			filled(t, fsys)
			before := view(t, fsys)
			if errors.Is(row.want, manager.ErrName) {
				put(t, fsys, row.file+"/x", "")
			} else {
				put(t, fsys, row.file, row.content)
			}
			v := view(t, fsys)
			warnings := v.Warnings()
			require.Len(t, warnings, 1)
			assert.Equal(t, row.file, warnings[0].File)
			require.ErrorIs(t, warnings[0].Err, row.want)
			assert.Len(t, v.Partitions(), len(before.Partitions()))
			_, clean := v.Clean()
			assert.True(t, clean)
		})
	}
}

// TestViewWarnsOfLinks does not follow them.
func TestViewWarnsOfLinks(t *testing.T) {
	dir := t.TempDir()
	fsys, err := fsio.OS(dir)
	require.NoError(t, err)
	defer func() { require.NoError(t, fsys.Close()) }()
	put(t, fsys, "a-0/partition.metadata", files["orders-0/partition.metadata"])
	if err := os.Symlink("a-0", filepath.Join(dir, "b-0")); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	require.NoError(t, os.Symlink("a-0/partition.metadata", filepath.Join(dir, "meta.properties")))
	v := view(t, fsys)
	assert.Len(t, v.Partitions(), 1)
	var names []string
	for _, w := range v.Warnings() {
		require.ErrorIs(t, w.Err, fsio.ErrNotRegular)
		names = append(names, w.File)
	}
	assert.Subset(t, names, []string{"b-0", "meta.properties"})
}

func TestViewFails(t *testing.T) {
	failing := false
	fsys := fsio.Intercept(aferofs.Mem(), func(op *fsio.Op, do func() error) error {
		if failing && op.Kind == fsio.OpReadDir {
			return fs.ErrPermission
		}
		return do()
	})
	filled(t, fsys)
	v := view(t, fsys)
	before := v.Partitions()
	failing = true
	require.ErrorIs(t, v.Refresh(t.Context()), fs.ErrPermission)
	assert.Equal(t, before, v.Partitions())
	_, err := manager.OpenView(t.Context(), fsys)
	require.ErrorIs(t, err, fs.ErrPermission)

	failing = false
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, v.Refresh(ended), context.Canceled)
}

func TestRefresh(t *testing.T) {
	fsys := aferofs.Mem()
	v := view(t, fsys)
	filled(t, fsys)
	assert.Empty(t, v.Partitions())
	require.NoError(t, v.Refresh(t.Context()))
	assert.Len(t, v.Partitions(), 6)
	require.NoError(t, fsys.Remove(checkpoint.CleanShutdown))
	_, clean := v.Clean()
	assert.True(t, clean, "as it was")
	require.NoError(t, v.Refresh(t.Context()))
	_, clean = v.Clean()
	assert.False(t, clean)
}

// TestOpen opens each partition of a broker's directory, and lets nothing pass that could change it.
func TestOpen(t *testing.T) {
	dir := fixture.Golden(t, "4.4.0/delete-records")
	disk, err := fsio.OS(filepath.Join(dir, "data"))
	require.NoError(t, err)
	defer func() { require.NoError(t, disk.Close()) }()
	writes := fsio.OpCreate | fsio.OpRename | fsio.OpRemove | fsio.OpMkdirAll | fsio.OpChtimes | fsio.OpSyncDir |
		fsio.OpLock | fsio.OpWriteAt | fsio.OpTruncate | fsio.OpAllocate | fsio.OpSync
	v := view(t, fsio.Intercept(disk, func(op *fsio.Op, do func() error) error {
		if op.Kind&writes != 0 {
			t.Errorf("%v of %s", op.Kind, op.Path)
		}
		return do()
	}))
	c := fixture.ReadCase(t, dir)
	require.Len(t, v.Partitions(), len(c.ClientView))
	for _, told := range c.ClientView {
		for _, p := range v.Partitions() {
			if p.Partition != (manager.Partition{Topic: told.Topic, ID: told.Partition}) {
				continue
			}
			l, err := v.Open(t.Context(), p, log.Options{})
			require.NoError(t, err, p.Dir)
			assert.Equal(t, told.LogStartOffset, l.StartOffset(), "start offset of %s", p.Dir)
			assert.Equal(t, told.HighWatermark, l.EndOffset(), "end offset of %s", p.Dir)
			assert.Equal(t, told.LastStableOffset, l.StableOffset(), "stable offset of %s", p.Dir)
			require.NoError(t, l.Close())
		}
	}
}

// TestGolden compares the View of each directory of a broker's with what its clients were told, and with what
// its files are known to hold.
func TestGolden(t *testing.T) {
	cases := []string{"4.4.0/multi-dir", "4.4.0/leftovers", "4.4.0/delete-records", "4.4.0/unclean"}
	if !testing.Short() {
		cases = append(fixture.Cases(t, "4.4.0"), fixture.Cases(t, "3.9.2")...)
	}
	for _, name := range cases {
		t.Run(name, func(t *testing.T) { checkGolden(t, fixture.Golden(t, name)) })
	}
}

// checkGolden checks one case.
func checkGolden(t *testing.T, dir string) {
	t.Helper()
	c := fixture.ReadCase(t, dir)
	told := map[string]fixture.View{}
	for _, v := range c.ClientView {
		told[manager.Partition{Topic: v.Topic, ID: v.Partition}.String()] = v
	}
	seen := 0
	for _, meta := range fixture.Files(t, dir, checkpoint.MetaProperties) {
		below, ok := strings.CutPrefix(path.Dir(meta), "data")
		if !ok {
			continue
		}
		fsys, err := fsio.OS(filepath.Join(dir, path.Dir(meta)))
		require.NoError(t, err)
		v := view(t, fsys)
		assert.Empty(t, v.Warnings())
		identity, ok := v.Identity()
		assert.True(t, ok)
		assert.Equal(t, manager.Identity{ClusterID: "c3RyYXRhLW9yYWNsZS0wMQ", NodeID: 1}, identity)
		assert.NotZero(t, v.DirID())
		_, err = fsys.Stat(checkpoint.CleanShutdown)
		epoch, clean := v.Clean()
		assert.Equal(t, err == nil, clean)
		assert.Equal(t, clean, epoch >= 0)
		for _, p := range v.Partitions() {
			assert.Equal(t, clean, p.Resume.Clean)
			_, known := c.OnDisk[strings.TrimPrefix(path.Join(below, p.Dir), "/")]
			assert.True(t, known, "%s is not on disk", p.Dir)
			if answer, ok := told[p.String()]; ok && p.Role == manager.Current {
				checkPartition(t, p, answer)
			}
			seen++
		}
		require.NoError(t, fsys.Close())
	}
	assert.Equal(t, len(c.OnDisk), seen, "partitions")
}

// checkPartition compares a partition with what clients were told before the broker stopped.
func checkPartition(t *testing.T, p manager.PartitionView, told fixture.View) {
	t.Helper()
	assert.Equal(t, told.TopicID, checkpoint.FormatID(p.TopicID), p.Dir)
	if !p.Resume.Clean { // after a kill the checkpoints are older than the answers
		return
	}
	assert.Equal(t, told.HighWatermark, p.Resume.HighWatermark, "high watermark of %s", p.Dir)
	assert.Equal(t, told.HighWatermark, p.Resume.RecoveryPoint, "recovery point of %s", p.Dir)
	assert.Contains(t, []int64{0, told.LogStartOffset}, p.Resume.StartOffset, "start offset of %s", p.Dir)
	if strings.HasPrefix(p.Topic, "dr-") && p.Topic != "dr-untouched" {
		assert.Equal(t, told.LogStartOffset, p.Resume.StartOffset, "start offset of %s", p.Dir)
	}
}
