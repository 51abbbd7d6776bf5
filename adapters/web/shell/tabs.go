package shell

import (
	"strings"

	"github.com/writ-automation/writ/ports/identity"
)

// Tab is a page of a section of the navigation, with the right that it needs. Those who lack the right do not see it.
type Tab struct {
	Path, Name string
	Need       identity.Need
}

// CredentialsPath is the page of credentials. Administrators find it below Settings, others below Launch.
const CredentialsPath = "/ui/settings/credentials"

// ExtensionsPath is the page of plugins and of what is compiled in.
const ExtensionsPath = "/ui/settings/extensions"

// AskPath is the page that asks a language model.
const AskPath = "/ui/ai"

// ImportPath is the page of imports, whose form carries a file.
const ImportPath = "/ui/settings/import"

// SectionTabs lists the pages of a section, none for a section that is one page.
func SectionTabs(section string) []Tab {
	need := func(kind, act string) identity.Need { return identity.Need{Kind: kind, Act: act} }
	switch section {
	case Launch:
		return []Tab{
			{"/ui/launch", "Templates", need("catalog", "read")}, {"/ui/schedules", "Schedules", need("catalog", "read")},
			{"/ui/triggers", "Triggers", need("catalog", "read")}, {"/ui/projects", "Projects", need("catalog", "read")},
			{CredentialsPath, "Credentials", need("catalog", "write")},
		}
	case Fleet:
		return []Tab{
			{"/ui/fleet", "Hosts", need("estate", "read")}, {"/ui/inventories", "Inventories", need("catalog", "read")},
			{"/ui/estate", "Estate", need("estate", "read")}, {"/ui/drift", "Drift", need("drift", "read")},
			{"/ui/tasks", "Tasks", need("estate", "read")}, {"/ui/queues", "Queues", need("worker", "read")},
			{"/ui/changes", "Changes", need("estate", "read")},
		}
	case Trust:
		return []Tab{
			{"/ui/trust", "State", need("audit", "verify")}, {"/ui/trust/trail", "Trail", need("audit", "read")},
			{"/ui/trust/verify", "Verify", identity.Need{}}, {"/ui/trust/policies", "Policies", need("policy", "read")},
			{"/ui/trust/windows", "Windows", need("window", "read")},
		}
	case Settings: // the section is the administrators', also where the API lets everybody read the names
		return []Tab{
			{"/ui/settings", "People", need("user", "read")}, {"/ui/settings/teams", "Teams", need("team", "write")},
			{"/ui/settings/orgs", "Organizations", need("org", "write")},
			{"/ui/settings/access", "Access", need("grant", "read")},
			{"/ui/settings/tokens", "Tokens", need("token", "read")},
			{CredentialsPath, "Credentials", need("catalog", "write")},
			{"/ui/settings/credential-types", "Types", need("credential_type", "read")},
			{"/ui/settings/notifications", "Notifications", need("user", "read")},
			{ImportPath, "Import", need("import", "write")},
			{"/ui/settings/doctor", "Doctor", need("doctor", "read")},
			{"/ui/settings/licence", "Licence", need("license", "read")},
			{"/ui/settings/workers", "Workers", need("worker_token", "read")},
			{"/ui/settings/profiles", "Profiles", need("worker_token", "read")},
			{ExtensionsPath, "Extensions", need("extension", "read")},
			{"/ui/settings/dead-letters", "Dead letters", need("dead_letter", "read")},
		}
	}
	return nil
}

// tabsFor returns the tabs of a page that the viewer may use.
func tabsFor(r *Request, p *Page) (out []Tab) {
	for _, t := range SectionTabs(p.Nav) {
		elsewhere := p.Nav == Launch && t.Path == CredentialsPath && r.Viewer.Admin()
		if !elsewhere && (t.Need.Kind == "" || r.shell != nil && r.May(t.Need.Kind, t.Need.Act)) {
			out = append(out, t)
		}
	}
	if len(out) < 2 {
		return nil
	}
	return out
}

// currentTab returns the path of the tab of a page: the one that it names, or else the one that its path is below.
func currentTab(p *Page, path string, tabs []Tab) (current string) {
	if p.Tab != "" {
		return p.Tab
	}
	for _, t := range tabs {
		if (path == t.Path || strings.HasPrefix(path, t.Path+"/")) && len(t.Path) > len(current) {
			current = t.Path
		}
	}
	return current
}

// here is the value of aria-current of a tab: page for the page itself, true for one below it.
func here(path string, t Tab) string {
	if path == t.Path {
		return "page"
	}
	return "true"
}
