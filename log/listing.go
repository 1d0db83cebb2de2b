package log

import (
	"io/fs"
	"math"
	"slices"
	"strings"

	"github.com/stratalog/strata/internal/checkpoint"
	"github.com/stratalog/strata/internal/producer"
	"github.com/stratalog/strata/segment"
)

// listing is what the names in a partition's directory say: which segments are part of it, and what a crash
// left. It is made of the names alone.
type listing struct {
	segments []int64  // the base offsets of .log files, rising
	swaps    []int64  // of .log.swap files that are complete, rising
	swapped  []string // the files of those, and what else ends in .swap and stays
	undone   []int64  // the base offsets of compactions and splits that were not complete
	void     []string // .swap files without worth: to be removed before the .cleaned ones that tell so
	leftover []string // other files to be removed: .deleted, .cleaned, .tmp
	numbered []string // other files that are named by an offset
}

// list sorts the names.
func list(entries []fs.DirEntry) listing {
	var (
		x          listing
		minCleaned = int64(math.MaxInt64)
		swaps      []string
	)
	for _, e := range entries {
		name := e.Name()
		if !e.Type().IsRegular() {
			continue
		}
		if strings.HasSuffix(name, ".tmp") && isOurs(name) {
			x.leftover = append(x.leftover, name)
			continue
		}
		base, ext, state, ok := segment.ParseFileName(name)
		switch {
		case !ok || !isOurs(name):
		case state == segment.Deleted:
			x.leftover = append(x.leftover, name)
		case state == segment.Cleaned:
			x.leftover = append(x.leftover, name)
			x.undone = append(x.undone, base)
			minCleaned = min(minCleaned, base)
		case state == segment.Swap:
			swaps = append(swaps, name)
		case ext == segment.LogExt:
			x.segments = append(x.segments, base)
			x.numbered = append(x.numbered, name)
		default:
			x.numbered = append(x.numbered, name)
		}
	}
	x.sortSwaps(swaps, minCleaned)
	slices.Sort(x.segments)
	return x
}

// sortSwaps tells complete compactions and splits from others. Their segments get .swap from the last to the first, so
// that, where one is still .cleaned, those that begin at it or above belong to the same, which is not
// complete.
func (x *listing) sortSwaps(names []string, minCleaned int64) {
	for _, name := range names {
		base, ext, _, _ := segment.ParseFileName(name)
		if base >= minCleaned {
			x.void = append(x.void, name)
			x.undone = append(x.undone, base)
			continue
		}
		x.swapped = append(x.swapped, name)
		if ext == segment.LogExt {
			x.swaps = append(x.swaps, base)
		}
	}
	slices.Sort(x.swaps)
	slices.Sort(x.undone)
	x.undone = slices.Compact(x.undone)
}

// replaced are the files that make way for the complete compactions and splits.
func (x *listing) replaced(by swap) []string {
	var names []string
	for _, name := range x.numbered {
		if base, _, _, _ := segment.ParseFileName(name); by.replaces(base) {
			names = append(names, name)
		}
	}
	return names
}

// orphans are index files without a .log file.
func (x *listing) orphans() []string {
	var names []string
	for _, name := range x.numbered {
		base, ext, _, _ := segment.ParseFileName(name)
		if ext == segment.LogExt || ext == producer.SnapshotExt {
			continue
		}
		if _, found := slices.BinarySearch(x.segments, base); !found {
			names = append(names, name)
		}
	}
	return names
}

// isOurs reports whether a file of a partition's directory is one that Kafka or this package writes.
func isOurs(name string) bool {
	switch name {
	case checkpoint.LeaderEpochs, checkpoint.PartitionMetadata, checkpoint.Strata,
		checkpoint.LeaderEpochs + ".tmp", checkpoint.PartitionMetadata + ".tmp":
		return true
	}
	_, ext, _, ok := segment.ParseFileName(name)
	switch ext {
	case segment.LogExt, segment.IndexExt, segment.TimeIndexExt, segment.TxnIndexExt, segment.SumExt, producer.SnapshotExt:
		return ok
	}
	return false
}
