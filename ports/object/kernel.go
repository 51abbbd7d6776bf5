package object

import (
	"context"
	"log/slog"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/tx"
)

// Kernel holds the dependencies that every change of an object needs.
type Kernel struct {
	Unit  tx.Unit
	Clock clock.Clock
	IDs   ids.Generator
	Log   *slog.Logger
	// Recorder records each change in the same unit.
	Recorder audit.Recorder
	// Objects registers every object that can carry grants.
	Objects identity.Objects
}

// Created fills the record of a new object.
func (k *Kernel) Created(ctx context.Context, kind ids.Prefix, r *Record) {
	now := k.Clock.Now()
	r.ID, r.CreatedBy, r.CreatedAt, r.UpdatedAt, r.Revision = k.IDs.New(kind), Author(ctx), now, now, 1
}

// Updated copies the id, the author, the creation time and the revision of the stored record to the one that replaces
// it, and sets its time of change.
func (k *Kernel) Updated(old Record, r *Record) {
	r.ID, r.CreatedBy, r.CreatedAt, r.Revision = old.ID, old.CreatedBy, old.CreatedAt, old.Revision
	r.UpdatedAt = k.Clock.Now()
}

// CheckRevision refuses a change for another revision. Revision 0 matches any.
func CheckRevision(revision int64, r Record) error {
	if revision == 0 || revision == r.Revision {
		return nil
	}
	return RevisionChanged.New("the %s was changed meanwhile", Noun(r.ID))
}

// attempts is how often a change is tried if another change commits between its checks and its unit.
const attempts = 5

// Retry makes a change, and makes it again a few times if another change comes between, unless the caller named a
// revision. Units share a commit, so the other change may not be committed yet and is then invisible outside of a
// unit: an empty unit waits for its commit.
func (k *Kernel) Retry(ctx context.Context, revision int64, change func() error) error {
	for n := 1; ; n++ {
		err := change()
		if revision != 0 || n == attempts || !RevisionChanged.Is(err) {
			return err
		}
		if err := k.Unit.Do(ctx, func(context.Context) error { return nil }); err != nil {
			return err
		}
	}
}

// Logged logs a change that was made. In a unit of work it does so when that has committed.
func (k *Kernel) Logged(ctx context.Context, message, id string) {
	tx.OnCommit(ctx, func() { k.Log.InfoContext(ctx, message, "id", id, "by", Author(ctx)) })
}

// Detail is the detail of a recorded change: ids, names, counts and digests, never a secret.
type Detail map[string]any

// Set returns the detail with a text if that is not empty.
func (d Detail) Set(key, value string) Detail {
	if value != "" {
		d[key] = value
	}
	return d
}

// List returns the detail with a list of texts if that is not empty.
func (d Detail) List(key string, list []string) Detail {
	if len(list) > 0 {
		d[key] = Texts(list)
	}
	return d
}

// Texts returns a list of texts in the form of a detail.
func Texts(list []string) []any {
	out := make([]any, len(list))
	for i, x := range list {
		out[i] = x
	}
	return out
}

// Entry returns the audit entry of a change of an object.
func Entry(a audit.Action, r Record, d Detail) audit.Entry {
	d.Set("org_id", r.Org)
	return audit.Entry{Action: a, Object: audit.Object{Kind: ids.KindOf(r.ID), ID: r.ID, Name: r.Name}, Detail: d}
}

// Deleted returns the audit entry of the deletion of an object.
func Deleted(a audit.Action, r Record) audit.Entry {
	return Entry(a, r, Detail{"revision": int(r.Revision)})
}
