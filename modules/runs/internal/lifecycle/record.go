package lifecycle

import (
	"context"
	"errors"
	"fmt"

	"github.com/writ-automation/writ/modules/runs/internal/record"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// ErrBehind means that a run's journal has grown since it was folded. The caller rolls the unit back, folds again and
// retries.
var ErrBehind = errors.New("the run's journal changed meanwhile")

// FewEvents is how many events a unit may read and fold, beside those that it stored itself.
const FewEvents = 500

// eventsPerRead bounds the events that are in memory at once.
const eventsPerRead = 1000

// Ahead is the part of a run's journal that was folded before the unit that ends it. A journal only grows, so that
// the unit folds only the events added since.
type Ahead struct {
	Events record.Events
	// Most bounds the events that the unit still reads. More events are ErrBehind. Zero means no bound.
	Most int64
	// Hosts is the digest of the host table if it was made before the unit. Revision is then the record's revision
	// before the table was read; only the ending may have changed the record since. A Revision of zero is not
	// compared.
	Hosts    string
	Revision int64
}

// Note records an entry about a run, by the actor of the context.
func (m *Machine) Note(ctx context.Context, a audit.Action, r *runs.Run, detail map[string]any, text string) error {
	return m.Recorder.Record(ctx, audit.Entry{Action: a, Object: object(r), Run: top(r), Detail: detail, Text: text})
}

// NoteHolds records what holds a run. The actor is by, or that of the context if by is nil.
func (m *Machine) NoteHolds(ctx context.Context, r *runs.Run, by *actor.Actor) error {
	for _, h := range r.Approvals.Holds {
		held := map[string]any{"name": h.Name}
		if h.ID != "" {
			held["id"] = h.ID
		}
		err := m.Recorder.Record(ctx, audit.Entry{Action: audit.RunHold, Object: object(r), Run: top(r), By: by,
			Detail: map[string]any{"held_by": held, "needed": int64(h.Needed)}})
		if err != nil {
			return err
		}
	}
	return nil
}

// Started records that a worker began a run.
func (m *Machine) Started(ctx context.Context, r *runs.Run, l runs.Lease) error {
	return m.Recorder.Record(ctx, audit.Entry{Action: audit.RunStart, Object: object(r), Run: top(r), By: worker(l)})
}

func object(r *runs.Run) audit.Object {
	return audit.Object{Kind: "run", ID: r.ID, Name: r.Conceal().Name}
}

// top returns the id of a run's parent, or its own if it has none. Children have no children.
func top(r *runs.Run) string {
	if r.ParentID != "" {
		return r.ParentID
	}
	return r.ID
}

func worker(l runs.Lease) *actor.Actor { return &actor.Actor{Type: actor.Worker, ID: l.Worker} }

func system() *actor.Actor { return &actor.Actor{Type: actor.System, Name: "system"} }

// final records the end of a run together with the digest of its results. r is the record after the transition, whose
// event is last. The unit holds its row, so that the journal cannot grow any more.
func (m *Machine) final(ctx context.Context, r *runs.Run, last runs.Event, by *actor.Actor, a *Ahead) error {
	if a == nil {
		a = &Ahead{}
	}
	d := record.Digest(r)
	var err error
	if d.Events, err = m.eventsOf(ctx, r, last, a); err != nil {
		return err
	}
	if d.Hosts, err = m.hostsOf(ctx, r, a); err != nil {
		return err
	}
	return m.Recorder.Record(ctx, audit.Entry{
		Action: audit.RunFinal, Object: object(r), Run: top(r), By: by, Detail: d.Document(), Final: true,
	})
}

// eventsOf folds the events that are not folded yet. The last one may not be stored yet.
func (m *Machine) eventsOf(ctx context.Context, r *runs.Run, last runs.Event, a *Ahead) (*runs.EventsDigest, error) {
	e := a.Events
	if a.Most > 0 && r.EventCount-e.Count() > a.Most {
		return nil, ErrBehind
	}
	if err := m.Fold(ctx, r.ID, &e, r.EventCount-1); err != nil {
		return nil, err
	}
	if e.Count() != r.EventCount-1 {
		return nil, &fault.Error{Kind: fault.Internal,
			Message: fmt.Sprintf("the run %s counts %d events before its last and has %d", r.ID, r.EventCount-1, e.Count())}
	}
	if err := e.Add(&last); err != nil {
		return nil, fmt.Errorf("run %s: %w", r.ID, err)
	}
	return e.Sum(), nil
}

func (m *Machine) hostsOf(ctx context.Context, r *runs.Run, a *Ahead) (string, error) {
	if a.Hosts != "" && a.Revision != 0 && r.Revision != a.Revision+1 {
		return "", ErrBehind
	}
	if a.Hosts != "" || r.Kind.Parent() || !Touched(r) {
		return a.Hosts, nil
	}
	return m.HostsDigest(ctx, r, nil)
}

// Touched reports whether a run's record counts hosts.
func Touched(r *runs.Run) bool { return r.HostsTouched > 0 || len(r.Hosts) > 0 }

// TruncatedLog returns the warning that bytes of a run's output are missing. It returns none if no bytes are missing
// or the record has the warning already.
func TruncatedLog(r *runs.Run, omitted int64) []runs.Warning {
	if omitted <= 0 || runs.HasWarning(r.Warnings, runs.WarnLogTruncated) {
		return nil
	}
	return []runs.Warning{{Code: runs.WarnLogTruncated,
		Message: fmt.Sprintf("%d bytes of the output were not kept", omitted)}}
}

// HostsDigest returns the digest of a run's host table, or for a parent that of its children's table. It is empty for
// a run without one; see runs.RunDigest.
func (m *Machine) HostsDigest(ctx context.Context, r *runs.Run, children []*runs.Run) (string, error) {
	if !Touched(r) || r.Kind.Parent() && r.HostsTouched > runs.MaxParentHosts {
		return "", nil
	}
	table, err := Hosts(ctx, m.Summaries, Counted(r, children))
	if err != nil {
		return "", err
	}
	return record.HostsDigest(table)
}

// Fold adds the events of a run after the last folded one, up to number to. A negative to means all events. Fold
// stops earlier if no more are stored.
func (m *Machine) Fold(ctx context.Context, id string, e *record.Events, to int64) error {
	for to < 0 || e.Count() < to {
		limit := eventsPerRead
		if to >= 0 {
			limit = int(min(to-e.Count(), eventsPerRead))
		}
		list, err := m.Events.Events(ctx, id, e.Count(), limit)
		if err != nil {
			return err
		}
		for i := range list {
			if err := e.Add(&list[i]); err != nil {
				return fmt.Errorf("run %s: %w", id, err)
			}
		}
		if len(list) < limit {
			return nil
		}
	}
	return nil
}
