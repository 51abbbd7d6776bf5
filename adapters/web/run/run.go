package run

import (
	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/identity"
)

type handlers struct{ Params }

// New returns the section.
func New(p Params) shell.Section {
	h := &handlers{Params: p}
	return shell.Section{Name: "run", Register: func(s *shell.Shell) {
		read := identity.Need{Kind: "run", Act: "read"}
		s.Get("/ui/runs/{id}", read, h.run)
		s.Post("/ui/runs/{id}/explain", identity.Need{Kind: "ai", Act: "read"}, h.explain)
		s.Get("/ui/runs/{id}/diff", read, h.diff)
		s.Get("/ui/runs/{id}/compare", read, h.compare)
		s.Get("/ui/runs/{id}/evidence", read, h.evidence)
		s.Get("/ui/runs/{id}/h/{host}", read, h.host)
		s.Get("/ui/runs/{id}/cell", read, h.cell)
	}}
}
