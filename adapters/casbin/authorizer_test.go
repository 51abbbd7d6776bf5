package casbin_test

import (
	"sync"
	"testing"

	"github.com/writ-automation/writ/adapters/casbin"
	"github.com/writ-automation/writ/ports/identity"
)

func setup(t testing.TB) *casbin.Authorizer {
	t.Helper()
	a, err := casbin.New()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func as(role identity.Role) identity.Principal {
	return identity.Principal{User: identity.User{ID: "usr_1", Username: "x", Role: role}}
}

// TestMatrix asks every question of the whole table for every role.
func TestMatrix(t *testing.T) {
	t.Parallel()
	a := setup(t)
	const none = identity.Role("")
	least := map[identity.Need]identity.Role{
		{Kind: "run", Act: "read"}: identity.Viewer, {Kind: "run", Act: "submit"}: identity.Operator,
		{Kind: "run", Act: "control"}: identity.Operator, {Kind: "run", Act: "approve"}: identity.Admin,
		{Kind: "run", Act: "delete"}: identity.Admin, {Kind: "pipeline", Act: "read"}: identity.Admin,
		{Kind: "pipeline", Act: "submit"}: identity.Operator, {Kind: "pipeline", Act: "control"}: identity.Admin,
		{Kind: "pipeline", Act: "approve"}: identity.Admin, {Kind: "token", Act: "mint"}: identity.Viewer,
		{Kind: "token", Act: "read"}: identity.Admin, {Kind: "token", Act: "list"}: identity.Admin,
		{Kind: "token", Act: "revoke"}: identity.Admin, {Kind: "account", Act: "self"}: identity.Admin,
		{Kind: "system", Act: "read"}: identity.Viewer, {Kind: "system", Act: "diagnose"}: identity.Admin,
		{Kind: "user", Act: "read"}: identity.Admin, {Kind: "", Act: ""}: identity.Admin, {Kind: "run", Act: "*"}: identity.Admin,
		{Kind: "*", Act: "read"}: identity.Admin,
	}
	order := []identity.Role{none, "root", "Admin", identity.Viewer, identity.Operator, identity.Admin}
	rank := map[identity.Role]int{identity.Viewer: 1, identity.Operator: 2, identity.Admin: 3}
	for need, role := range least {
		for _, r := range order {
			err := a.Authorize(t.Context(), as(r), need)
			if want := rank[r] >= rank[role]; want != (err == nil) {
				t.Errorf("%q asks %+v: %v", r, need, err)
			}
			if err != nil && !identity.NotAllowed.Is(err) {
				t.Errorf("%q asks %+v: the refusal is %v", r, need, err)
			}
		}
	}
	if err := a.Authorize(t.Context(), identity.Principal{}, identity.Need{Kind: "run", Act: "read"}); !identity.NotAllowed.Is(err) {
		t.Errorf("nobody: %v", err)
	}
}

func TestConcurrent(t *testing.T) {
	t.Parallel()
	a := setup(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				if a.Authorize(t.Context(), as(identity.Viewer), identity.Need{Kind: "run", Act: "read"}) != nil ||
					a.Authorize(t.Context(), as(identity.Viewer), identity.Need{Kind: "run", Act: "submit"}) == nil {
					t.Error("a wrong decision")
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkAuthorize(b *testing.B) {
	a := setup(b)
	for name, n := range map[string]identity.Need{"first": {Kind: "run", Act: "read"}, "last": {Kind: "run", Act: "approve"}, "denied": {Kind: "x", Act: "y"}} {
		b.Run(name, func(b *testing.B) {
			role := identity.Admin
			if name == "denied" {
				role = identity.Viewer
			}
			for b.Loop() {
				_ = a.Authorize(b.Context(), as(role), n)
			}
		})
	}
}
