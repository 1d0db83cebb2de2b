package fsio_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
)

// TestKindWords has the kinds in the order in which the comment of String names them.
func TestKindWords(t *testing.T) {
	for _, row := range []struct {
		kind fsio.Kind
		word string
	}{
		{fsio.OpOpen, "open"},
		{fsio.OpCreate, "create"},
		{fsio.OpRename, "rename"},
		{fsio.OpRemove, "remove"},
		{fsio.OpMkdirAll, "mkdir"},
		{fsio.OpReadDir, "readdir"},
		{fsio.OpStat, "stat"},
		{fsio.OpChtimes, "chtimes"},
		{fsio.OpSyncDir, "syncdir"},
		{fsio.OpLock, "lock"},
		{fsio.OpUnlock, "unlock"},
		{fsio.OpReadAt, "read"},
		{fsio.OpWriteAt, "write"},
		{fsio.OpSize, "size"},
		{fsio.OpTruncate, "truncate"},
		{fsio.OpAllocate, "allocate"},
		{fsio.OpSync, "sync"},
		{fsio.OpMap, "map"},
		{fsio.OpCopyTo, "copy"},
		{fsio.OpClose, "close"},
		{fsio.OpMapView, "view"},
		{fsio.OpMapWriteAt, "mapwrite"},
		{fsio.OpMapFlush, "flush"},
		{fsio.OpMapResize, "resize"},
		{fsio.OpMapClose, "unmap"},
	} {
		assert.Equal(t, row.word, row.kind.String())
		got, err := fsio.ParseKind(row.word)
		require.NoError(t, err)
		assert.Equal(t, row.kind, got, "ParseKind(%q)", row.word)
		assert.True(t, fsio.All.Has(row.kind), "All lacks %v", row.kind)
	}
}

func TestKindSets(t *testing.T) {
	for _, row := range []struct {
		text string
		want fsio.Kind
		back string
	}{
		{"", 0, ""},
		{"read|write", fsio.OpReadAt | fsio.OpWriteAt, "read|write"},
		{"write|read", fsio.OpReadAt | fsio.OpWriteAt, "read|write"},
		{"reads", fsio.Reads, "read|copy|view"},
		{"writes", fsio.Writes, "write|mapwrite"},
		{"sizes", fsio.Sizes, "truncate|allocate|resize"},
		{"names", fsio.Names, "create|rename|remove|mkdir"},
		{"syncs", fsio.Syncs, "syncdir|sync|flush"},
		{"closes", fsio.Closes, "unlock|close|unmap"},
		{"looks", fsio.Looks, "open|readdir|stat|size"},
		{"holds", fsio.Holds, "lock|map"},
		{"writes|sync", fsio.Writes | fsio.OpSync, "write|sync|mapwrite"},
		{"mutates", fsio.Mutates, fsio.Mutates.String()},
		{"all", fsio.All, fsio.All.String()},
	} {
		got, err := fsio.ParseKind(row.text)
		require.NoError(t, err)
		assert.Equal(t, row.want, got, "ParseKind(%q)", row.text)
		assert.Equal(t, row.back, got.String())
		again, err := fsio.ParseKind(row.back)
		require.NoError(t, err)
		assert.Equal(t, row.want, again, "ParseKind(%q)", row.back)
	}
}

func TestParseKindRefuses(t *testing.T) {
	for _, text := range []string{"reed", "read|", "|", "READ", "read,write", "read |write"} {
		got, err := fsio.ParseKind(text)
		assert.Error(t, err, "ParseKind(%q) = %v", text, got)
	}
}
