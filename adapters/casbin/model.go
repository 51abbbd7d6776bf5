package casbin

import (
	"fmt"
	"slices"

	"github.com/casbin/casbin/v2"
	casbinmodel "github.com/casbin/casbin/v2/model"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/identity"
)

// model: a row applies to its kind and act where the caller has its role and the way to it that p.via names. The kind
// and the act come first, because has is the dearest of the three and the order of && is kept.
const model = `
[request_definition]
r = sub, kind, obj, org, act

[policy_definition]
p = via, role, kind, act

[policy_effect]
e = some(where (p.eft == allow))

[matchers]
m = (r.kind == p.kind || p.kind == "*") && (r.act == p.act || p.act == "*") && has(p.via, r.sub, p.role, r.org, r.obj)
`

// subject is the caller as has sees it.
type subject struct {
	role identity.Role
	orgs []string // the organizations that it administers, in order
}

// object is what a need names as has sees it. The zero value is no object at all.
type object struct {
	named bool
	open  bool         // follows the global roles
	level access.Level // the best that a grant gives the subject
}

// enforcers holds one enforcer for each kind that the matrix names, with the rows that can fit it, and one under Any with
// the rows that fit every kind. An enforcer asks one row after another, so a refusal costs as much as it has rows.
type enforcers map[string]*casbin.SyncedEnforcer

// newEnforcers builds the enforcers from the matrix.
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

// newEnforcer builds the enforcer of a kind. The rows keep their order: the first one that fits ends the search.
func newEnforcer(kind string) (*casbin.SyncedEnforcer, error) {
	m, err := casbinmodel.NewModelFromString(model)
	if err != nil {
		return nil, fmt.Errorf("casbin: read the model: %w", err)
	}
	e, err := casbin.NewSyncedEnforcer(m)
	if err != nil {
		return nil, fmt.Errorf("casbin: %w", err)
	}
	e.AddFunction("has", has)
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

// enforce asks the rows of the need's kind.
func (e enforcers) enforce(sub subject, obj object, org string, n identity.Need) (bool, error) {
	of, ok := e[n.Kind]
	if !ok {
		of = e[identity.Any]
	}
	return of.Enforce(sub, n.Kind, obj, org, n.Act)
}

// has reports whether the subject has the role and the way to the object or to the organization. The role is the least
// one: it caps what a viewer gets by grants and by administering an organization.
func has(args ...any) (any, error) {
	if len(args) != 5 {
		return false, fmt.Errorf("has takes 5 arguments, not %d", len(args))
	}
	via, okVia := args[0].(string)
	sub, okSub := args[1].(subject)
	role, okRole := args[2].(string)
	org, okOrg := args[3].(string)
	obj, okObj := args[4].(object)
	if !okVia || !okSub || !okRole || !okOrg || !okObj {
		return false, fmt.Errorf("has does not take %T, %T, %T, %T and %T", args[0], args[1], args[2], args[3], args[4])
	}
	least := identity.Role(role).Rank()
	return least > 0 && sub.role.Rank() >= least && sub.reaches(identity.Via(via), org, obj), nil
}

// reaches reports whether the way is open, whatever role it takes.
func (s subject) reaches(via identity.Via, org string, obj object) bool {
	switch via {
	case identity.ViaRole: // a named object is for grants and organizations to decide, unless an admin asks
		return !obj.named || s.role == identity.Admin
	case identity.ViaOpen:
		return obj.open
	case identity.ViaGrantRead:
		return obj.level.Covers(access.Read)
	case identity.ViaGrantUse:
		return obj.level.Covers(access.Use)
	case identity.ViaGrantManage:
		return obj.level.Covers(access.Manage)
	case identity.ViaOrg:
		_, found := slices.BinarySearch(s.orgs, org)
		return org != "" && found
	default:
		return false
	}
}
