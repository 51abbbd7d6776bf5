package auth

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/identity"
)

var now = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

// hostile has what must never reach a page as markup.
const hostile = "<script>x</script>\"><img src=x onerror=y>\u202e'`"

var forbidden = regexp.MustCompile(`(?i)<script>x|<img src=x|\sstyle=|\son[a-z]+="|\son[a-z]+='`)

func render(t *testing.T, role identity.Role, c templ.Component) string {
	t.Helper()
	var b bytes.Buffer
	viewer := shell.Viewer{ID: "u", Name: hostile, Role: role}
	if err := c.Render(shell.WithViewer(context.Background(), viewer, now), &b); err != nil {
		t.Fatal(err)
	}
	html := b.String()
	if bad := forbidden.FindString(html); bad != "" {
		t.Errorf("the page has %q", bad)
	}
	return html
}

func TestSignInPage(t *testing.T) {
	t.Parallel()
	html := render(t, "", signInPage(signInView{page: "/ui/login?next=" + hostile, next: "/ui/" + hostile, oidc: true,
		saml: true}))
	for _, text := range []string{`href="/auth/oidc/login"`, `href="/auth/saml/login"`, nextText, "writ token reset-admin",
		`autocomplete="current-password"`} {
		if !strings.Contains(html, text) {
			t.Errorf("no %q", text)
		}
	}
	html = render(t, "", signInPage(signInView{page: "/ui/login", next: start, insecure: true}))
	if strings.Contains(html, "/auth/") || strings.Contains(html, nextText) || strings.Count(html, "disabled") != 2 {
		t.Error("a page without providers has one, or signs in over a connection that may hold no session")
	}
}

func TestAccountPage(t *testing.T) {
	t.Parallel()
	me := identity.Me{User: identity.User{ID: "u", Username: hostile, Role: identity.Viewer},
		Token: &identity.Token{ID: "t1", CreatedAt: now, ExpiresAt: now.Add(time.Hour)},
		Teams: []identity.Team{{Name: hostile}},
		Orgs:  []identity.Membership{{Org: identity.Org{Name: hostile}, Role: identity.OrgAdmin}}}
	html := render(t, identity.Viewer, accountPage(accountView{me: me}))
	if !strings.Contains(html, tokensElsewhere) || strings.Contains(html, "revoke-token") {
		t.Error("a viewer has the list of tokens")
	}
	html = render(t, identity.Admin, accountPage(accountView{me: me, listed: true,
		tokens: []identity.Token{{ID: "t1", Name: "own"}, {ID: "t2", Name: hostile, LastUsedAt: now}}}))
	if strings.Count(html, "revoke-token") != 2 { // the action and the name of one form
		t.Error("the token of the session can be deleted, or the other cannot")
	}
	me.Open, me.Token = true, nil
	html = render(t, identity.Admin, accountPage(accountView{me: me}))
	if strings.Contains(html, "/ui/logout") || strings.Contains(html, "change-password") {
		t.Error("an open install offers to sign out or a password")
	}
	if !strings.Contains(render(t, identity.Admin, secretPage(hostile, "writ_x")), "writ_x") {
		t.Error("the page of a new token lacks it")
	}
}

func TestWelcomePage(t *testing.T) {
	t.Parallel()
	html := render(t, identity.Admin, welcomePage(welcomeView{ran: true, reached: true, brought: true}))
	if !strings.Contains(html, welcomeDone) || strings.Contains(html, "<li") {
		t.Error("lines stay when all are done")
	}
	html = render(t, identity.Admin, welcomePage(welcomeView{ran: true, hideable: true}))
	for _, text := range []string{"1 of 3 are done.", runTicked, hideText, "writ apply"} {
		if !strings.Contains(html, text) {
			t.Errorf("no %q", text)
		}
	}
}
