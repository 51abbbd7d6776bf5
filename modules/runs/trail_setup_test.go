package runs_test

import (
	"slices"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/audit/audittest"
)

// trail reads the entries of committed units, each with its actor.
type trail struct{ audittest.Recorder }

func newTrail() *trail { return &trail{audittest.Recorder{FillBy: true}} }

// of returns the entries about an object, "run/<id>".
func (t *trail) of(id string) (out []audit.Entry) {
	for _, e := range t.Entries() {
		if e.Object.ID == id {
			out = append(out, e)
		}
	}
	return out
}

// actions returns the actions on a run, in order.
func (t *trail) actions(id string) (out []audit.Action) {
	for _, e := range t.of(id) {
		out = append(out, e.Action)
	}
	return out
}

// count returns how often an action was recorded for a run.
func (t *trail) count(id string, a audit.Action) (n int) {
	for _, x := range t.actions(id) {
		if x == a {
			n++
		}
	}
	return n
}

// ended returns the runs whose end is recorded.
func (t *trail) ended() (out []string) {
	for _, e := range t.Entries() {
		if e.Final {
			out = append(out, e.Object.ID)
		}
	}
	return out
}

func (t *trail) size() int {
	return len(t.Entries())
}

// since returns the entries that followed the first n.
func (t *trail) since(n int) []audit.Entry {
	return slices.Clone(t.Entries()[n:])
}
