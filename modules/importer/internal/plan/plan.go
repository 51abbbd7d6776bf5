package plan

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/writ-automation/writ/modules/importer/internal/objects"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/importer"
	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/scheduling"
	"github.com/writ-automation/writ/ports/tx"
)

// maxPasses limits how often a plan is tried. Each pass after the first leaves out objects that the one before could
// not write, so that a unit of work never continues after a statement that failed in it.
const maxPasses = 20

// maxTime limits the passes together, and one that has begun. The largest imports take longer than units usually may.
const maxTime = time.Minute

// Planner makes plans.
type Planner struct {
	Kinds    map[importer.Kind]objects.Kind
	Schedule scheduling.Planner
	Unit     tx.Unit
	// Record records an applied import in its unit.
	Record func(ctx context.Context, p importer.Plan) error
}

// errDone rolls back the unit of a pass that is not to be kept.
var errDone = errors.New("the import is not kept")

type named struct {
	kind importer.Kind
	name string
}

// pass is one try to write the objects in a unit of work.
type pass struct {
	*Planner
	apply bool
	ids   map[named]string // empty for an object that is not written
	known refusals         // of earlier passes
	found refusals         // of this one
	taken map[named]bool   // names that changed under an earlier pass
	raced []named          // such names of this one: another import may have made or changed the objects meanwhile
	made  map[string]named // by the id of a created object
	// stored are the objects that have the names of the import.
	stored map[importer.Kind]map[string][]objects.Stored
}

// Make writes the objects, which are in their order, and keeps them if apply is set. The plan says what was done, or
// would be. An object that the server refuses is skipped with the reason, and so is each that needs it.
func (p *Planner) Make(ctx context.Context, format string, list []importer.Object, apply bool) (importer.Plan, error) {
	var known refusals
	taken, outer := make(map[named]bool), ctx
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	for range maxPasses {
		if ctx.Err() != nil {
			break
		}
		var plan importer.Plan
		var again bool
		var raced []named
		err := p.Unit.Do(tx.Within(tx.Alone(ctx), maxTime), func(ctx context.Context) error {
			// A unit may run again, so that each run starts anew.
			run := &pass{Planner: p, apply: apply, ids: make(map[named]string), known: known, taken: taken,
				made: make(map[string]named), stored: make(map[importer.Kind]map[string][]objects.Stored)}
			if err := run.find(ctx, list); err != nil {
				return err
			}
			planned, err := run.all(ctx, list)
			raced = run.raced
			if again = len(raced) > 0 || run.found.any(); again {
				if len(raced) == 0 { // otherwise objects may be refused for want of those
					known = known.and(run.found)
				}
				return errDone
			}
			if err != nil {
				return err
			}
			plan = importer.Plan{Format: format, Applied: apply, Objects: planned, Counts: count(planned)}
			if !apply {
				return errDone
			}
			return p.Record(ctx, plan)
		})
		if again {
			for _, key := range raced {
				taken[key] = true
			}
			continue
		}
		switch {
		case err == nil, errors.Is(err, errDone):
			return plan, nil
		case ctx.Err() == nil || outer.Err() != nil:
			return importer.Plan{}, err
		}
	}
	switch {
	case outer.Err() != nil:
		return importer.Plan{}, outer.Err()
	case ctx.Err() != nil:
		return importer.Plan{}, &fault.Error{Kind: fault.Unavailable,
			Message: fmt.Sprintf("the import took longer than %s", maxTime)}
	}
	return importer.Plan{}, &fault.Error{Kind: fault.Unavailable, Message: fmt.Sprintf(
		"the import was given up after %d tries, since the server refused other objects each time", maxPasses)}
}

// refusals are the reasons why objects are not written as the draft has them: not at all, or, for schedules, disabled.
type refusals struct{ whole, enabled map[named]string }

func (r refusals) any() bool { return len(r.whole)+len(r.enabled) > 0 }

func (r refusals) and(more refusals) refusals {
	both := func(a, b map[named]string) map[named]string {
		out := make(map[named]string, len(a)+len(b))
		maps.Copy(out, a)
		maps.Copy(out, b)
		return out
	}
	return refusals{both(r.whole, more.whole), both(r.enabled, more.enabled)}
}

// add adds why an object was refused. A schedule that cannot fire is tried disabled first.
func (r *refusals) add(o importer.Object, disabled bool, reason string) {
	to := &r.whole
	if spec, ok := o.Spec.(*importer.ScheduleSpec); ok && spec.Enabled && !disabled {
		to = &r.enabled
	}
	if *to == nil {
		*to = make(map[named]string)
	}
	(*to)[named{o.Kind, o.Name}] = reason
}

// find reads the stored objects of all names.
func (p *pass) find(ctx context.Context, list []importer.Object) (err error) {
	names := make(map[importer.Kind][]string)
	for _, o := range list {
		if o.Spec != nil {
			names[o.Kind] = append(names[o.Kind], o.Name)
		}
	}
	for kind, all := range names {
		if p.stored[kind], err = p.Kinds[kind].Named(ctx, all...); err != nil {
			return fmt.Errorf("look for each %s: %w", kind, err)
		}
	}
	return nil
}

// all writes the objects. After an object was refused it goes on, to find others, until the unit fails altogether.
func (p *pass) all(ctx context.Context, list []importer.Object) ([]importer.Planned, error) {
	out := make([]importer.Planned, len(list))
	for i, o := range list {
		key := named{o.Kind, o.Name}
		reason := p.known.whole[key]
		why, disabled := p.known.enabled[key]
		if disabled {
			o = asDisabled(o, why)
		}
		if o.Spec == nil || reason != "" {
			out[i] = skipped(o, reason)
			if o.Spec != nil {
				p.ids[key] = ""
			}
			continue
		}
		planned, err := p.one(ctx, o)
		if (object.NameTaken.Is(err) || object.RevisionChanged.Is(err)) && !p.taken[key] {
			p.raced = append(p.raced, key)
			out[i], p.ids[key] = skipped(o, ""), ""
			continue
		}
		if err != nil {
			text, ok := refusal(err)
			if !ok {
				return out, fmt.Errorf("import %s %q: %w", o.Kind, o.Name, err)
			}
			text = p.readable(text)
			p.found.add(o, disabled, text)
			out[i], p.ids[key] = skipped(o, text), ""
			continue
		}
		out[i], p.ids[key] = planned, planned.ID
		p.made[planned.ID] = key
		if planned.Action == importer.Create && !p.apply {
			out[i].ID = "" // the object does not exist after a preview
		}
	}
	return out, nil
}

// idLike matches what may be an id.
var idLike = lazyregexp.New(`[a-z]+_[0-9a-z]+`)

// readable names the objects of this import in the text of a refusal, which may be gone when it is read, and which
// nobody knows by their ids.
func (p *pass) readable(text string) string {
	return idLike.Get().ReplaceAllStringFunc(text, func(id string) string {
		if key, ok := p.made[id]; ok {
			return strconv.Quote(key.name)
		}
		return id
	})
}

// asDisabled returns a schedule that is not enabled, and why.
func asDisabled(o importer.Object, why string) importer.Object {
	spec := *o.Spec.(*importer.ScheduleSpec)
	spec.Enabled = false
	o.Spec, o.Class = &spec, importer.NeedsYou
	o.Warnings = append(slices.Clone(o.Warnings), importer.Warning{
		Object: o.Name, Field: "enabled", Message: "It is not enabled, since it could not fire: " + why,
	})
	return o
}

// skipped is an object that is not written. Reason is that of the server, empty for an object without a Spec.
func skipped(o importer.Object, reason string) importer.Planned {
	if reason != "" {
		o.Reason, o.Class, o.Fires = reason, importer.NoHome, nil
	}
	return importer.Planned{Object: o, Action: importer.Skip}
}

// refusal returns why the server refuses an object, and false for a failure that is not the object's.
func refusal(err error) (string, bool) {
	var f *fault.Error
	if !errors.As(err, &f) {
		return "", false
	}
	switch f.Kind {
	case fault.Invalid, fault.NotFound, fault.Conflict, fault.Forbidden, fault.Unlicensed, fault.TooLarge:
		return f.Message, true
	default:
		return "", false
	}
}

// one writes an object.
func (p *pass) one(ctx context.Context, o importer.Object) (importer.Planned, error) {
	out := importer.Planned{Object: o}
	m, err := p.members(ctx, o)
	if err != nil {
		return out, err
	}
	if spec, ok := o.Spec.(*importer.ScheduleSpec); ok {
		preview, err := p.Schedule.Preview(spec.Cron, spec.Timezone, importer.MaxFires)
		if err != nil {
			return out, err
		}
		out.Fires = preview.Next
	}
	kind, stored := p.Kinds[o.Kind], p.stored[o.Kind][o.Name]
	if len(stored) == 0 || stored[0].Org != "" {
		out.Action = importer.Create
		out.ID, err = kind.Create(ctx, o.Name, m)
		return out, err
	}
	out.ID = stored[0].ID
	if o.Kind == importer.Schedule {
		keepEnabled(&out, stored[0].Members, m)
	}
	if out.Changes, err = objects.Changes(ctx, kind, stored[0], m); err != nil {
		return out, err
	}
	if len(out.Changes) == 0 {
		out.Action, out.Reason = importer.Skip, "unchanged"
		return out, nil
	}
	out.Action = importer.Update
	return out, kind.Update(ctx, stored[0], objects.Merged(stored[0], m))
}

// keepEnabled leaves a stored schedule enabled or disabled.
func keepEnabled(o *importer.Planned, stored, m objects.Members) {
	is := stored["enabled"] == true
	if is != (m["enabled"] == true) {
		m["enabled"] = is
		o.Warnings = append(slices.Clone(o.Warnings), importer.KeptEnabled(o.Name, is))
	}
}

func count(list []importer.Planned) importer.Counts {
	var c importer.Counts
	for _, o := range list {
		c.Add(o)
	}
	return c
}
