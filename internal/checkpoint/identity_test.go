package checkpoint_test

import (
	"io/fs"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/aferofs"
	"github.com/stratalog/strata/internal/checkpoint"
)

// dirID is kzapmueIkmvLGm26X6isGQ.
var dirID = checkpoint.ID{
	0x93, 0x36, 0xa9, 0x9a, 0xe7, 0x88, 0x92, 0x6b, 0xcb, 0x1a, 0x6d, 0xba, 0x5f, 0xa8, 0xac, 0x19,
}

func TestIDs(t *testing.T) {
	for _, row := range []struct {
		text string
		id   checkpoint.ID
	}{
		{"kzapmueIkmvLGm26X6isGQ", dirID},
		{"AAAAAAAAAAAAAAAAAAAAAQ", checkpoint.ID{15: 1}},
		{"AAAAAAAAAAAAAAAAAAAAAA", checkpoint.ID{}},
		{"-_______________-____w", checkpoint.ID{0xfb, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfb, 0xff, 0xff, 0xff}},
	} {
		assert.Equal(t, row.text, checkpoint.FormatID(row.id))
		for _, text := range []string{row.text, row.text + "=="} {
			got, err := checkpoint.ParseID(text)
			require.NoError(t, err, text)
			assert.Equal(t, row.id, got, text)
		}
	}
	for name, text := range map[string]string{
		"empty":               "",
		"short":               "kzapmueIkmvLGm26X6isG",
		"long":                "kzapmueIkmvLGm26X6isGQQ",
		"half of the padding": "kzapmueIkmvLGm26X6isGQ=",
		"not base64url":       "kzapmueIkmvLGm26X6is+Q",
		"an end of line":      "kzapmueIkmvLGm26X6isG\n",
		"129 bits":            "kzapmueIkmvLGm26X6isGR",
	} {
		_, err := checkpoint.ParseID(text)
		assert.ErrorIs(t, err, checkpoint.ErrCorrupt, name)
	}
}

func TestTopicID(t *testing.T) {
	const kafkas = "version: 0\ntopic_id: kzapmueIkmvLGm26X6isGQ"
	onEach(t, func(t *testing.T, fsys fsio.FS) {
		require.NoError(t, checkpoint.WriteTopicID(fsys, checkpoint.PartitionMetadata, dirID))
		assert.Equal(t, kafkas, get(t, fsys, checkpoint.PartitionMetadata))
		got, err := checkpoint.ReadTopicID(fsys, checkpoint.PartitionMetadata)
		require.NoError(t, err)
		assert.Equal(t, dirID, got)
		require.ErrorIs(t, checkpoint.WriteTopicID(fsys, checkpoint.PartitionMetadata, checkpoint.ID{}), fs.ErrInvalid)
	})
	for size := range len(kafkas) {
		fsys := aferofs.Mem()
		put(t, fsys, "x", kafkas[:size])
		_, err := checkpoint.ReadTopicID(fsys, "x")
		require.ErrorIs(t, err, checkpoint.ErrCorrupt, "cut at %d", size)
	}
}

func TestReadTopicID(t *testing.T) {
	const id = "topic_id: kzapmueIkmvLGm26X6isGQ"
	for _, row := range []struct {
		name, content string
		ok            bool
	}{
		{"with a last end of line", "version: 0\n" + id + "\n", true},
		{"of Windows", "version: 0\r\n" + id + "\r\n", true},
		{"a later version", "version: 7\n" + id, true},
		{"more white space", "version:  0\ntopic_id:\tkzapmueIkmvLGm26X6isGQ", true},
		{"no white space", "version:0\n" + id, false},
		{"a negative version", "version: -1\n" + id, false},
		{"a version that is no number", "version: x\n" + id, false},
		{"another key", "version: 0\ntopic: kzapmueIkmvLGm26X6isGQ", false},
		{"the other order", id + "\nversion: 0", false},
		{"a third line", "version: 0\n" + id + "\nmore", false},
		{"the zero id", "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA", false},
		{"no id", "version: 0\ntopic_id: orders", false},
	} {
		fsys := aferofs.Mem()
		put(t, fsys, "x", row.content)
		got, err := checkpoint.ReadTopicID(fsys, "x")
		if row.ok {
			require.NoError(t, err, row.name)
			assert.Equal(t, dirID, got, row.name)
			continue
		}
		assert.ErrorIs(t, err, checkpoint.ErrCorrupt, row.name)
	}
}

// kafkaMeta is a file of Kafka 4.4.0.
const kafkaMeta = `#
#Mon Nov 30 01:21:52 UTC 2026
node.id=1
directory.id=kzapmueIkmvLGm26X6isGQ
version=1
cluster.id=c3RyYXRhLW9yYWNsZS0wMQ
`

var sampleMeta = checkpoint.Meta{Version: 1, NodeID: 1, ClusterID: "c3RyYXRhLW9yYWNsZS0wMQ", DirID: dirID}

func TestWriteMeta(t *testing.T) {
	now := time.Date(2026, 11, 30, 1, 21, 52, 0, time.UTC)
	onEach(t, func(t *testing.T, fsys fsio.FS) {
		for _, row := range []struct {
			meta checkpoint.Meta
			want string
		}{
			{sampleMeta, kafkaMeta},
			{
				checkpoint.Meta{NodeID: 3, ClusterID: "a = b: #c!\\\t d"},
				"#\n#Mon Nov 30 01:21:52 UTC 2026\nbroker.id=3\nversion=0\ncluster.id=a \\= b\\: \\#c\\!\\\\\\t d\n",
			},
			{
				checkpoint.Meta{NodeID: checkpoint.NoNode, ClusterID: " x"},
				"#\n#Mon Nov 30 01:21:52 UTC 2026\nversion=0\ncluster.id=\\ x\n",
			},
		} {
			require.NoError(t, checkpoint.WriteMeta(fsys, checkpoint.MetaProperties, row.meta, now))
			assert.Equal(t, row.want, get(t, fsys, checkpoint.MetaProperties))
			got, err := checkpoint.ReadMeta(fsys, checkpoint.MetaProperties)
			require.NoError(t, err)
			assert.Equal(t, row.meta, got)
		}
		for name, bad := range map[string]checkpoint.Meta{
			"another version": {Version: 2, NodeID: 1, ClusterID: "c"},
			"no cluster":      {Version: 1, NodeID: 1},
			"no node":         {Version: 1, NodeID: checkpoint.NoNode, ClusterID: "c"},
			"a negative node": {NodeID: -2},
		} {
			assert.ErrorIs(t, checkpoint.WriteMeta(fsys, checkpoint.MetaProperties, bad, now), fs.ErrInvalid, name)
		}
	})
}

func TestReadMeta(t *testing.T) {
	v0 := checkpoint.Meta{NodeID: 1, ClusterID: "c"}
	for _, row := range []struct {
		name, content string
		want          checkpoint.Meta
	}{
		{"Kafka's", kafkaMeta, sampleMeta},
		{"version 0", "version=0\nbroker.id=1\ncluster.id=c\n", v0},
		{"no version is 0", "broker.id=1\ncluster.id=c\n", v0},
		{"nothing", "", checkpoint.Meta{NodeID: checkpoint.NoNode}},
		{"no last end of line", "broker.id=1\ncluster.id=c", v0},
		{"Java's separators", "broker.id : 1\r\n  cluster.id   c\r", v0},
		{"Java's escapes", "broker\\.id=\\u0031\ncluster.i\\\n   d=\\c\n", v0},
		{"comments", "# broker.id=2\n ! broker.id=2\nbroker.id=1\n\n\t\ncluster.id=c\n", v0},
		{"a comment does not go on", "#\\\nbroker.id=1\ncluster.id=c\n", v0},
		{"the later line counts", "broker.id=7\nbroker.id=1\ncluster.id=c\n", v0},
		{"other keys", "broker.id=1\ncluster.id=c\nrack=r\n", v0},
		{"node.id is not version 0's", "node.id=5\n", checkpoint.Meta{NodeID: checkpoint.NoNode}},
		{"a key alone", "cluster.id\n", checkpoint.Meta{NodeID: checkpoint.NoNode}},
		{"two backslashes are one", "cluster.id=c\\\\\nbroker.id=1\n", checkpoint.Meta{NodeID: 1, ClusterID: "c\\"}},
		{"a backslash last", "cluster.id=c\\", checkpoint.Meta{NodeID: checkpoint.NoNode, ClusterID: "c"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			fsys := aferofs.Mem()
			put(t, fsys, "x", row.content)
			got, err := checkpoint.ReadMeta(fsys, "x")
			require.NoError(t, err)
			assert.Equal(t, row.want, got)
		})
	}
}

func TestReadMetaRefuses(t *testing.T) {
	for name, content := range map[string]string{
		"a later version":         "version=2\nnode.id=1\ncluster.id=c\n",
		"a version that is none":  "version=one\nnode.id=1\ncluster.id=c\n",
		"version 1, no node":      "version=1\ncluster.id=c\n",
		"version 1, no cluster":   "version=1\nnode.id=1\n",
		"a node that is none":     "version=1\nnode.id=x\ncluster.id=c\n",
		"a negative node":         "version=1\nnode.id=-1\ncluster.id=c\n",
		"a directory that is bad": "version=1\nnode.id=1\ncluster.id=c\ndirectory.id=c\n",
		"a bad escape":            "cluster.id=\\u12g4\n",
		"a cut escape":            "cluster.id=\\u12",
	} {
		fsys := aferofs.Mem()
		put(t, fsys, "x", content)
		_, err := checkpoint.ReadMeta(fsys, "x")
		assert.ErrorIs(t, err, checkpoint.ErrCorrupt, name)
	}
}

func TestClean(t *testing.T) {
	onEach(t, func(t *testing.T, fsys fsio.FS) {
		require.NoError(t, checkpoint.WriteClean(fsys, checkpoint.CleanShutdown, 14))
		assert.Equal(t, `{"version":0,"brokerEpoch":14}`, get(t, fsys, checkpoint.CleanShutdown))
		for _, row := range []struct {
			content string
			want    int64
			corrupt bool
		}{
			{`{"version":0,"brokerEpoch":14}`, 14, false},
			{`{"version":0,"brokerEpoch":-1}`, checkpoint.NoBrokerEpoch, false},
			{``, checkpoint.NoBrokerEpoch, false},
			{`{"version":1,"brokerEpoch":9223372036854775807,"more":{}}`, 9223372036854775807, false},
			{`{}`, checkpoint.NoBrokerEpoch, false},
			{`{"version":0,"brokerEpoch":14`, checkpoint.NoBrokerEpoch, true},
			{`{"version":0,"brokerEpoch":"14"}`, checkpoint.NoBrokerEpoch, true},
			{`{"version":0,"brokerEpoch":99999999999999999999}`, checkpoint.NoBrokerEpoch, true},
			{"\x00\x00", checkpoint.NoBrokerEpoch, true},
		} {
			put(t, fsys, checkpoint.CleanShutdown, row.content)
			got, err := checkpoint.ReadClean(fsys, checkpoint.CleanShutdown)
			if row.corrupt {
				require.ErrorIs(t, err, checkpoint.ErrCorrupt, row.content)
			} else {
				require.NoError(t, err, row.content)
			}
			assert.Equal(t, row.want, got, row.content)
		}
	})
}
