package submit

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/writ-automation/writ/modules/runs/internal/record"
	"github.com/writ-automation/writ/modules/runs/internal/windows"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
)

// bound is what a held run would execute and where, or that its inventories are refreshed before that is known.
type bound struct {
	parts      runs.Parts
	reach      *runs.Reach
	refreshing bool
}

// errUnbound ends a unit that would hold a run before it is known what the run would execute.
var errUnbound = errors.New("what the held run would execute is not read yet")

// evaluations is how often a request is evaluated while policies keep changing.
const evaluations = 5

// evaluated runs a unit that evaluates a request: again if the policies change before it commits, and again with what
// the run would execute if it is held.
func (s *Submitter) evaluated(
	ctx context.Context, r *runs.Run, unit func(ctx context.Context, b *bound) error,
) error {
	var b *bound
	for n := 1; ; n++ {
		err := s.machine.Do(ctx, func(ctx context.Context) error { return unit(ctx, b) })
		switch {
		case errors.Is(err, errUnbound):
			if b, err = s.bind(ctx, r); err != nil {
				return err
			}
		case n >= evaluations || !policy.PoliciesChanged.Is(err):
			return err
		}
	}
}

func (s *Submitter) bind(ctx context.Context, r *runs.Run) (*bound, error) {
	refreshing, err := s.binder.RefreshesOnLaunch(ctx, r)
	if err != nil || refreshing {
		return &bound{refreshing: true}, err
	}
	parts, err := s.binder.Bind(ctx, r)
	if err != nil {
		return nil, err
	}
	reach, err := s.binder.Reach(ctx, r)
	return &bound{parts: parts, reach: reach}, err
}

// evaluate grades a run, and holds it if a policy or the request says so. It returns Denied if a policy denies it,
// WindowClosed if a window does, and errUnbound for a run to hold without bound.
func (s *Submitter) evaluate(ctx context.Context, r *runs.Run, hosts []policy.Targets, b *bound) error {
	var v policy.Verdict
	if s.policies != nil {
		var err error
		if v, err = s.policies.Evaluate(ctx, r, hosts); err != nil {
			return err
		}
	}
	if v.Denied != nil {
		return denied(*v.Denied)
	}
	if w := v.Timing.Closed; w != nil && w.Outside == policy.OutsideDeny {
		return closed(v.Timing)
	}
	holds := v.Holds
	if r.Spec.RequireApproval {
		holds = append(holds, runs.Hold{Name: runs.RequestedApproval, Needed: 1})
	}
	r.Risk, r.Status, r.QueuedAt, r.Approvals, r.Wait = v.Risk, runs.Pending, r.CreatedAt, nil, nil
	switch {
	case len(holds) == 0:
		r.Wait = windows.Wait(v.Timing, r.CreatedAt)
	case b == nil:
		return errUnbound
	default:
		r.Status, r.QueuedAt = runs.PendingApproval, time.Time{}
		r.Approvals = &runs.Approvals{Holds: holds, Parts: b.parts, Current: b.parts, Reach: b.reach}
		if b.refreshing {
			r.Approvals.Refreshing = &runs.Refreshing{Since: r.CreatedAt, Due: r.CreatedAt}
		}
	}
	return nil
}

func denied(p policy.Rule) error {
	f := policy.Denied.New("%s", p.Denial())
	return runs.WithReasons(f.With("policy_id", p.ID).With("policy", p.Name), runs.Reason{Object: p.ID,
		Next: "change the request so that the policy does not match it, or ask who manages policies"})
}

// closed refuses a run that may not start now, and says when it may.
func closed(t policy.Timing) error {
	w := t.Closed
	f := policy.WindowClosed.New("the window %q keeps the run from starting now", w.Name).With("window_id", w.ID).
		With("window", w.Name)
	next := "an administrator changes the window"
	if !t.Opens.IsZero() {
		opens := t.Opens.UTC().Format(time.RFC3339)
		f.Message += "; it may start at " + opens
		f, next = f.With("opens", opens), "ask again at "+opens
	}
	return runs.WithReasons(f, runs.Reason{Object: w.ID, Next: next})
}

// refused records a request that a policy or a window denied, in a unit of its own, since no run was made.
func (s *Submitter) refused(ctx context.Context, r *runs.Run, asked map[string]any, err error) error {
	if note := s.denial(r, asked, err); note != nil {
		return note(ctx)
	}
	return err
}

// denial returns what records that a policy or a window denied a request, and returns the error then. It is nil for
// another error.
func (s *Submitter) denial(r *runs.Run, asked map[string]any, err error) func(ctx context.Context) error {
	var f *fault.Error
	if !errors.As(err, &f) {
		return nil
	}
	kind := ""
	switch f.Code {
	case policy.Denied.Name:
		kind = "policy"
	case policy.WindowClosed.Name:
		kind = "window"
	default:
		return nil
	}
	detail := maps.Clone(asked)
	detail["reason"], detail[kind] = f.Code, f.Detail[kind]
	f.Recorded = true
	return func(ctx context.Context) error {
		return audit.Refuse(ctx, s.machine.Unit, s.machine.Recorder, audit.Entry{Action: action(r.Origin.Source),
			Object: audit.Object{Kind: kind, ID: f.Detail[kind+"_id"].(string)}, Detail: detail}, f)
	}
}

// decideBusy decides about a launch of a template that has as many unfinished runs as it allows: it refuses the launch
// with TemplateBusy, or cancels the oldest of the others. Launches that are held are decided by nothing but their
// approval. It is called in the unit that stores the run, and other such launches of the template wait for that.
func (s *Submitter) decideBusy(ctx context.Context, r *runs.Run, when runs.WhenBusy) error {
	if when != runs.BusySkip && when != runs.BusyReplace || r.Spec.TemplateID == "" || r.Status != runs.Pending {
		return nil
	}
	key := runs.SlotKey(runs.TemplateSlot + r.Spec.TemplateID)
	list, err := s.machine.Slots.Launches(ctx, key)
	if err != nil || len(list) == 0 {
		return err
	}
	limits, err := s.machine.Slots.Limits(ctx, key)
	if err != nil {
		return err
	}
	limit := limits[key]
	switch {
	case limit == 0 || len(list) < limit:
		return nil
	case when == runs.BusySkip:
		return s.busy(ctx, list, limit)
	case r.Wait.Closed(): // it could not start in the place of another one
		return nil
	}
	return s.replace(ctx, list[:len(list)-limit+1])
}

// busy returns TemplateBusy. It names the oldest run if the caller may read it.
func (s *Submitter) busy(ctx context.Context, list []string, limit int) error {
	f := runs.TemplateBusy.New("the template has %d unfinished runs, and allows %d at a time", len(list), limit)
	first, err := s.machine.Store.ByID(ctx, list[0])
	if err != nil {
		return err
	}
	may, err := s.gate.May(ctx, access.Read, first.Objects...)
	if err != nil {
		return err
	}
	reason := runs.Reason{Since: first.CreatedAt, Next: "launch it again when one of them has ended"}
	if may {
		f.Message += "; the oldest is " + first.ID
		f, reason.Object = f.With("run_id", first.ID), first.ID
	}
	return runs.WithReasons(f, reason)
}

// replace cancels the given runs if the caller may cancel each of them. Otherwise the new run waits for them.
func (s *Submitter) replace(ctx context.Context, list []string) error {
	for _, id := range list {
		switch err := s.gate.Control(ctx, id); {
		case fault.Is(err, fault.NotFound) || fault.Is(err, fault.Forbidden):
			return nil
		case err != nil:
			return err
		}
	}
	for _, id := range list {
		r, err := s.machine.Store.ByID(ctx, id)
		if err != nil {
			return err
		}
		if r.CancelRequested {
			continue
		}
		if err := s.machine.Cancel(ctx, id); err != nil && !runs.RunNotCancelable.Is(err) {
			return err
		}
	}
	return nil
}

// SetQueue moves a pending run to another queue, for which it passes the rights and rules of a new request.
func (s *Submitter) SetQueue(ctx context.Context, id, queue string, revision int64) error {
	c := newChecks()
	c.queue(queue)
	if err := c.fault(); err != nil {
		return err
	}
	if err := s.resolve(ctx, []reference{{path: "queue", id: queue}}, nil); err != nil {
		return err
	}
	r, err := s.machine.Store.ByID(ctx, id)
	if err != nil {
		return err
	}
	if err := movable(r, revision); err != nil {
		return err
	}
	moved := *r
	moved.Spec.Queue = queue
	moved.Warnings = slices.DeleteFunc(slices.Clone(r.Warnings), func(w runs.Warning) bool {
		return w.Code == runs.WarnQueueUnserved
	})
	if err := s.warnUnserved(ctx, &moved); err != nil {
		return err
	}
	hosts, err := []policy.Targets(nil), error(nil)
	if s.policies != nil {
		if hosts, err = s.binder.Hosts(ctx, &moved); err != nil {
			return err
		}
	}
	inputs, err := record.InputsDigest(&moved)
	if err != nil {
		return err
	}
	detail := map[string]any{"queue": queue, "former_queue": r.Spec.Queue, "inputs": inputs}
	return s.evaluated(ctx, &moved, func(ctx context.Context, _ *bound) error {
		decided := moved
		if err := s.evaluate(ctx, &decided, hosts, &bound{}); err != nil {
			return err
		}
		if decided.Status == runs.PendingApproval {
			first := decided.Approvals.Holds[0]
			const next = "cancel it and submit it there"
			return runs.WithReasons(
				runs.RunNotMovable.New("%q would hold the run in the queue %q: %s", first.Name, queue, next),
				runs.Reason{Object: cmp.Or(first.ID, r.ID), Next: next})
		}
		return s.move(ctx, r, &decided, detail)
	})
}

// move stores the queue of a run that was read before the unit. The row of what windows say is locked before that of
// the run, as PutWait asks.
func (s *Submitter) move(ctx context.Context, was, moved *runs.Run, detail map[string]any) error {
	opened, err := s.machine.Waits.PutWait(ctx, was.ID, moved.Wait)
	if err != nil {
		return err
	}
	more, err := s.queue.SetQueue(ctx, was.ID, moved.Spec.Queue, moved.Warnings)
	if err != nil {
		return err
	}
	now, err := s.machine.Store.ByID(ctx, was.ID)
	if err != nil {
		return err
	}
	if now.Revision != was.Revision+1 {
		return access.RevisionChanged.New("the run was changed meanwhile")
	}
	if err := s.machine.Note(ctx, audit.RunQueue, now, detail, ""); err != nil {
		return err
	}
	if err := s.machine.SignalQueues(ctx, append(opened, more...)); err != nil {
		return err
	}
	if err := s.machine.Signals.Signal(ctx, events.TopicQueue, moved.Spec.Queue); err != nil {
		return err
	}
	return s.machine.Touch(ctx, was.ID)
}

// movable returns the fault for a run that cannot move to another queue.
func movable(r *runs.Run, revision int64) error {
	const again = "cancel it and submit it in the other queue"
	switch {
	case r.Status != runs.Pending:
		return runs.WithReasons(runs.RunStateChanged.New("the run is %s; only pending runs move", r.Status),
			runs.StateReason(r))
	case r.ParentID != "" || r.Kind == runs.Pipeline || r.Kind == runs.Split && r.ShardCount > 0:
		return runs.WithReasons(
			runs.RunNotMovable.New("the run is a %s; runs without a parent move, before they are divided", r.Kind),
			runs.Reason{Object: r.ID, Since: r.CreatedAt, Next: again})
	case r.Approvals != nil:
		return runs.WithReasons(runs.RunNotMovable.New("the run was approved for the queue %q", r.Spec.Queue),
			runs.Reason{Object: r.ID, Since: r.CreatedAt, Next: again})
	case revision != 0 && revision != r.Revision:
		return access.RevisionChanged.New("the run was changed since it was read")
	}
	return nil
}
