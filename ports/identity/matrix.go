package identity

// Via is the way by which a rule gives a right.
type Via string

// The ways to a right.
const (
	// ViaRole is the account's global role alone.
	ViaRole Via = "role"
	// ViaOpen is the global role, for an object that is not restricted.
	ViaOpen Via = "unrestricted"
	// ViaGrant is a grant to the account or one of its teams, of a level that covers the rule's act.
	ViaGrant Via = "grant"
	// ViaOrg is the role admin in the object's organization.
	ViaOrg Via = "organization admin"
)

// Any matches every kind or every act.
const Any = "*"

// Rule gives every account with at least Role, by the way Via, the right to do Act to objects of Kind.
type Rule struct {
	Via       Via
	Role      Role
	Kind, Act string
}

// Matrix lists all permissions; everything without a rule is denied. The Authorizer enforces it, and the documentation
// prints it as the permission matrix.
func Matrix() []Rule {
	rules := []Rule{
		{ViaRole, Admin, Any, Any},
		{ViaRole, Viewer, "run", "read"},
		{ViaRole, Viewer, "run", "approve"},  // admins, or the members of the teams that a policy names
		{ViaRole, Viewer, "account", "read"}, // the own one
		{ViaRole, Viewer, "account", "logout"},
		{ViaRole, Viewer, "account", "password"},
		{ViaRole, Viewer, "account", "preferences"},
		{ViaRole, Viewer, "token", "mint"}, // for the own account; Mint checks that others need an admin
		{ViaRole, Viewer, "team", "read"},
		{ViaRole, Viewer, "team", "preferences"}, // of a team that has the account as a member
		{ViaRole, Viewer, "org", "read"},
		{ViaRole, Viewer, "system", "read"},
		{ViaRole, Viewer, "worker", "read"},
		{ViaRole, Viewer, "audit", "verify"}, // also the bundle; private values need the right to read the trail
		{ViaRole, Viewer, "policy", "read"},
		{ViaRole, Viewer, "window", "read"},
		{ViaRole, Viewer, "estate", "read"}, // what comes of runs that the account may read
		{ViaRole, Viewer, "drift", "read"},
		{ViaRole, Viewer, "catalog", "read"},   // each object is decided by itself
		{ViaRole, Viewer, "catalog", "launch"}, // of a template that the account may use
		{ViaRole, Viewer, "ai", "read"},        // advice about what the account may read
		{ViaRole, Operator, "ai", "draft"},
		{ViaRole, Operator, "ai", "propose"}, // of a run that is held
		{ViaRole, Operator, "drift", "reconcile"},
		{ViaRole, Operator, "drift", "write"}, // rules that ignore drift
		{ViaRole, Operator, "catalog", "write"},
		{ViaRole, Operator, "run", "submit"},
		{ViaRole, Operator, "run", "control"},
		{ViaRole, Operator, "pipeline", "submit"},
	}
	for _, kind := range []string{"inventory_source", "schedule", "trigger"} { // these kinds carry no grants
		rules = append(rules, Rule{ViaOrg, Operator, kind, "create"})
	}
	for _, kind := range []string{KindProject, KindTemplate, KindInventory, KindCredential, KindQueue} {
		rules = append(rules,
			Rule{ViaOpen, Viewer, kind, "read"}, Rule{ViaOpen, Operator, kind, "use"},
			Rule{ViaGrant, Viewer, kind, "read"}, Rule{ViaGrant, Viewer, kind, "use"}, Rule{ViaGrant, Operator, kind, "manage"},
		)
		if kind != KindQueue { // queues are in no organization
			rules = append(rules, Rule{ViaOrg, Viewer, kind, "read"}, Rule{ViaOrg, Viewer, kind, "use"},
				Rule{ViaOrg, Operator, kind, "manage"}, Rule{ViaOrg, Operator, kind, "create"})
		}
	}
	return rules
}
