package plan

import (
	"slices"

	"github.com/writ-automation/writ/ports/importer"
)

// Order returns the objects in the order in which they are written: by their kinds, templates after those that their
// steps launch, and last those that are not written. Templates that launch each other keep their order.
func Order(list []importer.Object) []importer.Object {
	var out, rest []importer.Object
	byKind := make(map[importer.Kind][]importer.Object)
	for _, o := range list {
		if o.Spec == nil {
			rest = append(rest, o)
		} else {
			byKind[o.Kind] = append(byKind[o.Kind], o)
		}
	}
	for _, kind := range importer.Kinds() {
		if kind == importer.Template {
			out = append(out, byLaunch(byKind[kind])...)
		} else {
			out = append(out, byKind[kind]...)
		}
	}
	return append(out, rest...)
}

func byLaunch(list []importer.Object) []importer.Object {
	index := make(map[string]int, len(list))
	for i, o := range list {
		index[o.Name] = i
	}
	out := make([]importer.Object, 0, len(list))
	seen := make([]bool, len(list))
	// The stack has its own memory: a chain may be as long as the list.
	for i := range list {
		stack := []int{i}
		for len(stack) > 0 {
			at := stack[len(stack)-1]
			before := launched(list[at], index, seen)
			before = slices.DeleteFunc(before, func(n int) bool { return slices.Contains(stack, n) })
			if seen[at] || len(before) == 0 {
				if !seen[at] {
					seen[at] = true
					out = append(out, list[at])
				}
				stack = stack[:len(stack)-1]
				continue
			}
			stack = append(stack, before[0])
		}
	}
	return out
}

// launched returns the templates that the steps of one launch and that are not seen yet.
func launched(o importer.Object, index map[string]int, seen []bool) []int {
	spec, ok := o.Spec.(*importer.TemplateSpec)
	if !ok {
		return nil
	}
	var out []int
	for _, s := range spec.Steps {
		if n, ok := index[s.Template]; ok && s.Template != "" && !seen[n] {
			out = append(out, n)
		}
	}
	return out
}
