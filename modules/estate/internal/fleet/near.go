package fleet

import (
	"cmp"
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/near"
)

// Bounds of near names: how many are kept, and how many characters may differ, of at most how many.
const (
	maxNear     = 5
	maxEdits    = 4
	maxCompared = 64
)

// similar keeps the names that are most like one.
type similar struct {
	name []rune
	list []candidate
}

type candidate struct {
	name  string
	edits int
}

func newSimilar(name string) *similar { return &similar{name: folded(name)} }

// folded returns the beginning of a name in lower case.
func folded(name string) []rune {
	runes := []rune(strings.ToLower(name))
	return runes[:min(len(runes), maxCompared)]
}

// add considers a name. It never fails.
func (n *similar) add(name string) error {
	c := candidate{name, edits(n.name, folded(name))}
	if c.edits > min(maxEdits, 1+len(n.name)/3) {
		return nil
	}
	at, _ := slices.BinarySearchFunc(n.list, c, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.edits, b.edits), strings.Compare(a.name, b.name))
	})
	n.list = slices.Insert(n.list, at, c)
	n.list = n.list[:min(len(n.list), maxNear)]
	return nil
}

func (n *similar) names() []string {
	out := make([]string, len(n.list))
	for i, c := range n.list {
		out[i] = c.name
	}
	return out
}

// edits counts the letters between two names, up to one more than maxEdits. The beginning of a longer name is one edit
// away.
func edits(a, b []rune) int {
	if len(a) > 0 && len(b) > len(a) && slices.Equal(a, b[:len(a)]) {
		return 1
	}
	return near.Edits(a, b, maxEdits+1)
}
