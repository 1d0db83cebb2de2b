package producer

import (
	"cmp"
	"slices"

	"github.com/stratalog/strata/codec"
)

// txn is a transaction.
type txn struct {
	first    int64 // offset of its first batch
	last     int64 // offset of its marker; codec.NoOffset while it is open
	producer int64
}

// txns are transactions by their first offset, which no two share.
type txns []txn

// find is the index of the transaction that begins at first, or where it would be.
func (t txns) find(first int64) (i int, ok bool) {
	return slices.BinarySearchFunc(t, first, func(x txn, first int64) int { return cmp.Compare(x.first, first) })
}

// sort puts transactions that were appended in any order into theirs.
func (t *txns) sort() {
	slices.SortFunc(*t, func(a, b txn) int {
		return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.producer, b.producer))
	})
	*t = slices.CompactFunc(*t, func(a, b txn) bool { return a.first == b.first })
}

// put adds x, in the place of one that begins where it does. Almost always it is the last: offsets rise.
func (t *txns) put(x txn) {
	i, found := t.find(x.first)
	if found {
		(*t)[i] = x
		return
	}
	*t = slices.Insert(*t, i, x)
}

// take removes the transaction that begins at first.
func (t *txns) take(first int64) (x txn, ok bool) {
	i, found := t.find(first)
	if !found {
		return txn{}, false
	}
	x = (*t)[i]
	if i == 0 { // the rule: transactions end in about the order in which they begin
		*t = (*t)[1:]
	} else {
		*t = slices.Delete(*t, i, i+1)
	}
	return x, true
}

// first is where the oldest begins, or codec.NoOffset.
func (t txns) first() int64 {
	if len(t) == 0 {
		return codec.NoOffset
	}
	return t[0].first
}
