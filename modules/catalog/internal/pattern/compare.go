package pattern

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/catalog"
)

// The bounds of a comparison.
const (
	maxEntries = 500       // in each list of hosts or groups
	maxMembers = 100       // variables, or groups, of an entry
	maxValues  = 256 << 10 // approximate bytes of all values
)

// Compare returns the differences of the hosts and of the groups of two inventories, and whether a bound left something
// out.
func Compare(ctx context.Context, from, to *Index) (hosts, groups catalog.EntryDiff, truncated bool, err error) {
	c := comparison{from: from, to: to, values: maxValues, seenFrom: make([]int32, len(from.of)),
		seenTo: make([]int32, len(to.of))}
	if hosts, err = c.entries(ctx, from.hosts, to.hosts, c.host); err == nil {
		groups, err = c.entries(ctx, from.groups, to.groups, c.group)
	}
	return hosts, groups, c.truncated, err
}

type comparison struct {
	from, to         *Index
	values           int // bytes of values that are left
	truncated        bool
	seenFrom, seenTo []int32
	mark             int32
}

// entries compares entries by name. changed compares two of one name.
func (c *comparison) entries(
	ctx context.Context, from, to map[string]int32, changed func(e *catalog.ChangedEntry, from, to int32),
) (d catalog.EntryDiff, err error) {
	for _, name := range slices.Sorted(maps.Keys(from)) {
		if _, ok := to[name]; !ok {
			d.RemovedTotal++
			d.Removed = within(c, d.Removed, name, maxEntries)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(to)) {
		if err := ctx.Err(); err != nil {
			return d, err
		}
		was, ok := from[name]
		if !ok {
			d.AddedTotal++
			d.Added = within(c, d.Added, name, maxEntries)
			continue
		}
		e := catalog.ChangedEntry{Name: name}
		if changed(&e, was, to[name]); len(e.Vars)+len(e.Joined)+len(e.Left) > 0 {
			d.ChangedTotal++
			d.Changed = within(c, d.Changed, e, maxEntries)
		}
	}
	return d, nil
}

// within appends an element unless there are enough.
func within[T any](c *comparison, list []T, v T, most int) []T {
	if len(list) == most {
		c.truncated = true
		return list
	}
	return append(list, v)
}

func (c *comparison) host(e *catalog.ChangedEntry, from, to int32) {
	c.mark++
	c.memberships(e, c.from.names(c.from.above(c.from.direct[from], c.seenFrom, c.mark)),
		c.to.names(c.to.above(c.to.direct[to], c.seenTo, c.mark)))
	c.vars(e, c.from.content.Vars[e.Name], c.to.content.Vars[e.Name])
}

func (c *comparison) group(e *catalog.ChangedEntry, from, to int32) {
	c.memberships(e, c.from.names(c.from.of[from].parents), c.to.names(c.to.of[to].parents))
	c.vars(e, c.from.content.Groups[e.Name].Vars, c.to.content.Groups[e.Name].Vars)
}

// names returns the names of groups, sorted, without all, which has every group below it.
func (e *Index) names(groups []int32) []string {
	out := make([]string, 0, len(groups))
	for _, g := range groups {
		if name := e.of[g].name; name != all {
			out = append(out, name)
		}
	}
	slices.SortFunc(out, strings.Compare)
	return out
}

// memberships compares two sorted lists.
func (c *comparison) memberships(e *catalog.ChangedEntry, from, to []string) {
	for _, name := range to {
		if _, ok := slices.BinarySearch(from, name); !ok {
			e.Joined = within(c, e.Joined, name, maxMembers)
		}
	}
	for _, name := range from {
		if _, ok := slices.BinarySearch(to, name); !ok {
			e.Left = within(c, e.Left, name, maxMembers)
		}
	}
}

func (c *comparison) vars(e *catalog.ChangedEntry, from, to map[string]any) {
	var names []string
	for name, v := range from {
		if is, ok := to[name]; !ok || !reflect.DeepEqual(v, is) {
			names = append(names, name)
		}
	}
	for name := range to {
		if _, ok := from[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		v := catalog.ChangedVar{Name: name}
		v.From, v.Had = from[name]
		v.To, v.Has = to[name]
		if size := bytesOf(v.From) + bytesOf(v.To); size <= c.values {
			c.values -= size
		} else {
			v.From, v.To, c.truncated = nil, nil, true
		}
		e.Vars = within(c, e.Vars, v, maxMembers)
	}
}
