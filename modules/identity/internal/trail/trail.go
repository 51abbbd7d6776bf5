// Package trail names the objects of identity in the trail, and records sign-ins that came to nothing.
//
// Names of people, tokens and groups are private and stand in an object's name alone. Details hold ids, roles, the
// names of members and counts: never a password, a hash, a secret or a value of a profile.
package trail

import (
	"context"
	"time"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
)

// User is an account as an object of the trail; nobody is no object.
func User(u identity.User) audit.Object {
	if u.ID == "" {
		return audit.Object{}
	}
	return audit.Object{Kind: "user", ID: u.ID, Name: u.Username}
}

// Token is a token as an object of the trail.
func Token(t identity.Token) audit.Object {
	return audit.Object{Kind: "token", ID: t.ID, Name: t.Name}
}

// Team is a team as an object of the trail.
func Team(t identity.Team) audit.Object { return audit.Object{Kind: "team", ID: t.ID, Name: t.Name} }

// Org is an organization as an object of the trail.
func Org(o identity.Org) audit.Object { return audit.Object{Kind: "org", ID: o.ID, Name: o.Name} }

// Grant is a grant as an object of the trail.
func Grant(g identity.Grant) audit.Object { return audit.Object{Kind: "grant", ID: g.ID} }

// Self is an account as the one who acts, from where the context's actor is.
func Self(ctx context.Context, u identity.User) *actor.Actor {
	return &actor.Actor{Type: actor.User, ID: u.ID, Name: u.Username, IP: actor.From(ctx).IP}
}

// Instant is a time as details spell it.
func Instant(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// Reason is the code of why somebody was not let in.
func Reason(err error) string {
	for _, c := range append(identity.Codes(), access.Codes()...) {
		if c.Is(err) {
			return c.Name
		}
	}
	return fault.KindOf(err).String()
}
