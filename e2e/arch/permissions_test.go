package arch

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/identity"
)

// TestPermissionPage writes docs/reference/permissions.md from the matrix that is enforced and the operations of the
// API document, whose golden file the HTTP adapter's own test keeps current.
func TestPermissionPage(t *testing.T) {
	t.Parallel()
	section(t, "docs/reference/permissions.md", "operations", operationTable(t))
	section(t, "docs/reference/permissions.md", "rights", rightTable())
}

var ladder = []identity.Role{identity.Viewer, identity.Operator, identity.Admin}

// least returns the least role whose global rules allow act on kind, empty for none.
func least(kind, act string) identity.Role {
	for _, role := range ladder {
		for _, r := range identity.Matrix() {
			if r.Via == identity.ViaRole && r.Role.Rank() <= role.Rank() && (r.Kind == kind || r.Kind == identity.Any) &&
				(r.Act == act || r.Act == identity.Any) {
				return role
			}
		}
	}
	return ""
}

func operationTable(t *testing.T) string {
	t.Helper()
	var doc struct {
		Paths map[string]map[string]struct {
			ID      string `json:"operationId"`
			Summary string `json:"summary"`
			Access  string `json:"x-access"`
			License string `json:"x-license"`
		} `json:"paths"`
	}
	if err := json.Unmarshal([]byte(tree(t).text(t, "e2e/golden/openapi.json")), &doc); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("| Operation | | Asks for | viewer | operator | admin | scopes | licence |\n" +
		"|---|---|---|---|---|---|---|---|\n")
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(doc.Paths[path])) {
			op := doc.Paths[path][method]
			marks, scopes := make([]string, len(ladder)), ""
			switch op.Access {
			case "public":
				marks = []string{"everybody", "", ""}
			case "worker": // by the worker token, which is no account's
			default:
				kind, act, ok := strings.Cut(op.Access, ":")
				from := least(kind, act)
				if !ok || from == "" {
					t.Errorf("%s: nobody may call it: %q", op.ID, op.Access)
				}
				for i, role := range ladder {
					if role.Rank() >= from.Rank() {
						marks[i] = "yes"
					}
				}
				scopes = strings.Trim(fmt.Sprint(identity.ScopesFor(identity.Need{Kind: kind, Act: act})), "[]")
			}
			fmt.Fprintf(&b, "| `%s %s` | %s | %s | %s | %s | %s |\n", strings.ToUpper(method), path, op.Summary,
				asked(op.Access), strings.Join(marks, " | "), scopes, op.License)
		}
	}
	return b.String()
}

// asked returns the right that an operation requires.
func asked(access string) string {
	if access == "worker" {
		return "the worker token"
	}
	return access
}

// rightTable returns the rights on objects from each source, by the global role of the account.
func rightTable() string {
	var b strings.Builder
	b.WriteString("| By | On | viewer | operator |\n|---|---|---|---|\n")
	for _, way := range ways() {
		kinds := map[string]bool{}
		acts := map[identity.Role][]string{}
		for _, r := range identity.Matrix() {
			if r.Via != way.via || way.level != access.None && !way.level.Covers(access.Level(r.Act)) {
				continue
			}
			kinds[r.Kind] = true
			for _, role := range ladder[:2] {
				if role.Rank() >= r.Role.Rank() && !slices.Contains(acts[role], r.Act) {
					acts[role] = append(acts[role], r.Act)
				}
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", strings.TrimSpace(string(way.via)+" "+string(way.level)),
			strings.Join(slices.Sorted(maps.Keys(kinds)), ", "),
			strings.Join(acts[identity.Viewer], ", "), strings.Join(acts[identity.Operator], ", "))
	}
	return b.String()
}

// way is the source of a right of an account on an object: for a grant, its level.
type way struct {
	via   identity.Via
	level access.Level
}

func ways() []way {
	return []way{
		{via: identity.ViaOpen}, {identity.ViaGrant, access.Read}, {identity.ViaGrant, access.Use},
		{identity.ViaGrant, access.Manage},
		{via: identity.ViaOrg},
	}
}
