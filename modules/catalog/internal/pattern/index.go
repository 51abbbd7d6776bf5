package pattern

import (
	"context"
	"encoding/json"
	"slices"
	"sort"
	"strings"

	"github.com/writ-automation/writ/ports/catalog"
)

// The names of the groups that always exist.
const (
	all       = "all"
	ungrouped = "ungrouped"
)

// Index is an inventory that is indexed for queries. It is immutable and safe for concurrent use.
type Index struct {
	content *catalog.InventoryContent
	hosts   map[string]int32 // the position of each host in inventory order
	sorted  []int32          // the positions of the hosts, sorted by name
	groups  map[string]int32
	of      []group
	direct  [][]int32 // for each host, the groups that contain it directly
	size    int
}

type group struct {
	name              string
	hosts             []int32
	children, parents []int32
}

// NewIndex indexes the content of an inventory. The caller must not change the content afterwards.
func NewIndex(c *catalog.InventoryContent) *Index {
	e := &Index{
		content: c, hosts: make(map[string]int32, len(c.Hosts)), groups: make(map[string]int32, len(c.Groups)),
		direct: make([][]int32, len(c.Hosts)), sorted: make([]int32, len(c.Hosts)),
	}
	for i, name := range c.Hosts {
		e.hosts[name] = int32(i) //nolint:gosec // limited by the parser
		e.sorted[i] = int32(i)   //nolint:gosec // limited by the parser
	}
	slices.SortFunc(e.sorted, func(a, b int32) int { return strings.Compare(c.Hosts[a], c.Hosts[b]) })
	for _, name := range c.Ordered() {
		e.groups[name] = int32(len(e.of)) //nolint:gosec // limited by the parser
		e.of = append(e.of, group{name: name})
	}
	for i := range e.of {
		e.fill(int32(i)) //nolint:gosec // limited by the parser
	}
	e.size = e.estimateSize()
	return e
}

// beginning returns the hosts whose names have the prefix, sorted by name.
func (e *Index) beginning(prefix string) []int32 {
	first, _ := slices.BinarySearchFunc(e.sorted, prefix, func(h int32, p string) int {
		return strings.Compare(e.content.Hosts[h], p)
	})
	rest := e.sorted[first:]
	n := sort.Search(len(rest), func(i int) bool { return !strings.HasPrefix(e.content.Hosts[rest[i]], prefix) })
	return rest[:n]
}

func (e *Index) fill(i int32) {
	g := &e.of[i]
	from := e.content.Groups[g.name]
	g.hosts = make([]int32, 0, len(from.Hosts))
	for _, name := range from.Hosts {
		if h, ok := e.hosts[name]; ok {
			g.hosts = append(g.hosts, h)
			e.direct[h] = append(e.direct[h], i)
		}
	}
	for _, name := range from.Children {
		if c, ok := e.groups[name]; ok {
			g.children = append(g.children, c)
			e.of[c].parents = append(e.of[c].parents, i)
		}
	}
}

// Size returns the approximate size of the index in bytes.
func (e *Index) Size() int { return e.size }

func (e *Index) estimateSize() int {
	const perHost, perGroup, perPlace, perMap = 124, 320, 8, 64
	n := len(e.of) * perGroup
	for i, name := range e.content.Hosts {
		n += perHost + 2*len(name) + perPlace*len(e.direct[i])
	}
	for i := range e.of {
		n += 2*len(e.of[i].name) + perPlace*(3*len(e.of[i].hosts)+4*len(e.of[i].children))
	}
	for _, vars := range e.content.Vars {
		n += perMap + bytesOf(vars)
	}
	for _, g := range e.content.Groups {
		n += bytesOf(g.Vars)
	}
	return n
}

// bytesOf returns the approximate size of a value in bytes. Values that several hosts share count for each host.
func bytesOf(v any) int {
	const perValue, perMember = 16, 48
	n := perValue
	switch v := v.(type) {
	case string:
		n += len(v)
	case json.Number:
		n += len(v)
	case []any:
		for _, x := range v {
			n += bytesOf(x)
		}
	case map[string]any:
		for k, x := range v {
			n += perMember + len(k) + bytesOf(x)
		}
	}
	return n
}

// Hosts returns a range of the hosts in inventory order and the total number.
func (e *Index) Hosts(ctx context.Context, offset, limit int) ([]catalog.HostEntry, int, error) {
	total := len(e.content.Hosts)
	from := min(max(offset, 0), total)
	to := from + min(limit, total-from)
	out := make([]catalog.HostEntry, 0, to-from)
	seen := make([]int32, len(e.of))
	for h := from; h < to; h++ {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		name := e.content.Hosts[h]
		entry := catalog.HostEntry{Name: name, Vars: e.content.Vars[name], Groups: []string{}}
		for _, g := range e.above(e.direct[h], seen, int32(len(out)+1)) { //nolint:gosec // limited by the page
			entry.Groups = append(entry.Groups, e.of[g].name)
		}
		slices.Sort(entry.Groups)
		out = append(out, entry)
	}
	return out, total, nil
}

// Groups returns all groups from the root downwards.
func (e *Index) Groups() []catalog.GroupEntry {
	out := make([]catalog.GroupEntry, len(e.of))
	counts, seen := make([]int, len(e.of)), make([]int32, len(e.of))
	for h, direct := range e.direct {
		for _, g := range e.above(direct, seen, int32(h+1)) { //nolint:gosec // limited by the parser
			counts[g]++
		}
	}
	for i, g := range e.of {
		switch g.name {
		case all:
			counts[i] = len(e.content.Hosts)
		case ungrouped:
			counts[i] = len(g.hosts)
		}
		out[i] = catalog.GroupEntry{Name: g.name, Hosts: counts[i]}
		for _, c := range g.children {
			out[i].Children = append(out[i].Children, e.of[c].name)
		}
	}
	return out
}

// above returns the groups and all groups that contain them, each once, except all and ungrouped. seen contains the
// mark at the visited groups.
func (e *Index) above(direct, seen []int32, mark int32) []int32 {
	var out, next []int32
	next = append(next, direct...)
	for len(next) > 0 {
		g := next[len(next)-1]
		next = next[:len(next)-1]
		if seen[g] == mark {
			continue
		}
		seen[g] = mark
		if name := e.of[g].name; name != all && name != ungrouped {
			out = append(out, g)
		}
		next = append(next, e.of[g].parents...)
	}
	return out
}

// below returns the groups and all groups in them, each once, level by level.
func (e *Index) below(roots ...int32) []int32 {
	seen := make(map[int32]bool, len(roots))
	var out []int32
	add := func(g int32) {
		if !seen[g] {
			seen[g] = true
			out = append(out, g)
		}
	}
	for _, g := range roots {
		add(g)
	}
	for i := 0; i < len(out); i++ {
		for _, c := range e.of[out[i]].children {
			add(c)
		}
	}
	return out
}
