package jenkins

import (
	"slices"
	"strings"

	"github.com/writ-automation/writ/adapters/importers/document"
	"github.com/writ-automation/writ/adapters/importers/draft"
	"github.com/writ-automation/writ/ports/importer"
)

// axis is a dimension of the combinations that a job builds.
type axis struct {
	name   string
	values []string
	label  bool // the values are nodes
	open   bool // the values are known when a build starts
}

// readAxes reads the axes of a matrix.
func (w *work) readAxes(e *document.Element) {
	for _, a := range e.Children {
		x := axis{name: a.Value("name")}
		for _, v := range literals(a.Child("values")) {
			x.values = append(x.values, cut(strings.TrimSpace(v), 200))
		}
		switch simple(a.Name) {
		case "TextAxis":
		case "LabelAxis":
			x.label = true
		default:
			x.open = true
			need(w.o, "axes/"+cut(x.name, 100), "The values of an axis of the type %s are not known here.", simple(a.Name))
		}
		if len(x.values) == 0 && !x.open {
			need(w.o, "axes/"+cut(x.name, 100), "The axis has no values.")
			x.open = true
		}
		w.axes = append(w.axes, x)
	}
}

const maxCombinations = 64

// matrix repeats the build steps for each combination of the values of the axes.
func (w *work) matrix() {
	total, steps := 1, 0
	open := slices.ContainsFunc(w.axes, func(x axis) bool { return x.open })
	for _, x := range w.axes {
		total = min(total*max(1, len(x.values)), maxCombinations+1)
	}
	size := 0
	for _, g := range w.j.parts {
		steps += len(g.steps)
		for _, s := range g.steps {
			size += len(s.Command)
		}
	}
	filter := slices.ContainsFunc(w.o.Warnings, func(m importer.Warning) bool { return m.Field == "combinationFilter" })
	if open || filter || total > maxCombinations || total*steps >= maxSteps ||
		!w.grow(total*size) {
		w.j.parts = nil
		w.add("Matrix", step{Step: importer.Step{Tool: "bash", Command: failure("The matrix was not translated.")}})
		need(w.o, "axes", "The combinations are filtered, not known or too many; the template fails until you replace it.")
		return
	}
	combinations := [][]string{nil}
	for _, x := range w.axes {
		var longer [][]string
		for _, c := range combinations {
			for _, v := range x.values {
				longer = append(longer, append(slices.Clone(c), v))
			}
		}
		combinations = longer
	}
	w.repeat(combinations)
	draft.Map(w.o, "The %s of the axes became steps of a workflow.", draft.Count(total, "combination"))
	if !w.inOrder {
		draft.Map(w.o, "The combinations run at the same time.")
	} else {
		warn(w.o, "executionStrategy", "The combinations run at the same time and not in order.")
	}
}

// repeat replaces the build steps by those of each combination.
func (w *work) repeat(combinations [][]string) {
	parts := w.j.parts
	w.j.parts = make([]group, len(parts))
	for _, c := range combinations {
		var exports []export
		queue := ""
		for i, x := range w.axes {
			if x.name == identifier(x.name) {
				exports = append(exports, export{name: x.name, text: c[i]})
			}
			if x.label && validQueue(c[i]) {
				queue = c[i]
				need(w.o, "axes/"+cut(x.name, 100), "The node %s became a queue; start a worker for it.", c[i])
			}
		}
		var after []string
		for gi, g := range parts {
			var here []string
			for _, s := range g.steps {
				if before, ok := environment(s.Tool, s.Command, exports); ok && s.Command != "" {
					s.Command = before + s.Command
				} else {
					need(w.o, "axes", "The step %s does not get the values of the axes.", s.Name)
				}
				s.Name = unique(w.j.parts, s.Name+" "+strings.Join(c, " "))
				s.Queue, s.after = queue, after
				w.j.parts[gi].steps = append(w.j.parts[gi].steps, s)
				here = append(here, s.Name)
			}
			after = here
		}
	}
}
