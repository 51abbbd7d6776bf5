package access

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/e2e/harness"
)

// minted is a token as the API shows it.
type minted struct {
	ID        string   `json:"id"`
	Token     string   `json:"token"`
	ExpiresAt string   `json:"expires_at"`
	Scopes    []string `json:"scopes"`
	Networks  []string `json:"networks"`
	ParentID  string   `json:"parent_id"`
}

// issueToken creates a token as the client.
func issueToken(t *testing.T, c harness.Client, body harness.Body) minted {
	t.Helper()
	body["name"] = "limited"
	var out minted
	want(t, c, http.MethodPost, "/v1/tokens", body, 201).JSON(t, &out)
	return out
}

// TestTokensAreBoundByTheirParent is T46 through the API: a token of a token has no longer life, no more scopes and no
// more networks, and ends with it.
// Keeps T46.
func TestTokensAreBoundByTheirParent(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL, Flags: []string{"--executors", "0"}})
		parent := issueToken(t, s.Client, harness.Body{"expires_in": 3600, "scopes": []string{"operate", "read"},
			"networks": []string{"127.0.0.0/8"}})
		if cmp.Diff([]string{"read", "operate"}, parent.Scopes)+cmp.Diff([]string{"127.0.0.0/8"}, parent.Networks) != "" {
			t.Errorf("the parent is %+v", parent)
		}
		c := s.As(parent.Token)
		for _, body := range []harness.Body{{}, {"expires_in": 7200}} {
			child := issueToken(t, c, body)
			if child.ExpiresAt != parent.ExpiresAt || child.ParentID != parent.ID ||
				cmp.Diff(parent.Scopes, child.Scopes)+cmp.Diff(parent.Networks, child.Networks) != "" {
				t.Errorf("%v: %+v of %+v", body, child, parent)
			}
		}
		for _, more := range []harness.Body{{"scopes": []string{"admin"}}, {"scopes": []string{"read", "admin"}},
			{"networks": []string{"0.0.0.0/0"}}, {"networks": []string{"127.0.0.0/8", "::1/128"}}} {
			more["name"] = "more"
			if a := want(t, c, http.MethodPost, "/v1/tokens", more, 403); reason(t, a) != "forbidden" {
				t.Errorf("%v: %s", more, a.Body)
			}
		}
		for _, bad := range []harness.Body{{"networks": []string{"127.0.0.1"}}, {"networks": []string{"127.0.0.1/8"}},
			{"networks": []string{"a/8"}}, {"scopes": []string{"root"}}, {"scopes": []string{}}, {"networks": []string{}},
			{"scopes": "read"}, {"networks": nil, "scopes": []any{nil}}} {
			bad["name"] = "bad"
			want(t, c, http.MethodPost, "/v1/tokens", bad, 400)
			want(t, s.As(""), http.MethodPost, "/v1/tokens", bad, 401)
		}
		child := issueToken(t, c, harness.Body{"scopes": []string{"launch"}})
		grandchild := issueToken(t, s.As(child.Token), harness.Body{})
		if cmp.Diff([]string{"launch"}, grandchild.Scopes) != "" {
			t.Errorf("the grandchild is %+v", grandchild)
		}
		ola := join(t, s, "ola", "viewer")
		want(t, c, http.MethodPost, "/v1/tokens", harness.Body{"name": "x", "user_id": ola.ID}, 403)
		if list := want(t, s.Client, http.MethodGet, "/v1/tokens", nil, 200); !strings.Contains(string(list.Body),
			`"scopes":["launch"],"networks":["127.0.0.0/8"],"parent_id":"`+child.ID) {
			t.Errorf("the list lacks the limits: %s", list.Body)
		}
		want(t, s.Client, http.MethodDelete, "/v1/tokens/"+parent.ID, nil, 204)
		for _, token := range []string{parent.Token, child.Token, grandchild.Token} {
			want(t, s.As(token), http.MethodGet, "/v1/auth/me", nil, 401)
		}
		want(t, s.As(ola.Token), http.MethodGet, "/v1/auth/me", nil, 200)
	})
}

// TestWhatScopesAllow uses the tokens of an admin: the scopes hold for objects as well as for operations.
func TestWhatScopesAllow(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL, Flags: []string{"--executors", "0"}})
		ola := join(t, s, "ola", "viewer")
		grant(t, s, "user:"+ola.ID, "queue:vault", "use")
		template := made(t, s.Client, "/v1/templates", harness.Body{"name": "deploy", "tool": "bash", "command": "true"})
		shut := made(t, s.Client, "/v1/templates", harness.Body{"name": "shut", "tool": "bash", "command": "true"})
		grant(t, s, "user:"+ola.ID, shut, "use")
		run := s.Submit(on("vault")).ID
		const read, launch, operate = 0, 1, 2
		var by []harness.Client
		for _, scope := range []string{"read", "launch", "operate", "admin"} {
			by = append(by, s.As(issueToken(t, s.Client, harness.Body{"scopes": []string{scope}}).Token))
		}
		for _, c := range []struct {
			method, path string
			body         harness.Body
			status       [4]int
		}{
			{http.MethodGet, "/v1/runs/" + run, nil, [4]int{200, 403, 403, 200}},
			{http.MethodGet, "/v1/audit", nil, [4]int{200, 403, 403, 200}},
			{http.MethodGet, "/v1/users", nil, [4]int{200, 403, 403, 200}},
			{http.MethodGet, "/v1/templates/" + shut, nil, [4]int{200, 403, 403, 200}},
			{http.MethodPost, "/v1/templates/" + template + "/launch", harness.Body{}, [4]int{403, 201, 201, 201}},
			{http.MethodPost, "/v1/templates/" + shut + "/launch", harness.Body{}, [4]int{403, 403, 403, 201}},
			{http.MethodPost, "/v1/runs", on("default"), [4]int{403, 403, 201, 201}},
			{http.MethodPost, "/v1/runs", on("vault"), [4]int{403, 403, 403, 201}},
			{http.MethodPut, "/v1/templates/" + template, harness.Body{"name": "deploy", "tool": "bash", "command": "id"},
				[4]int{403, 403, 403, 200}},
			{http.MethodPost, "/v1/projects", harness.Body{"name": "p", "repo_url": "https://example.com/p.git"},
				[4]int{403, 403, 403, 201}},
			{http.MethodPost, "/v1/runs/" + run + "/cancel", nil, [4]int{403, 403, 403, 200}},
			{http.MethodPut, "/v1/auth/me/password", harness.Body{"new": password, "current": "x"}, [4]int{403, 403, 403, 401}},
			{http.MethodPost, "/v1/users", harness.Body{"username": "eve", "role": "admin"}, [4]int{403, 403, 403, 201}},
		} {
			for i, status := range c.status {
				want(t, by[i], c.method, c.path, c.body, status)
			}
		}
		var me struct {
			Token       minted
			Permissions []string
		}
		want(t, by[operate], http.MethodGet, "/v1/auth/me", nil, 200).JSON(t, &me)
		if all := strings.Join(me.Permissions, " "); cmp.Diff([]string{"operate"}, me.Token.Scopes) != "" ||
			!strings.Contains(all, "run:submit") || strings.Contains(all, "*") || strings.Contains(all, "run:read") {
			t.Errorf("me: %+v", me)
		}
		var checked struct {
			Valid  bool
			Scopes []string
		}
		want(t, s.As(""), http.MethodPost, "/v1/auth/check", harness.Body{"token": by[launch].Token}, 200).JSON(t, &checked)
		if !checked.Valid || cmp.Diff([]string{"launch"}, checked.Scopes) != "" {
			t.Errorf("check: %+v", checked)
		}
		want(t, by[read], http.MethodPost, "/v1/auth/logout", nil, 204)
		want(t, by[read], http.MethodGet, "/v1/auth/me", nil, 401)
		viewer := s.As(mint(t, s, ola.ID, harness.Body{"scopes": []string{"admin"}}))
		want(t, viewer, http.MethodPost, "/v1/runs", on("default"), 403) // a scope gives no right
		want(t, viewer, http.MethodGet, "/v1/users", nil, 403)
	})
}

// TestNetworksOfTokens uses a token from addresses inside and outside of its networks. Only a trusted proxy names the
// client's address.
func TestNetworksOfTokens(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{Flags: []string{"--trusted-proxies", "127.0.0.1", "--executors", "0"}})
	run := s.Submit(on("default")).ID
	body := harness.Body{"networks": []string{"198.51.100.0/24", "2001:db8::/32"}}
	c := s.As(issueToken(t, s.Client, body).Token)
	from := func(address string) []string { return []string{"X-Forwarded-For", address} }
	for address, status := range map[string]int{
		"198.51.100.7": 200, "2001:db8::1": 200, "198.51.101.7": 401, "2001:db9::1": 401, "127.0.0.1": 401, "": 401,
		"198.51.100.7, 203.0.113.1": 401, "203.0.113.1, 198.51.100.7": 200, "::ffff:198.51.100.7": 200, "nonsense": 401,
	} {
		a := want(t, c, http.MethodGet, "/v1/auth/me", nil, status, from(address)...)
		if status == 401 && (reason(t, a) != "bad_token" || a.Header.Get("WWW-Authenticate") != "Bearer") {
			t.Errorf("from %q: %s", address, a.Body)
		}
		var checked struct{ Valid bool }
		want(t, s.As(""), http.MethodPost, "/v1/auth/check", harness.Body{"token": c.Token}, 200, from(address)...).
			JSON(t, &checked)
		if checked.Valid != (status == 200) {
			t.Errorf("check from %q: %v", address, checked.Valid)
		}
	}
	var ticket struct{ Ticket string }
	want(t, c, http.MethodPost, "/v1/runs/"+run+"/stream-ticket", nil, 200, from("198.51.100.7")...).JSON(t, &ticket)
	want(t, s.As(""), http.MethodGet, "/v1/runs/"+run+"/stream?ticket="+ticket.Ticket, nil, 401, from("203.0.113.1")...)
	if !strings.Contains(s.Output(), "not valid from this address") {
		t.Error("the log does not say why the token is refused")
	}
	direct := harness.Start(t, harness.Options{Flags: []string{"--executors", "0"}})
	c = direct.As(issueToken(t, direct.Client, body).Token)
	want(t, c, http.MethodGet, "/v1/auth/me", nil, 401, from("198.51.100.7")...) // the peer is not trusted
}

// TestTokenFlags creates limited tokens on the command line.
func TestTokenFlags(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	out, code := writ(t, "", "token", "new", "--name", "ci", "--scope", "launch,read", "--network", "127.0.0.0/8",
		"--network", "::1/128", "--db", s.DB)
	if code != 0 {
		t.Fatalf("token new: %d %s", code, out)
	}
	c := s.As(regexp.MustCompile(`writ_\w{32}_\w{6}`).FindString(out))
	want(t, c, http.MethodGet, "/v1/runs", nil, 200)
	want(t, c, http.MethodPost, "/v1/runs", on("default"), 403)
	for _, arg := range [][]string{{"--json"}, {}} {
		out, code = writ(t, "", append([]string{"token", "list", "--db", s.DB}, arg...)...)
		for _, word := range []string{"read", "launch", "127.0.0.0/8", "::1/128"} {
			if code != 0 || !strings.Contains(out, word) {
				t.Errorf("token list %v: %d %s", arg, code, out)
			}
		}
	}
	for _, bad := range [][]string{{"--scope", "root"}, {"--network", "127.0.0.1"}} {
		if out, code := writ(t, "", append([]string{"token", "new", "--db", s.DB}, bad...)...); code != 1 ||
			!strings.HasPrefix(out, "writ: ") {
			t.Errorf("token new %v: %d %s", bad, code, out)
		}
	}
}
