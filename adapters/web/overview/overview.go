package overview

import (
	"sync"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/identity"
)

type handlers struct {
	Params

	slow   *cache[slow]
	checks *cache[checks]
	// guides are read once.
	guides func() []found
}

// New returns the section.
func New(p Params) shell.Section {
	h := &handlers{Params: p, slow: newCache[slow](slowFor), checks: newCache[checks](checksFor),
		guides: sync.OnceValue(guides)}
	read := identity.Need{Kind: "run", Act: "read"}
	return shell.Section{Name: "overview", Register: func(s *shell.Shell) {
		s.Get("/ui/{$}", read, h.home)
		s.Get("/ui/overview/checks", read, h.check)
		s.Post("/ui/overview/put-off", read, h.putOff)
		s.Get("/ui/find", read, h.find)
	}}
}
