package runs

import (
	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/identity"
)

type handlers struct{ Params }

// New returns the section.
func New(p Params) shell.Section {
	h := &handlers{Params: p}
	read := identity.Need{Kind: "run", Act: "read"}
	return shell.Section{Name: "runs", Register: func(s *shell.Shell) {
		s.Get("/ui/runs", read, h.list)
		s.Get("/ui/runs/rows", read, h.rows)
		s.Get("/ui/runs/children", read, h.children)
		s.Get("/ui/runs/fresh", read, h.fresh)
		s.Get("/ui/runs/complete", read, h.complete)
		s.Get("/ui/runs/export", read, h.export)
		s.Post("/ui/runs/views", read, h.saveView)
		s.Post("/ui/runs/columns", read, h.saveColumns)
		s.Post("/ui/runs/cancel", identity.Need{Kind: "run", Act: "control"}, h.cancel)
	}}
}
