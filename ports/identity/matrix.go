package identity

// Via says through what a rule gives a right.
type Via string

// The ways to a right.
const (
	// ViaRole: the account's global role alone.
	ViaRole Via = "role"
	// ViaOpen: the global role, on an object that is not restricted.
	ViaOpen Via = "unrestricted"
	// ViaGrant: a grant to the account or a team of it, of a level that covers the rule's act.
	ViaGrant Via = "grant"
	// ViaOrg: the role admin in the object's organization.
	ViaOrg Via = "organization admin"
)

// Any stands for every kind or every act.
const Any = "*"

// Rule gives everybody with at least Role, by the way Via, the right to do Act to objects of Kind.
type Rule struct {
	Via       Via
	Role      Role
	Kind, Act string
}

// Matrix is the whole of who may do what; what no rule gives is denied. It is data: the same on every server, enforced
// by the Authorizer, printed as the permission matrix of the documentation.
func Matrix() []Rule {
	rules := []Rule{
		{ViaRole, Admin, Any, Any},
		{ViaRole, Viewer, "run", "read"},
		{ViaRole, Viewer, "account", "self"}, // who am I, log out, the own password
		{ViaRole, Viewer, "token", "mint"},   // for the own account; another one's takes an admin, which minting checks
		{ViaRole, Viewer, "team", "read"},
		{ViaRole, Viewer, "org", "read"},
		{ViaRole, Viewer, "system", "read"},
		{ViaRole, Viewer, "worker", "read"},
		{ViaRole, Viewer, "audit", "verify"},   // and the bundle; private values are shown to who may read the trail
		{ViaRole, Viewer, "catalog", "read"},   // what of it is decided for each object
		{ViaRole, Viewer, "catalog", "launch"}, // a template that the account may use
		{ViaRole, Operator, "catalog", "write"},
		{ViaRole, Operator, "run", "submit"},
		{ViaRole, Operator, "run", "control"},
		{ViaRole, Operator, "pipeline", "submit"},
	}
	for _, kind := range []string{"inventory_source", "schedule", "trigger"} { // they carry no grants
		rules = append(rules, Rule{ViaOrg, Operator, kind, "create"})
	}
	for _, kind := range []string{KindProject, KindTemplate, KindInventory, KindCredential, KindQueue} {
		rules = append(rules,
			Rule{ViaOpen, Viewer, kind, "read"}, Rule{ViaOpen, Operator, kind, "use"},
			Rule{ViaGrant, Viewer, kind, "read"}, Rule{ViaGrant, Viewer, kind, "use"}, Rule{ViaGrant, Operator, kind, "manage"},
		)
		if kind != KindQueue { // queues belong to no organization
			rules = append(rules, Rule{ViaOrg, Viewer, kind, "read"}, Rule{ViaOrg, Viewer, kind, "use"},
				Rule{ViaOrg, Operator, kind, "manage"}, Rule{ViaOrg, Operator, kind, "create"})
		}
	}
	return rules
}
