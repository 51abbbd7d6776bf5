package workflows

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/runs"
)

type handlers struct{ Params }

// New returns the section.
func New(p Params) shell.Section {
	h := &handlers{Params: p}
	return shell.Section{Name: "workflows", Register: func(s *shell.Shell) {
		s.Get("/ui/runs/{id}/steps", identity.Need{Kind: "run", Act: "read"}, h.steps)
	}}
}

// The geometry of the graph, in units of its drawing.
const (
	boxWidth  = 168
	boxHeight = 56
	gapX      = 44
	gapY      = 28
	margin    = 16
)

// step is a step as the pages show it.
type step struct {
	vertex
	Spec   runs.StepSpec
	Status runs.Status
	RunID  string
	Took   time.Duration
	// Before are the names of the steps that depend on it, Waits those that it depends on.
	Before, Waits []string
	Index         int
}

// node is a box of the graph: a step, or several that are folded.
type node struct {
	vertex
	Steps []step
	X, Y  int
	Heavy int // the box before it on the longest path, or -1
}

func (n node) first() step { return n.Steps[0] }

// stepsView is the page of a pipeline's steps.
type stepsView struct {
	Run           *runs.Run
	Steps         []step
	Ordered       []int // the steps so that each follows what it depends on
	Path          []string
	Nodes         []node
	Width, Height int
	Graph         bool
	Whole         bool     // nothing is folded
	Open          []string // steps whose boxes are unfolded
}

func (h *handlers) steps(r *shell.Request) (*shell.Page, error) {
	run, err := h.Runs.Get(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	if run.Graph == nil {
		return nil, shell.Redirect("/ui/runs/" + run.ID)
	}
	children, err := h.Runs.Children(r.Context(), run.ID)
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	v := viewOf(run, children, r.Now)
	q := r.URL.Query()
	v.Graph, v.Whole, v.Open = q.Get("view") != "list", q.Get("fold") == "no", q["open"]
	v.place()
	state := shell.StateOf(run.Status, run.Spec.DryRun)
	return &shell.Page{
		Title: state.Word + ": " + shell.RunName(run), Nav: shell.Runs, Glyph: state.Glyph, Wide: true, Body: stepsPage(v),
	}, nil
}

// viewOf lays out all steps of the definition, also those that have not begun.
func viewOf(run *runs.Run, children []*runs.Run, now time.Time) stepsView {
	v := stepsView{Run: run}
	index := map[string]int{}
	for i := range run.Graph.Steps {
		index[run.Graph.Steps[i].Name] = i
	}
	took := map[string]time.Duration{}
	for _, c := range children {
		took[c.ID] = c.Duration(now)
	}
	after := make([][]int, len(run.Graph.Steps))
	for i := range run.Graph.Steps {
		for _, name := range run.Graph.Steps[i].DependsOn {
			if d, ok := index[name]; ok {
				after[i] = append(after[i], d)
			}
		}
	}
	placed := arrange(after)
	v.Ordered = topological(after)
	for i := range placed {
		s := &run.Graph.Steps[i]
		v.Steps = append(v.Steps, step{vertex: placed[i], Spec: s.StepSpec, Status: cmp.Or(s.Status, runs.Pending),
			RunID: s.RunID, Took: took[s.RunID], Waits: s.DependsOn, Index: i})
	}
	for i := range v.Steps {
		for _, d := range v.Steps[i].After {
			v.Steps[d].Before = append(v.Steps[d].Before, v.Steps[i].Spec.Name)
		}
	}
	for _, i := range v.Ordered {
		if v.Steps[i].Longest {
			v.Path = append(v.Path, v.Steps[i].Spec.Name)
		}
	}
	return v
}

// place folds the steps into boxes, if there are many, and gives each box its place.
func (v *stepsView) place() {
	groups := make([][]int, len(v.Ordered))
	for at, i := range v.Ordered {
		groups[at] = []int{i}
	}
	if len(v.Steps) > foldFrom && !v.Whole {
		groups = fold(v.Steps, v.Ordered, v.Open)
	}
	box := make([]int, len(v.Steps)) // of each step
	for at, group := range groups {
		for _, i := range group {
			box[i] = at
		}
	}
	after, heavy := make([][]int, len(groups)), slices.Repeat([]int{-1}, len(groups))
	for i := range v.Steps {
		for _, d := range v.Steps[i].After {
			from, to := box[d], box[i]
			if from != to && !slices.Contains(after[to], from) {
				after[to] = append(after[to], from)
			}
			if from != to && v.Steps[d].Longest && v.Steps[i].Longest && v.Steps[i].Depth == v.Steps[d].Depth+1 {
				heavy[to] = from
			}
		}
	}
	placed, rows, most := arrange(after), map[int]int{}, 1
	for _, p := range placed {
		rows[p.Depth] = max(rows[p.Depth], p.Row+1)
		most = max(most, rows[p.Depth])
	}
	for at, p := range placed {
		n := node{vertex: p, Heavy: heavy[at], X: margin + p.Depth*(boxWidth+gapX)}
		n.Y = margin + (most-rows[p.Depth])*(boxHeight+gapY)/2 + p.Row*(boxHeight+gapY)
		for _, i := range groups[at] {
			n.Steps = append(n.Steps, v.Steps[i])
		}
		v.Nodes = append(v.Nodes, n)
		v.Width = max(v.Width, n.X+boxWidth+margin)
	}
	v.Height = 2*margin + most*(boxHeight+gapY)
}

// edge is the curve from one box to a later one.
type edge struct {
	D             string
	Longest, Dash bool
}

// edges returns the curves of the graph. One that passes other columns goes round below them.
func (v *stepsView) edges() (out []edge) {
	for _, to := range v.Nodes {
		for _, d := range to.After {
			from := v.Nodes[d]
			x1, y1 := from.X+boxWidth, from.Y+boxHeight/2
			x2, y2 := to.X, to.Y+boxHeight/2
			path := fmt.Sprintf("M%d %dC%d %d %d %d %d %d", x1, y1, x1+gapX/2, y1, x2-gapX/2, y2, x2, y2)
			if to.Depth > from.Depth+1 && v.blocked(from, to) {
				low := v.Height - margin
				path = fmt.Sprintf("M%d %dC%d %d %d %d %d %dL%d %dC%d %d %d %d %d %d", x1, y1, x1+gapX/2, y1, x1+gapX/4, low,
					x1+gapX, low, x2-gapX, low, x2-gapX/4, low, x2-gapX/2, y2, x2, y2)
			}
			out = append(out, edge{D: path, Longest: to.Heavy == d, Dash: to.first().Status == runs.Skipped})
		}
	}
	return out
}

// blocked reports whether a box lies between two others at the height of the line between them.
func (v *stepsView) blocked(from, to node) bool {
	lo, hi := min(from.Y, to.Y), max(from.Y, to.Y)+boxHeight
	for _, n := range v.Nodes {
		if n.Depth > from.Depth && n.Depth < to.Depth && n.Y < hi && n.Y+boxHeight > lo {
			return true
		}
	}
	return false
}

// ended counts the steps that have ended or were skipped.
func (v *stepsView) ended() (n int) {
	for _, s := range v.Steps {
		if s.Status.Terminal() || s.Status == runs.Skipped {
			n++
		}
	}
	return n
}

// runsWhat returns what a step executes, in a few words.
func runsWhat(s runs.StepSpec) string {
	what := cmp.Or(s.Playbook, s.Command)
	line, _, _ := strings.Cut(strings.TrimSpace(what), "\n")
	if s.TemplateID != "" && line == "" {
		return "a template"
	}
	return strings.TrimSpace(cmp.Or(s.Tool, runs.Ansible) + " " + line)
}
