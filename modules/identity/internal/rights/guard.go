package rights

import (
	"context"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/identity"
)

// Guard calls the authorizer for the caller of a context.
type Guard struct{ authz identity.Authorizer }

var (
	_ access.Guard      = (*Guard)(nil)
	_ access.Operations = (*Guard)(nil)
	_ access.Owners     = (*Guard)(nil)
)

// NewGuard makes a Guard.
func NewGuard(a identity.Authorizer) *Guard { return &Guard{authz: a} }

// May skips empty names. Only admins have rights on an object of an unknown kind.
func (g *Guard) May(ctx context.Context, want access.Level, objects ...string) (bool, error) {
	p, known := identity.From(ctx)
	if !known {
		return application(ctx), nil
	}
	if !want.Valid() {
		return false, nil
	}
	for _, object := range objects {
		if object == "" {
			continue
		}
		ok, err := g.one(ctx, p, want, object)
		if err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

func (g *Guard) one(ctx context.Context, p identity.Principal, want access.Level, object string) (bool, error) {
	n := identity.Need{Kind: identity.KindOf(object), Act: string(want), Object: object}
	if n.Kind == "" {
		return p.RoleFor(n) == identity.Admin, nil
	}
	return g.allowed(ctx, p, n)
}

func (g *Guard) allowed(ctx context.Context, p identity.Principal, n identity.Need) (bool, error) {
	err := g.authz.Authorize(ctx, p, n)
	if identity.NotAllowed.Is(err) {
		return false, nil
	}
	return err == nil, err
}

func (g *Guard) MayAsk(ctx context.Context, kind, act string) (bool, error) {
	return g.needs(ctx, identity.Need{Kind: kind, Act: act})
}

func (g *Guard) MayWrite(ctx context.Context, kind, org string) (bool, error) {
	return g.needs(ctx, identity.Need{Kind: kind, Act: "create", Org: org})
}

func (g *Guard) needs(ctx context.Context, n identity.Need) (bool, error) {
	p, known := identity.From(ctx)
	if !known {
		return application(ctx), nil
	}
	return g.allowed(ctx, p, n)
}

// Scope is empty for a request without a known caller.
func (g *Guard) Scope(ctx context.Context) (access.Scope, error) {
	p, known := identity.From(ctx)
	switch {
	case known:
		s, err := g.authz.Scope(ctx, p)
		if err != nil {
			return nothing(), err
		}
		return s, nil
	case application(ctx):
		return access.Everything(), nil
	default:
		return nothing(), nil
	}
}

// application reports whether no request made the context.
func application(ctx context.Context) bool { return actor.From(ctx).Type == actor.System }

// nothing is the empty scope.
func nothing() access.Scope { return access.Scope{Strict: true} }
