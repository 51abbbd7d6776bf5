package casbin

import "github.com/writ-automation/writ/ports/identity"

// model: p.via says through what a row applies. "global" rows apply through the account's own role, which includes
// those below it.
const model = `
[request_definition]
r = sub, kind, act

[policy_definition]
p = via, role, kind, act

[policy_effect]
e = some(where (p.eft == allow))

[matchers]
m = (p.act == "*" || r.act == p.act) && (p.kind == "*" || r.kind == p.kind) && has(p.via, r.sub, p.role)
`

// global is the way of rows that apply through the account's own role.
const global = "global"

// row allows everybody with at least a role to do an act to objects of a kind.
type row struct {
	role      identity.Role
	kind, act string
}

// matrix lists what each role adds to the ones below it. The admin comes first: the first row that fits ends the search.
func matrix() []row {
	return []row{
		{identity.Admin, "*", "*"},
		{identity.Viewer, "run", "read"},
		{identity.Viewer, "token", "mint"}, // for the own account; another one's takes an admin, which minting checks
		{identity.Viewer, "system", "read"},
		{identity.Operator, "run", "submit"},
		{identity.Operator, "run", "control"},
		{identity.Operator, "pipeline", "submit"},
	}
}

// rank orders the roles: each includes the ones below. Anything else ranks below every role.
func rank(r identity.Role) int {
	switch r {
	case identity.Viewer:
		return 1
	case identity.Operator:
		return 2
	case identity.Admin:
		return 3
	default:
		return 0
	}
}
