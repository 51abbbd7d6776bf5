package fleet

import (
	"cmp"
	"slices"
	"strings"
)

// Bounds of near names: how many are kept, and how many characters may differ, of at most how many.
const (
	maxNear     = 5
	maxEdits    = 4
	maxCompared = 64
)

// near keeps the names that are most like one.
type near struct {
	name []rune
	list []candidate
}

type candidate struct {
	name  string
	edits int
}

func newNear(name string) *near { return &near{name: folded(name)} }

// folded returns the beginning of a name in lower case.
func folded(name string) []rune {
	runes := []rune(strings.ToLower(name))
	return runes[:min(len(runes), maxCompared)]
}

// add considers a name. It never fails.
func (n *near) add(name string) error {
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

func (n *near) names() []string {
	out := make([]string, len(n.list))
	for i, c := range n.list {
		out[i] = c.name
	}
	return out
}

// edits counts the characters to insert, delete or replace between two names, up to one more than maxEdits. The
// beginning of a longer name is one edit away.
func edits(a, b []rune) int {
	if len(a) > 0 && len(b) > len(a) && slices.Equal(a, b[:len(a)]) {
		return 1
	}
	if max(len(a), len(b))-min(len(a), len(b)) > maxEdits {
		return maxEdits + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range a {
		diagonal, least := row[0], i+1
		row[0] = i + 1
		for j, y := range b {
			replaced := diagonal
			if x != y {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
			least = min(least, row[j+1])
		}
		if least > maxEdits {
			return least
		}
	}
	return row[len(b)]
}
