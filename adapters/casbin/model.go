package casbin

import (
	"fmt"
	"slices"

	"github.com/casbin/casbin/v2"
	casbinmodel "github.com/casbin/casbin/v2/model"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/identity"
)

// model is the policy. A row of the matrix means: by the way via, an account of at least this role may do act to this
// kind. Each way is one relation. The string comparisons come first, because relations cost more and && is evaluated
// in order.
const model = `
[request_definition]
r = account, kind, act, object, org

[policy_definition]
p = via, role, kind, act

[policy_effect]
e = some(where (p.eft == allow))

[matchers]
m = (r.kind == p.kind || p.kind == "*") && (r.act == p.act || p.act == "*") && hasRole(r.account, p.role) && \
    (p.via == "role" && (p.role == "admin" || !isNamed(r.object)) || \
     p.via == "unrestricted" && isOpen(r.object) || \
     p.via == "grant" && isGranted(r.object, p.act) || \
     p.via == "organization admin" && administers(r.account, r.org))
`

// account is the caller in the form that the relations use.
type account struct {
	role identity.Role
	orgs []string // the organizations that it administers, sorted
}

// object is the object of a need in the form that the relations use. The zero value is no object.
type object struct {
	named bool
	open  bool         // follows the global roles
	level access.Level // the highest level that a grant gives the account
}

// hasRole orders the roles: a higher role includes the lower ones. The role of a row is the minimum; it also limits
// what a viewer gets by grants and by administering an organization.
func hasRole(a account, least string) bool {
	rank := identity.Role(least).Rank()
	return rank > 0 && a.role.Rank() >= rank
}

// isNamed holds if the need is about one object. For those, grants and organizations decide, except for admins.
func isNamed(o object, _ struct{}) bool { return o.named }

// isOpen holds for an object that follows the global roles.
func isOpen(o object, _ struct{}) bool { return o.open }

// isGranted holds if a grant gives the account at least this level.
func isGranted(o object, level string) bool { return o.level.Covers(access.Level(level)) }

// administers holds if the account has the role admin in the organization.
func administers(a account, org string) bool {
	_, found := slices.BinarySearch(a.orgs, org)
	return org != "" && found
}

// relation converts a relation to a function for casbin. If B is the empty struct, that takes one argument.
func relation[A, B any](name string, holds func(A, B) bool) func(args ...any) (any, error) {
	var none B
	_, unary := any(none).(struct{})
	return func(args ...any) (any, error) {
		if unary {
			args = append(args[:len(args):len(args)], none)
		}
		if len(args) == 2 {
			a, okA := args[0].(A)
			b, okB := args[1].(B)
			if okA && okB {
				return holds(a, b), nil
			}
		}
		return false, fmt.Errorf("%s does not take %v", name, args)
	}
}

// enforcers holds one enforcer for each kind in the matrix, with the rows that can match it, and one under Any with
// the rows that match every kind. An enforcer evaluates its rows one after another, so the cost of a refusal is
// proportional to their number.
type enforcers map[string]*casbin.SyncedEnforcer

// newEnforcers creates the enforcers from the matrix.
func newEnforcers() (enforcers, error) {
	out := enforcers{identity.Any: nil}
	for _, r := range identity.Matrix() {
		out[r.Kind] = nil
	}
	for kind := range out {
		e, err := newEnforcer(kind)
		if err != nil {
			return nil, err
		}
		out[kind] = e
	}
	return out, nil
}

// newEnforcer creates the enforcer of a kind. The rows keep their order; the first match ends the search.
func newEnforcer(kind string) (*casbin.SyncedEnforcer, error) {
	m, err := casbinmodel.NewModelFromString(model)
	if err != nil {
		return nil, fmt.Errorf("casbin: read the model: %w", err)
	}
	e, err := casbin.NewSyncedEnforcer(m)
	if err != nil {
		return nil, fmt.Errorf("casbin: %w", err)
	}
	e.AddFunction("hasRole", relation("hasRole", hasRole))
	e.AddFunction("isNamed", relation("isNamed", isNamed))
	e.AddFunction("isOpen", relation("isOpen", isOpen))
	e.AddFunction("isGranted", relation("isGranted", isGranted))
	e.AddFunction("administers", relation("administers", administers))
	for _, r := range identity.Matrix() {
		if r.Kind != kind && r.Kind != identity.Any {
			continue
		}
		added, err := e.AddPolicy(string(r.Via), string(r.Role), r.Kind, r.Act)
		if err != nil {
			return nil, fmt.Errorf("casbin: add a row: %w", err)
		}
		if !added {
			return nil, fmt.Errorf("casbin: the matrix says %v twice", r)
		}
	}
	return e, nil
}

// enforce evaluates the rows of the need's kind.
func (e enforcers) enforce(a account, o object, org string, n identity.Need) (bool, error) {
	of, ok := e[n.Kind]
	if !ok {
		of = e[identity.Any]
	}
	return of.Enforce(a, n.Kind, n.Act, o, org)
}
