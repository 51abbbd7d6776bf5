package workflows

import (
	"cmp"
	"fmt"
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
	X, Y          int
}

// stepsView is the page of a pipeline's steps.
type stepsView struct {
	Run           *runs.Run
	Steps         []step
	Ordered       []int // the steps so that each follows what it depends on
	Path          []string
	Width, Height int
	Graph         bool
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
	v.Graph = r.URL.Query().Get("view") != "list"
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
	rows := map[int]int{}
	for _, p := range placed {
		rows[p.Depth] = max(rows[p.Depth], p.Row+1)
	}
	most := 1
	for _, n := range rows {
		most = max(most, n)
	}
	for i := range placed {
		s := &run.Graph.Steps[i]
		x := step{vertex: placed[i], Spec: s.StepSpec, Status: cmp.Or(s.Status, runs.Pending), RunID: s.RunID,
			Took: took[s.RunID], Waits: s.DependsOn}
		x.X = margin + placed[i].Depth*(boxWidth+gapX)
		x.Y = margin + (most-rows[placed[i].Depth])*(boxHeight+gapY)/2 + placed[i].Row*(boxHeight+gapY)
		v.Steps = append(v.Steps, x)
		v.Width = max(v.Width, x.X+boxWidth+margin)
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
	v.Height = 2*margin + most*(boxHeight+gapY)
	return v
}

// edge is the curve from one step to a later one.
type edge struct {
	D             string
	Longest, Dash bool
}

// edges returns the curves of the graph. One that passes other columns goes round below them.
func (v *stepsView) edges() (out []edge) {
	for _, to := range v.Steps {
		for _, d := range to.After {
			from := v.Steps[d]
			x1, y1 := from.X+boxWidth, from.Y+boxHeight/2
			x2, y2 := to.X, to.Y+boxHeight/2
			path := fmt.Sprintf("M%d %dC%d %d %d %d %d %d", x1, y1, x1+gapX/2, y1, x2-gapX/2, y2, x2, y2)
			if to.Depth > from.Depth+1 && v.blocked(from, to) {
				low := v.Height - margin
				path = fmt.Sprintf("M%d %dC%d %d %d %d %d %dL%d %dC%d %d %d %d %d %d", x1, y1, x1+gapX/2, y1, x1+gapX/4, low,
					x1+gapX, low, x2-gapX, low, x2-gapX/4, low, x2-gapX/2, y2, x2, y2)
			}
			out = append(out, edge{D: path, Longest: from.Longest && to.Longest && to.Depth == from.Depth+1,
				Dash: to.Status == runs.Skipped})
		}
	}
	return out
}

// blocked reports whether a step lies between two others at the height of the line between them.
func (v *stepsView) blocked(from, to step) bool {
	lo, hi := min(from.Y, to.Y), max(from.Y, to.Y)+boxHeight
	for _, s := range v.Steps {
		if s.Depth > from.Depth && s.Depth < to.Depth && s.Y < hi && s.Y+boxHeight > lo {
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
