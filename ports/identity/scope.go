package identity

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/fault"
)

// Scope limits the operations of a token. It gives no right that the role of the account does not give.
type Scope string

// The scopes. Only ScopeAdmin includes others.
const (
	ScopeRead    Scope = "read"    // operations that read
	ScopeLaunch  Scope = "launch"  // launching templates
	ScopeOperate Scope = "operate" // what the role operator adds to the role viewer, launching templates included
	ScopeAdmin   Scope = "admin"   // everything
)

// Scopes is a set of scopes. The empty set has no limit.
type Scopes []Scope

// AllScopes returns every scope, the least first.
func AllScopes() Scopes { return Scopes{ScopeRead, ScopeLaunch, ScopeOperate, ScopeAdmin} }

// AgentHeader is the header with the name of the agent for which a program sends a request, as a user agent names a
// program. With it, a token without scopes only reads. Anyone can leave it out, so it prevents mistakes and not
// attacks: scopes do that.
const AgentHeader = "Writ-Agent"

func (s Scopes) unlimited() bool { return len(s) == 0 || slices.Contains(s, ScopeAdmin) }

// Within reports whether s allows nothing that outer does not allow.
func (s Scopes) Within(outer Scopes) bool {
	if s.unlimited() || outer.unlimited() {
		return outer.unlimited()
	}
	return !slices.ContainsFunc(s, func(one Scope) bool {
		return !slices.Contains(outer, one) && (one != ScopeLaunch || !slices.Contains(outer, ScopeOperate))
	})
}

// Allow reports whether s allows an operation that has the need n. A need on one object, or on the creation of one,
// follows from an operation that was allowed.
func (s Scopes) Allow(n Need) bool {
	if s.unlimited() || n.Object != "" || n.Act == create {
		return true
	}
	return slices.ContainsFunc(s, func(one Scope) bool { return slices.Contains(ScopesFor(n), one) })
}

const create = "create" // the act on an object that does not exist yet

// ScopesFor returns the scopes that allow an operation with the need n; each of them suffices.
func ScopesFor(n Need) Scopes {
	switch (Need{Kind: n.Kind, Act: n.Act}) {
	case Need{Kind: "account", Act: "read"}, Need{Kind: "account", Act: "logout"}, Need{Kind: "token", Act: "mint"}:
		return AllScopes() // a token may show and revoke itself, and make tokens within its limits
	case Need{Kind: "audit", Act: "verify"}, Need{Kind: "audit", Act: "register"}:
		return Scopes{ScopeRead, ScopeAdmin}
	case Need{Kind: "run", Act: "approve"}:
		return Scopes{ScopeAdmin} // who operates runs does not approve them by the way
	case Need{Kind: "catalog", Act: "launch"}:
		return Scopes{ScopeLaunch, ScopeOperate, ScopeAdmin}
	}
	if n.Act == string(access.Read) {
		return Scopes{ScopeRead, ScopeAdmin}
	}
	if slices.Contains(Matrix(), Rule{ViaRole, Operator, n.Kind, n.Act}) {
		return Scopes{ScopeOperate, ScopeAdmin}
	}
	return Scopes{ScopeAdmin}
}

// RoleFor returns the role that decides about the need n. Without the scope admin, an admin's token reads as an admin
// and does everything else to objects as an operator.
func (p Principal) RoleFor(n Need) Role {
	switch {
	case p.Open:
		return Admin
	case p.User.Role == Admin && !p.Scopes.unlimited() && n.Act != string(access.Read) &&
		(n.Object != "" || n.Act == create):
		return Operator
	}
	return p.User.Role
}

// IsAdmin reports whether p may do everything.
func (p Principal) IsAdmin() bool { return p.Open || p.User.Role == Admin && p.Scopes.unlimited() }

// MaxNetworks is the largest number of networks of a token.
const MaxNetworks = 64

// ParseNetworks reads networks in CIDR form. Errors: Invalid, naming the element of networks.
func ParseNetworks(texts []string) ([]netip.Prefix, error) {
	if len(texts) > MaxNetworks {
		return nil, fault.BadField("networks", "expected at most %d networks", MaxNetworks)
	}
	var out []netip.Prefix
	for i, text := range texts {
		p, err := netip.ParsePrefix(text)
		if err != nil || p != p.Masked() || p.Addr().Is4In6() {
			return nil, fault.BadField(fmt.Sprintf("networks[%d]", i),
				"expected a network such as 10.0.0.0/8 or 2001:db8::/32, without address bits behind its length")
		}
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out, nil
}

// NetworksWithin reports whether outer has every address of inner. Empty networks have every address.
func NetworksWithin(inner, outer []netip.Prefix) bool {
	if len(inner) == 0 || len(outer) == 0 {
		return len(outer) == 0
	}
	return !slices.ContainsFunc(inner, func(p netip.Prefix) bool {
		return !slices.ContainsFunc(outer, func(o netip.Prefix) bool { return o.Bits() <= p.Bits() && o.Contains(p.Addr()) })
	})
}
