package record

import (
	"context"
	"sync/atomic"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/tx"
)

// Params holds the dependencies of a Recorder.
type Params struct {
	Chain audit.ChainStore
	IDs   ids.Generator
}

// Recorder records entries in a chain. It is safe for concurrent use.
type Recorder struct {
	chain   audit.ChainStore
	ids     ids.Generator
	actions map[audit.Action]bool
	stuck   atomic.Bool // whether the last wait for the tip timed out
}

var _ audit.Recorder = (*Recorder)(nil)

// New returns a recorder.
func New(p Params) *Recorder {
	r := &Recorder{chain: p.Chain, ids: p.IDs, actions: make(map[audit.Action]bool)}
	for _, a := range audit.Actions() {
		r.actions[a] = true
	}
	return r
}

// gathered is the key of a recorder's drafts in a unit.
type gathered struct{ by *Recorder }

// Outside texts are cut and mended to fit a leaf or a disclosure; invalid values of the service itself are an Internal
// fault. After the commit the receipt of the entry goes to the collector of ctx.
func (r *Recorder) Record(ctx context.Context, e audit.Entry) error {
	if err := r.check(&e); err != nil {
		return err
	}
	d, err := r.draft(ctx, &e)
	if err != nil {
		return err
	}
	return tx.BeforeCommit(ctx, tx.Last, gathered{r}, d, r.link)
}

// maxID bounds the ids in a leaf, so that no leaf is too large; maxKind bounds the kinds.
const (
	maxID   = 200
	maxKind = 64
)

func (r *Recorder) check(e *audit.Entry) error {
	o := e.Object
	switch {
	case !r.actions[e.Action]:
		return wrong("the action %q is not registered", e.Action)
	case e.Outcome != "" && e.Outcome != audit.Applied && e.Outcome != audit.Denied && e.Outcome != audit.Failure:
		return wrong("an entry of %s has no outcome %q", e.Action, e.Outcome)
	case (o.Kind == "") != (o.ID == ""), o.Kind != "" && !isKind(o.Kind):
		return wrong("the object of an entry of %s is not a kind and an id", e.Action)
	case len(o.ID) > maxID || len(e.Run) > maxID || o.ID != mended(o.ID) || e.Run != mended(e.Run):
		return wrong("an id in an entry of %s is longer than %d bytes or no text", e.Action, maxID)
	case e.Final && (o.Kind != kindRun || o.ID == ""):
		return wrong("the final entry of a run has the run as its object")
	}
	return nil
}

// kindRun is the kind of objects that are runs.
const kindRun = "run"

// isKind accepts [a-z][a-z_]* up to a bound.
func isKind(s string) bool {
	for i := range len(s) {
		if c := s[i]; !(c >= 'a' && c <= 'z' || c == '_' && i > 0) {
			return false
		}
	}
	return len(s) <= maxKind
}

func wrong(format string, args ...any) error {
	return fault.Wrap(fault.Internal, nil, format, args...)
}
