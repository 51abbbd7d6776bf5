package compose

import (
	"context"
	"fmt"
	"strings"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/scheduling"
)

// audience implements audit.Audience: a caller sees the entries about the objects and runs that it may read. Entries
// about what no grant restricts, such as accounts, are seen by all.
type audience struct {
	fx.In

	Guard     access.Guard
	Runs      runs.ObjectStore
	Sources   catalog.Sources
	Schedules scheduling.Schedules
	Triggers  scheduling.Triggers
}

func newAudience(a audience) audit.Audience { return &a }

// Sees decides by the objects of a run where there is one: its children share them. A run, a source, a schedule or a
// trigger that was deleted is seen only by who may read everything, since what it named is not known any more.
func (a *audience) Sees(ctx context.Context, object, run string) (bool, error) {
	s, err := a.Guard.Scope(ctx)
	if err != nil || s.All {
		return err == nil, err
	}
	_, id, _ := strings.Cut(object, "/")
	prefix, _, _ := strings.Cut(id, "_")
	kind := ids.Prefix(prefix + "_")
	if run == "" && kind == ids.Run {
		run = id
	}
	if run != "" {
		objects, err := a.Runs.Objects(ctx, run)
		if ok, err := found(err); !ok || err != nil {
			return false, err
		}
		if ok, err := a.Guard.May(ctx, access.Read, objects...); !ok || err != nil {
			return false, err
		}
	}
	switch {
	case identity.KindOf(id) != "":
		return a.Guard.May(ctx, access.Read, id)
	case kind == ids.Source:
		_, err = a.Sources.Get(ctx, id)
	case kind == ids.Schedule:
		_, err = a.Schedules.Get(ctx, id)
	case kind == ids.Trigger:
		_, err = a.Triggers.Get(ctx, id)
	}
	return found(err)
}

// found reports whether a record is there for the caller.
func found(err error) (bool, error) {
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look up what an entry names: %w", err)
	}
	return true, nil
}
