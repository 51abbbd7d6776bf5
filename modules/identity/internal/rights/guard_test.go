package rights_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/modules/identity/internal/rights"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/identity"
)

// table allows the needs that it holds.
type table struct {
	allowed map[identity.Need]bool
	asked   int
	err     error
}

func (a *table) Authorize(_ context.Context, _ identity.Principal, n identity.Need) error {
	a.asked++
	if a.err != nil || a.allowed[n] {
		return a.err
	}
	return identity.NotAllowed.New("no")
}

func (a *table) Scope(_ context.Context, p identity.Principal) (access.Scope, error) {
	if a.err != nil {
		return access.Everything(), a.err // whatever comes with an error, nothing is shown
	}
	return access.Scope{Subjects: []string{p.User.ID}}, nil
}

func TestMay(t *testing.T) {
	t.Parallel()
	a := &table{allowed: map[identity.Need]bool{
		{Kind: "project", Act: "use", Object: "prj_1"}: true, {Kind: "queue", Act: "use", Object: "queue:eu"}: true,
	}}
	g := rights.NewGuard(a)
	as := func(r identity.Role) context.Context {
		return identity.With(t.Context(), identity.Principal{User: identity.User{ID: "usr_1", Role: r}})
	}
	none := func(kind actor.Type) context.Context { return actor.With(t.Context(), actor.Actor{Type: kind}) }
	for name, c := range map[string]struct {
		ctx     context.Context
		want    access.Level
		objects []string
		may     bool
		asked   int
	}{
		"all of them":        {as(identity.Viewer), access.Use, []string{"prj_1", "", "queue:eu"}, true, 2},
		"one of two":         {as(identity.Viewer), access.Use, []string{"prj_1", "prj_2"}, false, 2},
		"the first refuses":  {as(identity.Viewer), access.Use, []string{"prj_2", "prj_1"}, false, 1},
		"further":            {as(identity.Viewer), access.Manage, []string{"prj_1"}, false, 1},
		"no objects":         {as(identity.Viewer), access.Use, nil, true, 0},
		"empty ones":         {as(identity.Viewer), access.Use, []string{"", ""}, true, 0},
		"no level":           {as(identity.Admin), access.None, []string{"prj_1"}, false, 0},
		"unknown level":      {as(identity.Admin), "read use", []string{"prj_1"}, false, 0},
		"unknown kind":       {as(identity.Operator), access.Read, []string{"zzz_1"}, false, 0},
		"unknown to admins":  {as(identity.Admin), access.Read, []string{"zzz_1"}, true, 0},
		"application":        {t.Context(), access.Manage, []string{"prj_9", "zzz_1"}, true, 0},
		"anonymous":          {none(actor.Anonymous), access.Read, []string{"prj_1"}, false, 0},
		"worker":             {none(actor.Worker), access.Read, []string{"prj_1"}, false, 0},
		"hook":               {none(actor.Hook), access.Read, []string{"prj_1"}, false, 0},
		"anonymous, nothing": {none(actor.Anonymous), access.Read, nil, false, 0},
		"user, not known":    {none(actor.User), access.Read, []string{"prj_1"}, false, 0},
	} {
		a.asked = 0
		may, err := g.May(c.ctx, c.want, c.objects...)
		if err != nil || may != c.may || a.asked != c.asked {
			t.Errorf("%s: %v %v after %d questions", name, may, err, a.asked)
		}
	}
	a.err = errors.New("the index is gone")
	if may, err := g.May(as(identity.Admin), access.Read, "prj_1"); may || !errors.Is(err, a.err) {
		t.Errorf("nobody can decide: %v %v", may, err)
	}
}

// TestMayAsk asks about an operation, as a request for it does, and never about an object.
func TestMayAsk(t *testing.T) {
	t.Parallel()
	a := &table{allowed: map[identity.Need]bool{{Kind: "run", Act: "control"}: true}}
	g := rights.NewGuard(a)
	caller := identity.With(t.Context(), identity.Principal{User: identity.User{ID: "usr_1"}})
	for name, c := range map[string]struct {
		ctx context.Context
		act string
		may bool
	}{
		"allowed":     {caller, "control", true},
		"refused":     {caller, "approve", false},
		"application": {t.Context(), "approve", true},
		"anonymous":   {actor.With(t.Context(), actor.Actor{Type: actor.Anonymous}), "control", false},
	} {
		if may, err := g.MayAsk(c.ctx, "run", c.act); err != nil || may != c.may {
			t.Errorf("%s: %v %v", name, may, err)
		}
	}
	a.err = errors.New("the index is gone")
	if may, err := g.MayAsk(caller, "run", "control"); may || !errors.Is(err, a.err) {
		t.Errorf("nobody can decide: %v %v", may, err)
	}
}

func TestScope(t *testing.T) {
	t.Parallel()
	a := &table{}
	g := rights.NewGuard(a)
	caller := identity.With(t.Context(), identity.Principal{User: identity.User{ID: "usr_1"}})
	anonymous := actor.With(t.Context(), actor.Actor{Type: actor.Anonymous})
	nothing := access.Scope{Strict: true}
	for name, c := range map[string]struct {
		ctx  context.Context
		want access.Scope
	}{
		"caller":      {caller, access.Scope{Subjects: []string{"usr_1"}}},
		"application": {t.Context(), access.Everything()},
		"anonymous":   {anonymous, nothing},
	} {
		if got, err := g.Scope(c.ctx); err != nil || !cmp.Equal(got, c.want) {
			t.Errorf("%s: %+v %v", name, got, err)
		}
	}
	a.err = errors.New("the index is gone")
	if got, err := g.Scope(caller); !errors.Is(err, a.err) || !cmp.Equal(got, nothing) {
		t.Errorf("nobody can decide: %+v %v", got, err)
	}
}
