package auth

import (
	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/identity"
)

type handlers struct{ Params }

// New returns the section.
func New(p Params) shell.Section {
	h := &handlers{Params: p}
	return shell.Section{Name: "auth", Register: func(s *shell.Shell) {
		own := identity.Need{Kind: "account", Act: "read"}
		s.Get("/ui/login", identity.Need{}, h.login)
		s.Post("/ui/login", identity.Need{}, h.signIn)
		s.Post("/ui/login/token", identity.Need{}, h.signInByToken)
		s.Post("/ui/logout", identity.Need{}, h.signOut)
		s.Get("/ui/account", own, h.account)
		s.Post("/ui/account/appearance", own, h.appearance)
		s.Post("/ui/account/tokens", identity.Need{Kind: "token", Act: "mint"}, h.mint)
		s.Get("/ui/welcome", own, h.welcome)
		s.Post("/ui/welcome/hosts", identity.Need{Kind: "run", Act: "submit"}, h.reach)
		s.Post("/ui/welcome/hide", own, h.hide)
	}}
}
