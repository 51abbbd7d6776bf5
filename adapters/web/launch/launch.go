package launch

import (
	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/identity"
)

type handlers struct{ Params }

// New returns the section.
func New(p Params) shell.Section {
	h := &handlers{Params: p}
	return shell.Section{Name: "launch", Register: func(s *shell.Shell) {
		read, launch := identity.Need{Kind: "catalog", Act: "read"}, identity.Need{Kind: "catalog", Act: "launch"}
		submit := identity.Need{Kind: "run", Act: "submit"}
		s.Get("/ui/launch", read, h.list)
		s.Post("/ui/launch/{tpl}/pin", read, h.pin)
		s.Get("/ui/launch/adhoc", submit, h.adhoc)
		s.Post("/ui/launch/adhoc", submit, h.submit)
		s.Post("/ui/launch/adhoc/hosts", submit, h.adhocHosts)
		s.Post("/ui/launch/adhoc/draft", identity.Need{Kind: "ai", Act: "draft"}, h.draft)
		s.Get("/ui/launch/{tpl}", read, h.template)
		s.Post("/ui/launch/{tpl}", launch, h.launch)
		s.Post("/ui/launch/{tpl}/hosts", launch, h.templateHosts)
	}}
}
