package settings

import (
	"github.com/a-h/templ"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/identity"
)

type handlers struct{ Params }

// sub is a page of the section, with the right that it needs.
type sub struct {
	Name, Path string
	Need       identity.Need
}

// subs lists the pages with a tab. Those of administrators need rights that no other role has, also where the API lets
// everybody read the names: the section is theirs.
func subs() []sub {
	need := func(kind, act string) identity.Need { return identity.Need{Kind: kind, Act: act} }
	return []sub{
		{tabAccounts, "/ui/settings", need("user", "read")},
		{tabTeams, "/ui/settings/teams", need("team", "write")},
		{tabOrgs, "/ui/settings/orgs", need("org", "write")},
		{tabAccess, "/ui/settings/access", need("grant", "read")},
		{tabTokens, "/ui/settings/tokens", need("token", "read")},
		{tabCredentials, "/ui/settings/credentials", need("catalog", "write")},
		{tabTypes, "/ui/settings/credential-types", need("credential_type", "read")},
		{tabNotifications, "/ui/settings/notifications", need("user", "read")},
		{tabDoctor, "/ui/settings/doctor", need("doctor", "read")},
		{tabLicence, "/ui/settings/licence", need("license", "read")},
		{tabWorkers, "/ui/settings/workers", need("worker_token", "read")},
		{tabProfiles, "/ui/settings/profiles", need("worker_token", "read")},
		{tabLetters, "/ui/settings/dead-letters", need("dead_letter", "read")},
	}
}

// New returns the section.
func New(p Params) shell.Section {
	h := &handlers{Params: p}
	lists := map[string]shell.Handler{
		tabAccounts: h.accounts, tabTeams: h.teams, tabOrgs: h.orgs, tabAccess: h.access, tabTokens: h.tokens,
		tabCredentials: h.credentials, tabTypes: h.types, tabNotifications: h.notifications, tabDoctor: h.doctor,
		tabLicence: h.licence, tabWorkers: h.workers, tabProfiles: h.profiles, tabLetters: h.letters,
	}
	items := map[string]shell.Handler{
		tabTeams: h.team, tabOrgs: h.org, tabCredentials: h.credential, tabTypes: h.oneType, tabLetters: h.letter,
	}
	return shell.Section{Name: "settings", Register: func(s *shell.Shell) {
		for _, x := range subs() {
			s.Get(x.Path, x.Need, lists[x.Name])
			if items[x.Name] != nil {
				s.Get(x.Path+"/{id}", x.Need, items[x.Name])
			}
		}
	}}
}

// tabsFor returns the tabs that the viewer may use.
func tabsFor(r *shell.Request) (out []shell.Tab) {
	for _, x := range subs() {
		if r.May(x.Need.Kind, x.Need.Act) {
			out = append(out, shell.Tab{Path: x.Path, Name: x.Name})
		}
	}
	return out
}

// head is what every page of the section begins with.
type head struct {
	Title, Sentence, Tab string
	Tabs                 []shell.Tab
	// New is the page of the form of a new record, and Add the words of its link; empty for none.
	New, Add string
}

// show returns a page of the section.
func show(r *shell.Request, h head, body templ.Component) (*shell.Page, error) {
	h.Tabs = tabsFor(r)
	return &shell.Page{Title: h.Title, Nav: shell.Settings, Body: frame(h, body)}, nil
}

// maxRows bounds what a page reads of a list.
const maxRows = 500
