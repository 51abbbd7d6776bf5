package grant

import (
	"context"
	"log/slog"
	"regexp"

	"github.com/writ-automation/writ/modules/identity/internal/check"
	"github.com/writ-automation/writ/modules/identity/internal/trail"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/tx"
)

// queue is what a run accepts as the name of a queue; a grant on any other could never matter.
var queue = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/-]{0,99}$`)

// maxRef bounds what names a subject or an object, far above the length of an id.
const maxRef = 200

// Grants keeps grants.
type Grants struct {
	store identity.GrantStore
	rec   audit.Recorder
	unit  tx.Unit
	clock clock.Clock
	ids   ids.Generator
	log   *slog.Logger
}

var _ identity.Grants = (*Grants)(nil)

// NewGrants makes the keeper of grants.
func NewGrants(s identity.GrantStore, r audit.Recorder, u tx.Unit, c clock.Clock, g ids.Generator, log *slog.Logger) *Grants {
	return &Grants{store: s, rec: r, unit: u, clock: c, ids: g, log: log}
}

// Invalid naming subject, object or level.
func (g *Grants) Create(ctx context.Context, subject, object string, l access.Level) (identity.Grant, bool, error) {
	if err := checkGrant(subject, object, l); err != nil {
		return identity.Grant{}, false, err
	}
	made := identity.Grant{ID: g.ids.New(ids.Grant), Subject: subject, Object: object, Level: l,
		CreatedAt: g.clock.Now(), CreatedBy: check.Author(ctx)}
	var first bool
	err := g.unit.Do(ctx, func(ctx context.Context) (err error) {
		if first, err = g.store.InsertGrant(ctx, made); err != nil {
			return err
		}
		detail := describe(made)
		detail["first"] = first
		return g.rec.Record(ctx, audit.Entry{Action: audit.GrantCreate, Object: trail.Grant(made), Detail: detail})
	})
	if err != nil {
		err = check.Naming(err, identity.UserNotFound, "subject", "no such account")
		err = check.Naming(err, identity.TeamNotFound, "subject", "no such team")
		return identity.Grant{}, false, check.Naming(err, identity.ObjectNotFound, "object", "no such object")
	}
	g.log.InfoContext(ctx, "grant created", "grant", made.ID, "subject", subject, "object", object, "level", l, "first", first,
		"by", made.CreatedBy)
	return made, first, nil
}

func describe(g identity.Grant) map[string]any {
	return map[string]any{"subject": g.Subject, "object": g.Object, "level": string(g.Level)}
}

func checkGrant(subject, object string, l access.Level) error {
	if _, _, ok := identity.SubjectID(subject); !ok || !check.Text(subject, maxRef, "") {
		return fault.BadField("subject", "expected user:<id> or team:<id>")
	}
	name, isQueue := access.QueueName(object)
	switch {
	case isQueue && !queue.MatchString(name):
		return fault.BadField("object", "is not the name of a queue")
	case identity.KindOf(object) == "" || !check.Text(object, maxRef, ""):
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
	err := g.unit.Do(ctx, func(ctx context.Context) error {
		was, err := g.store.GrantByID(ctx, id)
		if err != nil {
			return err
		}
		if err := g.store.DeleteGrant(ctx, id); err != nil {
			return err
		}
		return g.rec.Record(ctx, audit.Entry{Action: audit.GrantDelete, Object: trail.Grant(was), Detail: describe(was)})
	})
	if err == nil {
		g.log.InfoContext(ctx, "grant deleted", "grant", id, "by", check.Author(ctx))
	}
	return err
}
