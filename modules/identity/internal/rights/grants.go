package rights

import (
	"context"

	"github.com/writ-automation/writ/modules/identity/internal/kernel"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
)

// queue matches the names of queues that a run accepts.
var queue = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._:/-]{0,99}$`)

const maxRef = 200 // characters of a subject or an object

// Grants implements identity.Grants.
type Grants struct {
	kernel.Kernel
	store identity.GrantStore
}

var _ identity.Grants = (*Grants)(nil)

// NewGrants makes a Grants over a store.
func NewGrants(k kernel.Kernel, s identity.GrantStore) *Grants { return &Grants{Kernel: k, store: s} }

// Create returns Invalid faults for subject, object and level.
func (g *Grants) Create(ctx context.Context, subject, target string, l access.Level) (identity.Grant, bool, error) {
	if err := checkGrant(subject, target, l); err != nil {
		return identity.Grant{}, false, err
	}
	made := identity.Grant{ID: g.IDs.New(ids.Grant), Subject: subject, Object: target, Level: l,
		CreatedAt: g.Clock.Now(), CreatedBy: object.Author(ctx)}
	var first bool
	err := g.Unit.Do(ctx, func(ctx context.Context) (err error) {
		if first, err = g.store.InsertGrant(ctx, made); err != nil {
			return err
		}
		detail := describe(made)
		detail["first"] = first
		return g.Recorder.Record(ctx, audit.Entry{Action: audit.GrantCreate, Object: audit.Object{Kind: "grant", ID: made.ID},
			Detail: detail})
	})
	if err != nil {
		err = kernel.Naming(err, identity.UserNotFound, "subject", "no such account")
		err = kernel.Naming(err, identity.TeamNotFound, "subject", "no such team")
		return identity.Grant{}, false, kernel.Naming(err, identity.ObjectNotFound, "object", "no such object")
	}
	g.Log.InfoContext(ctx, "grant created", "grant", made.ID, "subject", subject, "object", target, "right", l,
		"first", first, "by", made.CreatedBy)
	return made, first, nil
}

func describe(g identity.Grant) map[string]any {
	return map[string]any{"subject": g.Subject, "object": g.Object, "level": string(g.Level)}
}

func checkGrant(subject, target string, l access.Level) error {
	if _, _, ok := identity.SubjectID(subject); !ok || !object.Line(subject, maxRef) {
		return fault.BadField("subject", "expected user:<id> or team:<id>")
	}
	name, isQueue := access.QueueName(target)
	switch {
	case isQueue && !queue.MatchString(name):
		return fault.BadField("object", "is not the name of a queue")
	case identity.KindOf(target) == "" || !object.Line(target, maxRef):
		return fault.BadField("object", "expected the id of a project, template, inventory or credential, or queue:<name>")
	case !l.Valid():
		return fault.BadField("level", "expected %s, %s or %s", access.Read, access.Use, access.Manage)
	default:
		return nil
	}
}

func (g *Grants) Get(ctx context.Context, id string) (identity.Grant, error) {
	return g.store.GrantByID(ctx, id)
}

func (g *Grants) List(ctx context.Context, f identity.GrantFilter, w page.Window) ([]identity.Grant, int, error) {
	return g.store.ListGrants(ctx, f, w)
}

func (g *Grants) Delete(ctx context.Context, id string) error {
	err := g.Unit.Do(ctx, func(ctx context.Context) error {
		was, err := g.store.GrantByID(ctx, id)
		if err != nil {
			return err
		}
		if err := g.store.DeleteGrant(ctx, id); err != nil {
			return err
		}
		return g.Recorder.Record(ctx, audit.Entry{Action: audit.GrantDelete, Object: audit.Object{Kind: "grant", ID: id},
			Detail: describe(was)})
	})
	if err == nil {
		g.Log.InfoContext(ctx, "grant deleted", "grant", id, "by", object.Author(ctx))
	}
	return err
}
