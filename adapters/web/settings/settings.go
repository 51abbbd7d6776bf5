package settings

import (
	"github.com/a-h/templ"

	"github.com/writ-automation/writ/adapters/web/shell"
)

type handlers struct{ Params }

// New returns the section.
func New(p Params) shell.Section {
	h := &handlers{Params: p}
	lists := map[string]shell.Handler{
		tabAccounts: h.accounts, tabTeams: h.teams, tabOrgs: h.orgs, tabAccess: h.access, tabTokens: h.tokens,
		tabCredentials: h.credentials, tabTypes: h.types, tabNotifications: h.notifications, tabDoctor: h.doctor,
		tabLicence: h.licence, tabWorkers: h.workers, tabProfiles: h.profiles, tabLetters: h.letters,
		tabExtensions: h.extensions,
	}
	items := map[string]shell.Handler{
		tabTeams: h.team, tabOrgs: h.org, tabCredentials: h.credential, tabTypes: h.oneType, tabLetters: h.letter,
	}
	return shell.Section{Name: "settings", Register: func(s *shell.Shell) {
		for _, x := range shell.SectionTabs(shell.Settings) {
			if lists[x.Name] != nil { // imports have a section of their own
				s.Get(x.Path, x.Need, lists[x.Name])
			}
			if items[x.Name] != nil {
				s.Get(x.Path+"/{id}", x.Need, items[x.Name])
			}
		}
	}}
}

// head is what every page of the section begins with.
type head struct {
	Title, Sentence string
	// New is the page of the form of a new record, and Add the words of its link; empty for none.
	New, Add string
}

// show returns a page of the section.
func show(r *shell.Request, h head, body templ.Component) (*shell.Page, error) {
	nav := shell.Settings
	if !r.Viewer.Admin() { // the pages of others have no section of their own
		nav = shell.Launch
	}
	return &shell.Page{Title: h.Title, Nav: nav, Body: frame(h, body)}, nil
}

// maxRows bounds what a page reads of a list.
const maxRows = 500
