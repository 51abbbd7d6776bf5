package reserved

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Variable reports whether a variable of this name is reserved.
func Variable(name string) bool { return list().variables.has(name) }

// Member reports whether a member of an object within a variable is reserved: a play may use the object as variables,
// as an environment or as a host.
func Member(name string) bool { return list().members.has(name) }

// Templated reports whether a text could be read as a template.
func Templated(text string) bool {
	return strings.Contains(text, "{{") || strings.Contains(text, "{%") || strings.Contains(text, "{#")
}

// Strip returns a decoded JSON value without the reserved members of its objects, at any depth, and the paths of the
// removed members, in order. at is the path of the value. Names in allowed stay. The value itself is not changed.
func Strip(at string, value any, allowed ...string) (kept any, removed []string) {
	switch v := value.(type) {
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			var inner []string
			out[i], inner = Strip(Path(at, "["+strconv.Itoa(i)+"]"), x, allowed...)
			removed = append(removed, inner...)
		}
		return out, removed
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			path := Path(at, "."+Shown(name))
			if Member(name) && !slices.Contains(allowed, name) {
				removed = append(removed, path)
				continue
			}
			var inner []string
			out[name], inner = Strip(path, v[name], allowed...)
			removed = append(removed, inner...)
		}
		return out, removed
	default:
		return value, nil
	}
}

// Path returns the path of a part below at, which stays as it is where it is long already.
func Path(at, part string) string {
	const limit = 300
	if len(at) > limit {
		return at
	}
	return at + part
}

// Shown returns a name as messages show it: quoted unless it is plain, and shortened.
func Shown(name string) string {
	const limit = 80
	odd := func(r rune) bool { return Upper(string(r)) == "_" && r != '_' }
	if len(name) > limit {
		name = strings.ToValidUTF8(name[:limit], "") + "..."
	} else if name != "" && !strings.ContainsFunc(name, odd) {
		return name
	}
	return strconv.Quote(name)
}

// Paths returns the first paths as one text for a message, with the number of the others.
func Paths(list []string) string {
	const most = 20
	if len(list) <= most {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), len(list)-most)
}

// index holds the list in the form in which names are looked up.
type index struct{ variables, members matcher }

var list = sync.OnceValue(func() *index {
	out := &index{}
	for _, g := range Groups() {
		for _, name := range g.Names {
			out.variables.add(g.AnyCase, name)
			if !g.VariablesOnly {
				out.members.add(g.AnyCase, name)
			}
		}
	}
	return out
})

// matcher finds names as they are written, or in the form of Upper.
type matcher struct{ exact, upper names }

type names struct {
	whole  []string
	starts []string
}

func (m *matcher) add(anyCase bool, name string) {
	to, start, open := &m.exact, strings.TrimSuffix(name, "*"), strings.HasSuffix(name, "*")
	if anyCase {
		to, start = &m.upper, Upper(start)
	}
	if open {
		to.starts = append(to.starts, start)
	} else {
		to.whole = append(to.whole, start)
	}
}

func (m *matcher) has(name string) bool {
	return m.exact.has(name) || m.upper.has(Upper(name)) || Templated(name)
}

func (n *names) has(name string) bool {
	return slices.Contains(n.whole, name) ||
		slices.ContainsFunc(n.starts, func(start string) bool { return strings.HasPrefix(name, start) })
}
