package casbin

import (
	"context"
	"fmt"

	"github.com/casbin/casbin/v2"
	casbinmodel "github.com/casbin/casbin/v2/model"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
)

// Authorizer enforces the matrix. It is safe for concurrent use.
type Authorizer struct {
	enforcer *casbin.SyncedEnforcer
}

var _ identity.Authorizer = (*Authorizer)(nil)

// New builds the enforcer. It returns an error only where the model itself is broken.
func New() (*Authorizer, error) {
	m, err := casbinmodel.NewModelFromString(model)
	if err != nil {
		return nil, fmt.Errorf("casbin: read the model: %w", err)
	}
	e, err := casbin.NewSyncedEnforcer(m)
	if err != nil {
		return nil, fmt.Errorf("casbin: %w", err)
	}
	e.AddFunction("has", has)
	for _, r := range matrix() {
		if _, err := e.AddPolicy(global, string(r.role), r.kind, r.act); err != nil {
			return nil, fmt.Errorf("casbin: add a row: %w", err)
		}
	}
	return &Authorizer{enforcer: e}, nil
}

// has reports whether the subject, the first argument being the way, has at least the role.
func has(args ...any) (any, error) {
	if len(args) != 3 {
		return false, fmt.Errorf("has takes 3 arguments, not %d", len(args))
	}
	via, _ := args[0].(string)
	sub, _ := args[1].(identity.Principal)
	role, _ := args[2].(string)
	need := rank(identity.Role(role))
	return via == global && need > 0 && rank(sub.User.Role) >= need, nil
}

// Authorize implements identity.Authorizer. An error of the enforcer itself is an Internal fault, and so a denial.
func (a *Authorizer) Authorize(_ context.Context, p identity.Principal, n identity.Need) error {
	ok, err := a.enforcer.Enforce(p, n.Kind, n.Act)
	if err != nil {
		return fault.Wrap(fault.Internal, err, "the decision failed")
	}
	if !ok {
		return identity.NotAllowed.New("the role %q may not %s a %s", p.User.Role, n.Act, n.Kind)
	}
	return nil
}
