package token

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/identity"
)

func TestPermissions(t *testing.T) {
	t.Parallel()
	for _, role := range []identity.Role{identity.Viewer, identity.Operator} {
		var want []identity.Need
		for _, r := range identity.Matrix() {
			if r.Via == identity.ViaRole && r.Role != identity.Admin &&
				(r.Role == identity.Viewer || role == identity.Operator) {
				want = append(want, identity.Need{Kind: r.Kind, Act: r.Act})
			}
		}
		if diff := cmp.Diff(want, permissions(role)); diff != "" {
			t.Errorf("%s: %s", role, diff)
		}
	}
	submit := identity.Need{Kind: "run", Act: "submit"}
	if slices.Contains(permissions(identity.Viewer), submit) ||
		!slices.Contains(permissions(identity.Operator), submit) {
		t.Error("who submits runs is no operator")
	}
	if list := permissions("root"); len(list) != 0 {
		t.Errorf("no role: %v", list)
	}
	seen := make(map[identity.Need]int)
	admin := permissions(identity.Admin)
	for _, n := range admin {
		seen[n]++
	}
	if admin[0] != (identity.Need{Kind: "*", Act: "*"}) {
		t.Errorf("admin begins with %v", admin[0])
	}
	for _, r := range identity.Matrix() {
		if n := (identity.Need{Kind: r.Kind, Act: r.Act}); seen[n] != 1 {
			t.Errorf("admin has %v %d times", n, seen[n])
		}
	}
}
