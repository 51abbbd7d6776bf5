package keep

import (
	"context"
	"log/slog"
	"maps"
	"slices"

	"github.com/writ-automation/writ/modules/secrets/internal/check"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/tx"
)

// Kernel is what every keeper needs of the process.
type Kernel struct {
	Unit  tx.Unit
	Clock clock.Clock
	IDs   ids.Generator
	Log   *slog.Logger
	// Recorder records each change together with it.
	Recorder audit.Recorder
	// Objects hears of what can carry grants.
	Objects identity.Objects
}

func (k *Kernel) made(ctx context.Context, kind ids.Prefix, r *catalog.Record) {
	now := k.Clock.Now()
	r.ID, r.CreatedBy, r.CreatedAt, r.UpdatedAt, r.Revision = k.IDs.New(kind), check.Author(ctx), now, now, 1
}

func (k *Kernel) changed(was catalog.Record, r *catalog.Record) {
	r.ID, r.CreatedBy, r.CreatedAt, r.Revision = was.ID, was.CreatedBy, was.CreatedAt, was.Revision
	r.UpdatedAt = k.Clock.Now()
}

func (k *Kernel) say(ctx context.Context, said, id string) {
	k.Log.InfoContext(ctx, said, "id", id, "by", check.Author(ctx))
}

// detail collects what is recorded of a change: ids and names of members, never a value.
type detail map[string]any

func (d detail) set(key, value string) detail {
	if value != "" {
		d[key] = value
	}
	return d
}

func (d detail) list(key string, list []string) detail {
	if len(list) == 0 {
		return d
	}
	out := make([]any, len(list))
	for i, x := range list {
		out[i] = x
	}
	d[key] = out
	return d
}

// names returns the names of members in order.
func names[V any](members map[string]V) []string { return slices.Sorted(maps.Keys(members)) }

func entry(a audit.Action, r catalog.Record, d detail) audit.Entry {
	d.set("org_id", r.Org)
	return audit.Entry{Action: a, Object: audit.Object{Kind: ids.KindOf(r.ID), ID: r.ID, Name: r.Name}, Detail: d}
}

// naming makes a fault name the member of the request that it is about.
func naming(field string, f *fault.Error) error {
	said := f.Message
	f.Message = field + ": " + said
	f.Fields = []fault.Field{{Location: field, Message: said}}
	return f
}

// attempts is how often a change is made where somebody else's comes between judging it and storing it.
const attempts = 5

// again makes a change until no other one comes between, a few times. Who named a revision is told of another one by the change itself.
func again(change func(attempt int) error) error {
	for n := 1; ; n++ {
		err := change(n)
		if n == attempts || !catalog.RevisionChanged.Is(err) {
			return err
		}
	}
}

// read reads what a change is judged by. From the second attempt on that is done in a unit: what came between may not have committed yet,
// since units share a commit, and is seen by units alone until it has.
func (k *Kernel) read(ctx context.Context, attempt int, fn func(ctx context.Context) error) error {
	if attempt == 1 {
		return fn(ctx)
	}
	return k.Unit.Do(ctx, fn)
}

// stale refuses a change that is meant for another revision; 0 is meant for any.
func stale(revision int64, r catalog.Record) error {
	if revision == 0 || revision == r.Revision {
		return nil
	}
	return catalog.RevisionChanged.New("the %s was changed meanwhile", noun(r.ID))
}
