package token

import (
	"context"
	"fmt"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
)

// Self implements identity.Self.
type Self struct {
	tokens identity.TokenStore
	teams  identity.TeamStore
	orgs   identity.OrgStore
}

var _ identity.Self = (*Self)(nil)

// NewSelf makes a Self over the stores.
func NewSelf(t identity.TokenStore, teams identity.TeamStore, orgs identity.OrgStore) *Self {
	return &Self{tokens: t, teams: teams, orgs: orgs}
}

// Me returns BadToken if ctx has no caller or its token was deleted.
func (s *Self) Me(ctx context.Context) (identity.Me, error) {
	p, known := identity.From(ctx)
	if !known {
		return identity.Me{}, refusal()
	}
	me := identity.Me{User: p.User, Open: p.Open, Permissions: permissions(p)}
	if !p.Open && p.TokenID != "" {
		t, err := s.tokens.TokenByID(ctx, p.TokenID)
		if fault.Is(err, fault.NotFound) {
			return identity.Me{}, refusal()
		}
		if err != nil {
			return identity.Me{}, fmt.Errorf("read the caller's token: %w", err)
		}
		me.Token = &t
	}
	if p.User.ID == "" {
		return me, nil
	}
	var err error
	if me.Teams, err = s.teams.TeamsOf(ctx, p.User.ID); err != nil {
		return identity.Me{}, fmt.Errorf("read the caller's teams: %w", err)
	}
	if me.Orgs, err = s.orgs.OrgsOf(ctx, p.User.ID); err != nil {
		return identity.Me{}, fmt.Errorf("read the caller's organizations: %w", err)
	}
	return me, nil
}

// permissions lists what a caller may do to every object by its global role and the scopes of its token, in the order
// of the matrix. For a role with all rights it lists the pair of two stars, and then every pair of the matrix for
// readers that do not know the stars.
func permissions(p identity.Principal) []identity.Need {
	var out []identity.Need
	seen := make(map[identity.Need]bool)
	add := func(kind, act string) {
		n := identity.Need{Kind: kind, Act: act}
		if !seen[n] && p.Scopes.Allow(n) {
			seen[n] = true
			out = append(out, n)
		}
	}
	all := false
	for _, rule := range identity.Matrix() {
		if rule.Via == identity.ViaRole && p.User.Role.Rank() >= rule.Role.Rank() {
			add(rule.Kind, rule.Act)
			all = all || rule.Kind == identity.Any && rule.Act == identity.Any
		}
	}
	if all {
		if len(p.Scopes) > 0 {
			add(identity.Any, "read") // also of kinds that the matrix does not name
		}
		for _, rule := range identity.Matrix() {
			add(rule.Kind, rule.Act)
		}
	}
	return out
}
