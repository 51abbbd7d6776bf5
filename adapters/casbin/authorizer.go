package casbin

import (
	"context"
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
)

// Config is the configuration of the authorizer.
type Config struct {
	// Strict treats an object without grants as restricted.
	Strict bool
}

// create is the only act on an object that does not exist yet.
const create = "create"

// Authorizer enforces the matrix. It is safe for concurrent use.
type Authorizer struct {
	cfg       Config
	rows      enforcers
	index     *index
	refresher *refresher
}

var _ identity.Authorizer = (*Authorizer)(nil)

// New creates the enforcers and reads nothing. It returns an error only for an invalid model.
func New(cfg Config, store identity.RightsStore) (*Authorizer, error) {
	rows, err := newEnforcers()
	if err != nil {
		return nil, err
	}
	x := newIndex()
	return &Authorizer{cfg: cfg, rows: rows, index: x, refresher: &refresher{store: store, index: x}}, nil
}

// Authorize returns an Unavailable fault if the rights of the caller's version cannot be read, and an Internal one for
// an error of the enforcer itself; both refuse.
//
// After each call the index includes the caller's version, so a decision for a long-lived caller uses the newest
// rights that any caller has read.
//
// An object that cannot carry grants, or is of another kind than the need, is decided as an object for admins only.
func (a *Authorizer) Authorize(ctx context.Context, p identity.Principal, n identity.Need) error {
	who, obj, org, err := a.view(ctx, p, n)
	if err != nil {
		return err
	}
	if !p.Scopes.Allow(n) {
		return identity.NotAllowed.New("the scopes of the token may not %s %s", n.Act, noun(n.Kind))
	}
	ok, err := a.rows.enforce(who, obj, org, n)
	if err != nil {
		return fault.Wrap(fault.Internal, err, "the decision failed")
	}
	if !ok {
		return identity.NotAllowed.New("the role %q may not %s %s", p.User.Role, n.Act, noun(n.Kind))
	}
	return nil
}

// view returns the inputs of the relations: the caller, the object, and the organization of the object or of the
// object to create. It reads the index only if that can matter, and updates the index for every account.
func (a *Authorizer) view(ctx context.Context, p identity.Principal, n identity.Need) (account, object, string, error) {
	who, obj := account{role: p.RoleFor(n)}, object{named: n.Object != ""}
	creates := !obj.named && n.Act == create && n.Org != ""
	decides := obj.named && n.Act != create && identity.KindOf(n.Object) == n.Kind
	if p.Open || !who.role.Valid() {
		return who, obj, "", nil
	}
	if err := a.refresher.require(ctx, p.Version); err != nil {
		return who, obj, "", err
	}
	if who.role == identity.Admin || !creates && !decides {
		return who, obj, "", nil
	}
	subjects, rights := a.index.view(p.User.ID, n.Object)
	who.orgs = subjects.orgs
	if creates {
		return who, obj, n.Org, nil
	}
	obj.open = !rights.restricted && !a.cfg.Strict
	obj.level = rights.level(subjects.names)
	return who, obj, rights.org, nil
}

// Scope returns an Unavailable fault under the same conditions as Authorize.
func (a *Authorizer) Scope(ctx context.Context, p identity.Principal) (access.Scope, error) {
	switch {
	case p.Open:
		return access.Everything(), nil
	case !p.User.Role.Valid():
		return access.Scope{Strict: true}, nil // an invalid role reads nothing
	}
	if err := a.refresher.require(ctx, p.Version); err != nil {
		return access.Scope{}, err
	}
	if p.User.Role == identity.Admin {
		return access.Everything(), nil
	}
	subjects, restricted := a.index.scope(p.User.ID)
	if restricted == 0 && !a.cfg.Strict {
		return access.Everything(), nil
	}
	return access.Scope{Subjects: slices.Clone(subjects.names), Orgs: slices.Clone(subjects.orgs), Strict: a.cfg.Strict},
		nil
}

// noun returns a kind with its article.
func noun(kind string) string {
	if kind != "" && strings.ContainsRune("aeio", rune(kind[0])) {
		return "an " + kind
	}
	return "a " + kind
}
