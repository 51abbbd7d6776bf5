package usage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net/url"

	"github.com/writ-automation/writ/modules/catalog/internal/check"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/clock"
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

// Detail collects what is recorded of a change: ids, counts and digests, never a secret.
type Detail map[string]any

// Set returns the detail with a text, unless that is empty.
func (d Detail) Set(key, value string) Detail {
	if value != "" {
		d[key] = value
	}
	return d
}

// List returns the detail with a list of texts, unless that is empty.
func (d Detail) List(key string, list []string) Detail {
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

// Entry is what is recorded of a change of an object.
func Entry(a audit.Action, r catalog.Record, d Detail) audit.Entry {
	d.Set("org_id", r.Org)
	return audit.Entry{Action: a, Object: audit.Object{Kind: ids.KindOf(r.ID), ID: r.ID, Name: r.Name}, Detail: d}
}

// Sum is the SHA-256 of a text in hex.
func Sum(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Address returns an address as it may be recorded: without user name, password, query and fragment. Of what is no URL, such as the
// short form of ssh, it is the text itself, in which nothing of that has a place but the name before @.
func Address(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" || u.Host == "" && u.Scheme != "file" {
		for i := len(text) - 1; i >= 0; i-- {
			if text[i] == '@' {
				return text[i+1:]
			}
		}
		return text
	}
	u.User, u.RawQuery, u.Fragment, u.ForceQuery = nil, "", "", false
	return u.String()
}

// Made fills what a record has when it is made.
func (k *Kernel) Made(ctx context.Context, kind ids.Prefix, r *catalog.Record) {
	now := k.Clock.Now()
	r.ID, r.CreatedBy, r.CreatedAt, r.UpdatedAt, r.Revision = k.IDs.New(kind), check.Author(ctx), now, now, 1
}

// Changed fills a record that replaces a stored one with what no caller sets.
func (k *Kernel) Changed(was catalog.Record, r *catalog.Record) {
	r.ID, r.CreatedBy, r.CreatedAt, r.Revision = was.ID, was.CreatedBy, was.CreatedAt, was.Revision
	r.UpdatedAt = k.Clock.Now()
}

// Save stores an object that can carry grants, new or changed, in one unit, and says so in the log. Who keeps rights is told first that it
// exists, or belongs to another organization, and then store is called: in the order in which Drop deletes one, so that a change and a
// deletion never wait for one another crosswise.
func (k *Kernel) Save(ctx context.Context, said string, r catalog.Record, store func(ctx context.Context) error) error {
	err := k.Unit.Do(ctx, func(ctx context.Context) error {
		if err := k.Objects.Put(ctx, identity.Object{ID: r.ID, Org: r.Org}); err != nil {
			return err
		}
		return store(ctx)
	})
	if err != nil {
		return err
	}
	k.Log.InfoContext(ctx, said, "id", r.ID, "by", check.Author(ctx))
	return nil
}

// Put stores in the open unit, behind an object, what it names and the entry of its change.
func (k *Kernel) Put(ctx context.Context, d *Desk, id string, t Targets, e audit.Entry) error {
	if err := d.Name(ctx, id, t); err != nil {
		return err
	}
	return k.Recorder.Record(ctx, e)
}

// Drop deletes an object that can carry grants, in one unit: it is forgotten first, so that nobody names it any more, then looked for in
// what others name, and deleted by the store. InUse.
func (k *Kernel) Drop(ctx context.Context, d *Desk, a audit.Action, r catalog.Record, remove func(ctx context.Context) error) error {
	err := k.Unit.Do(ctx, func(ctx context.Context) error {
		if err := k.Objects.Remove(ctx, r.ID); err != nil {
			return err
		}
		if err := d.Free(ctx, r.ID); err != nil {
			return err
		}
		if err := d.Name(ctx, r.ID, nil); err != nil {
			return err
		}
		if err := remove(ctx); err != nil {
			return err
		}
		return k.Recorder.Record(ctx, Entry(a, r, Detail{"revision": int(r.Revision)}))
	})
	if err != nil {
		return d.Told(ctx, err)
	}
	k.Log.InfoContext(ctx, "deleted", "kind", ids.KindOf(r.ID), "id", r.ID, "by", check.Author(ctx))
	return nil
}

// Change refuses a caller who may not manage an object, or who may not keep one in the organization that it is to move to.
func (d *Desk) Change(ctx context.Context, was, now catalog.Record, missing error) error {
	if err := d.Reach(ctx, access.Manage, was.ID, missing); err != nil {
		return err
	}
	if was.Org == now.Org {
		return nil
	}
	return d.Keep(ctx, ids.KindOf(was.ID), now.Org)
}
