package mask

import (
	"math"
	"strings"
)

// Masker finds the secrets of one run. It is immutable and safe for concurrent use. The zero value and nil mask
// nothing.
type Masker struct {
	root  [256]int32
	nodes []node
}

// node is a state. Children form a list, since nearly every state has one; only the root has a table.
type node struct {
	child, sibling int32
	fail           int32
	depth          int32 // bytes from the root
	match          int32 // length of the longest secret that ends here, 0 for none
	label          byte
}

// New makes a masker of the given secrets. It ignores secrets shorter than MinLen bytes.
func New(secrets []string) *Masker { return NewFor(secrets, math.MaxInt) }

// NewFor is New for texts of at most longest bytes, which hold no longer form of a secret. It costs little for short
// texts and long secrets.
func NewFor(secrets []string, longest int) *Masker {
	m := &Masker{}
	for _, s := range secrets {
		if len(s) < MinLen {
			continue
		}
		list := forms
		if len(strings.TrimSpace(s)) > longest {
			list = lineForms
		}
		for _, f := range list(s) {
			if len(f) >= MinLen && len(f) <= longest {
				m.insert(f)
			}
		}
	}
	m.link()
	return m
}

// Empty reports whether there is nothing to mask.
func (m *Masker) Empty() bool { return m == nil || len(m.nodes) == 0 }

func (m *Masker) insert(s string) {
	if len(m.nodes) == 0 {
		m.nodes = append(m.nodes, node{})
	}
	at := int32(0)
	for i := range len(s) {
		next := m.edge(at, s[i])
		if next == 0 {
			next = int32(len(m.nodes))
			m.nodes = append(m.nodes, node{label: s[i], depth: int32(i + 1), sibling: m.nodes[at].child})
			m.nodes[at].child = next
		}
		at = next
	}
	m.nodes[at].match = int32(len(s))
}

// edge returns the child of a state by its byte, 0 for none.
func (m *Masker) edge(at int32, b byte) int32 {
	for c := m.nodes[at].child; c != 0; c = m.nodes[c].sibling {
		if m.nodes[c].label == b {
			return c
		}
	}
	return 0
}

// link sets the failure links in breadth-first order.
func (m *Masker) link() {
	if m.Empty() {
		return
	}
	var queue []int32
	for c := m.nodes[0].child; c != 0; c = m.nodes[c].sibling {
		m.root[m.nodes[c].label] = c
		queue = append(queue, c)
	}
	for i := 0; i < len(queue); i++ {
		at := queue[i]
		for c := m.nodes[at].child; c != 0; c = m.nodes[c].sibling {
			f := m.step(m.nodes[at].fail, m.nodes[c].label)
			m.nodes[c].fail = f
			m.nodes[c].match = max(m.nodes[c].match, m.nodes[f].match)
			queue = append(queue, c)
		}
	}
}

// step returns the state that follows a state at one byte.
func (m *Masker) step(at int32, b byte) int32 {
	for at != 0 {
		if c := m.edge(at, b); c != 0 {
			return c
		}
		at = m.nodes[at].fail
	}
	return m.root[b]
}

// Found reports whether s contains a secret.
func (m *Masker) Found(s string) bool {
	if m.Empty() {
		return false
	}
	at := int32(0)
	for i := range len(s) {
		if at == 0 {
			at = m.root[s[i]]
		} else {
			at = m.step(at, s[i])
		}
		if m.nodes[at].match > 0 {
			return true
		}
	}
	return false
}
