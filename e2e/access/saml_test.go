package access

import (
	"encoding/xml"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/beevik/etree"
	"github.com/crewjam/saml"

	"github.com/writ-automation/writ/e2e/harness"
)

// TestSAMLBrowser signs in with a browser on both engines: to the provider, through its form, back with the posted
// form, and then with a cookie.
func TestSAMLBrowser(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		f := federate(t, newIDP(t, persistentNames{}), harness.Options{DB: dbURL})
		f.setUser(t, "ada", "strangers", "engineers")
		b := f.browser(t, "ada")
		a := b.post(b.answer(), asPage)
		held := cookies(a)
		if a.Status != 303 || a.Header.Get("Location") != "/ui/" || len(held) != 1 ||
			strings.Contains(string(a.Body), "writ_") {
			t.Fatalf("the way ends with %d %v %s", a.Status, a.Header, a.Body)
		}
		c := held[0]
		f.secrets(c.Value)
		if c.Name != "writ_session" || !strings.HasPrefix(c.Value, "writ_") || !c.HttpOnly ||
			c.SameSite != http.SameSiteLaxMode ||
			c.Secure || c.Path != "/" || c.Domain != "" || c.Expires.IsZero() {
			t.Errorf("the session's cookie on loopback without TLS: %s", a.Header.Get("Set-Cookie"))
		}
		var me struct {
			User  struct{ ID, Username, Role string }
			Role  string
			Open  bool
			Token struct{ Kind string }
		}
		want(t, b.Client, http.MethodGet, "/v1/auth/me", nil, 200).JSON(t, &me)
		if me.User.Username != "ada" || me.User.Role != "operator" || me.Role != "operator" || me.Open ||
			me.Token.Kind != "session" {
			t.Errorf("%+v", me)
		}
		var linked struct {
			HasPassword bool `json:"has_password"`
			Identities  []struct{ Protocol, Issuer, Subject string }
		}
		want(t, f.Client, http.MethodGet, "/v1/users/"+me.User.ID, nil, 200).JSON(t, &linked)
		if linked.HasPassword || len(linked.Identities) != 1 || linked.Identities[0].Protocol != "saml" ||
			linked.Identities[0].Issuer != f.idp.URL+"/metadata" || linked.Identities[0].Subject != subject("ada") {
			t.Errorf("%+v", linked)
		}
		for _, from := range [][]string{
			{"Origin", f.idp.URL}, {"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site", "Origin", f.idp.URL},
			{"Origin", "null"}, nil,
		} {
			for _, path := range []string{"/v1/runs", "/v1/auth/logout"} {
				if a := want(t, b.Client, http.MethodPost, path, on("x"), 403, from...); reason(t, a) != "cross_origin" {
					t.Errorf("a write to %s from %v: %s", path, from, a.Body)
				}
			}
		}
		if _, n := f.Runs(""); n != 0 {
			t.Errorf("%d runs were made from elsewhere", n)
		}
		want(t, b.Client, http.MethodPost, "/v1/runs", on("x"), 201, "Origin", samlSite)
		want(t, b.Client, http.MethodPost, "/v1/runs", on("x"), 201, "Sec-Fetch-Site", "same-origin", "Origin", samlSite)
		if a := want(t, b.Client, http.MethodGet, "/v1/users", nil, 403); reason(t, a) != "forbidden" {
			t.Errorf("an operator lists accounts: %s", a.Body)
		}
		out := want(t, b.Client, http.MethodPost, "/v1/auth/logout", nil, 204, "Sec-Fetch-Site", "same-origin")
		if gone := cookies(out); len(gone) != 1 || gone[0].Name != c.Name || gone[0].MaxAge >= 0 {
			t.Errorf("signing out leaves the cookie: %v", out.Header)
		}
		want(t, b.Client, http.MethodGet, "/v1/auth/me", nil, 401)
		want(t, f.As(""), http.MethodGet, "/v1/auth/me", nil, 401, "Cookie", c.Name+"="+c.Value)
		want(t, f.As(c.Value), http.MethodGet, "/v1/auth/me", nil, 401)
	})
}

// TestSAMLProgram requests JSON and gets a token that works like any other. A returning user is found by the subject
// and gets the role of the current groups.
func TestSAMLProgram(t *testing.T) {
	t.Parallel()
	f := federate(t, newIDP(t, persistentNames{}), harness.Options{})
	f.setUser(t, "ada", "engineers")
	first := f.browser(t, "ada").program()
	if first.User.ID == "" || first.User.Username != "ada" || first.User.Role != "operator" || first.ExpiresAt == "" {
		t.Fatalf("%+v", first)
	}
	want(t, f.As(first.Token), http.MethodPost, "/v1/runs", on("x"), 201)
	want(t, f.As(first.Token), http.MethodGet, "/v1/users", nil, 403)

	same := f.browser(t, "ada").program()
	if same.User != first.User || same.Token == first.Token {
		t.Errorf("%+v, before %+v", same.User, first.User)
	}
	want(t, f.As(first.Token), http.MethodGet, "/v1/auth/me", nil, 200)

	f.setUser(t, "ada", "engineers", "chiefs")
	raised := f.browser(t, "ada").program()
	if raised.User.ID != first.User.ID || raised.User.Role != "admin" {
		t.Errorf("%+v, before %+v", raised.User, first.User)
	}
	want(t, f.As(raised.Token), http.MethodGet, "/v1/users", nil, 200)
	want(t, f.As(first.Token), http.MethodGet, "/v1/auth/me", nil, 401)

	f.setUser(t, "ada", "engineers")
	lowered := f.browser(t, "ada").program()
	if lowered.User != first.User {
		t.Errorf("%+v, before %+v", lowered.User, first.User)
	}
	want(t, f.As(lowered.Token), http.MethodGet, "/v1/users", nil, 403)
	want(t, f.As(raised.Token), http.MethodGet, "/v1/users", nil, 401)

	// The same subject with another name is the same account.
	want(t, f.idp, http.MethodPut, "/users/ada-renamed",
		harness.Body{"password": password, "email": subject("ada"), "groups": []string{"engineers"}}, 204)
	if renamed := f.browser(t, "ada-renamed").program(); renamed.User.ID != first.User.ID {
		t.Errorf("%+v, before %+v", renamed.User, first.User)
	}
	if n := strings.Count(f.accounts(t), `"username"`); n != 2 {
		t.Errorf("%d accounts, the first admin's and ada's are expected", n)
	}
}

// TestSAMLNoRole refuses users without a mapped group: no account is created, and an existing one gets no session.
func TestSAMLNoRole(t *testing.T) {
	t.Parallel()
	f := federate(t, newIDP(t, persistentNames{}), harness.Options{})
	f.setUser(t, "ada", "engineers")
	f.browser(t, "ada").program()
	before := f.accounts(t)
	f.setUser(t, "eve", "strangers", "Engineers", "engineers,chiefs")
	f.setUser(t, "none")
	f.setUser(t, "ada", "strangers")
	for _, name := range []string{"eve", "none", "ada"} {
		for _, accept := range []string{asJSON, asPage} {
			b := f.browser(t, name)
			f.refused(t, name, b.post(b.answer(), accept), 403, "no_role", "")
			want(t, b.Client, http.MethodGet, "/v1/auth/me", nil, 401)
		}
	}
	if now := f.accounts(t); now != before {
		t.Errorf("the accounts are %s, before %s", now, before)
	}
}

// TestSAMLNames keeps an account apart from a provider's user with the same name until an operator links the two.
func TestSAMLNames(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		f := federate(t, newIDP(t, persistentNames{}), harness.Options{DB: dbURL})
		id := made(t, f.Client, "/v1/users",
			harness.Body{"username": "ada", "role": "viewer", "password": password, "email": subject("ada")})
		before := f.accounts(t)
		f.setUser(t, "ada", "engineers")
		f.setUser(t, "admin", "chiefs")
		for _, name := range []string{"ada", "admin"} {
			b := f.browser(t, name)
			f.refused(t, name, b.post(b.answer(), asJSON), 409, "name_taken", "")
			f.refused(t, name, b.post(b.answer(), asPage), 409, "name_taken", "")
		}
		if now := f.accounts(t); now != before || strings.Count(now, `"identities":[]`) != 2 {
			t.Errorf("the accounts are %s, before %s", now, before)
		}
		issuer := f.idp.URL + "/metadata"
		if out, code := writ(t, "", "user", "set", "ada", "--protocol", "saml", "--issuer", issuer, "--subject",
			subject("ada"), "--db", f.DB); code != 0 {
			t.Fatalf("user set: %d %s", code, out)
		}
		joined := f.browser(t, "ada").program()
		if joined.User.ID != id || joined.User.Username != "ada" || joined.User.Role != "operator" {
			t.Errorf("%+v, the account is %s", joined.User, id)
		}
		if own, a := login(t, f.Client, "ada", password); a.Status != 200 || own.User.ID != id {
			t.Errorf("the password is gone: %d %s", a.Status, a.Body)
		}
		if out, code := writ(t, "", "user", "set", "admin", "--protocol", "saml", "--issuer", issuer, "--subject",
			subject("ada"), "--db", f.DB); code != 1 || strings.Contains(out, canary) {
			t.Errorf("a subject of two accounts: %d %s", code, out)
		}
		if out, code := writ(t, "", "user", "set", "ada", "--unlink", "--db", f.DB); code != 0 {
			t.Errorf("user set: %d %s", code, out)
		}
		b := f.browser(t, "ada")
		f.refused(t, "unlinked", b.post(b.answer(), asJSON), 409, "name_taken", "")
	})
}

const (
	spent   = "the RelayState is unknown, used or expired"
	another = "the response answers another request"
)

// TestSAMLReplay repeats an accepted answer: in the browser, concurrently, for another sign-in, and after a restart of
// the server.
// Keeps T29.
func TestSAMLReplay(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		f := federate(t, newIDP(t, persistentNames{}), harness.Options{DB: dbURL})
		f.setUser(t, "ada", "engineers")
		b := f.browser(t, "ada")
		used := b.answer()
		b.token(b.post(used, asJSON))
		before := f.accounts(t)
		for _, accept := range []string{asJSON, asPage} {
			f.refused(t, "again", b.post(used, accept), 401, "bad_sign_in", spent)
			f.refused(t, "by another browser", f.browser(t, "eve").post(used, accept), 401, "bad_sign_in", spent)
			later := b.answer()
			f.refused(t, "under another sign-in",
				b.post(url.Values{"SAMLResponse": used["SAMLResponse"], "RelayState": later["RelayState"]}, accept),
				401, "bad_sign_in", another)
			f.refused(t, "after the refusal", b.post(later, accept), 401, "bad_sign_in", spent)
			portal := b.answer()
			portal.Del("RelayState")
			f.refused(t, "without a sign-in", b.post(portal, accept), 401, "bad_sign_in",
				"the answer needs exactly one RelayState")
		}
		if now := f.accounts(t); now != before {
			t.Errorf("the accounts are %s, before %s", now, before)
		}

		form := b.answer()
		answers := make([]harness.Answer, 20)
		var wg sync.WaitGroup
		for n := range answers {
			tab := f.browser(t, "ada")
			wg.Go(func() { answers[n] = tab.post(form, asJSON) })
		}
		wg.Wait()
		in := 0
		for _, a := range answers {
			if a.Status == 200 {
				in++
				b.token(a)
			} else {
				f.refused(t, "at once", a, 401, "bad_sign_in", spent)
			}
		}
		if in != 1 {
			t.Errorf("%d of %d signed in", in, len(answers))
		}
		if n := strings.Count(f.accounts(t), `"username"`); n != 2 {
			t.Errorf("%d accounts, the first admin's and ada's are expected", n)
		}

		open := b.answer()
		f.Stop()
		f.checkOutput(t, f.Output())
		f.Server = f.Again()
		b = f.browser(t, "ada")
		b.token(b.post(open, asJSON))
		f.refused(t, "after a restart", b.post(open, asJSON), 401, "bad_sign_in", spent)
		f.refused(t, "after a restart", b.post(used, asJSON), 401, "bad_sign_in", spent)
	})
}

// TestSAMLMetadata reads the metadata of the server, which any caller may read under any host name.
func TestSAMLMetadata(t *testing.T) {
	t.Parallel()
	f := federate(t, newIDP(t, persistentNames{}), harness.Options{})
	f.setUser(t, "ada", "engineers")
	f.browser(t, "ada").program()
	const path = "/auth/saml/metadata"
	a := want(t, f.As(""), http.MethodGet, path, nil, 200)
	if got := a.Header.Get("Content-Type"); got != "application/samlmetadata+xml" {
		t.Errorf("the type is %q", got)
	}
	var d saml.EntityDescriptor
	if err := xml.Unmarshal(a.Body, &d); err != nil || d.EntityID != samlSite+path || len(d.SPSSODescriptors) != 1 {
		t.Fatalf("%v: %s", err, a.Body)
	}
	sp := d.SPSSODescriptors[0]
	if len(sp.AssertionConsumerServices) != 1 || sp.AssertionConsumerServices[0].Location != samlSite+acs ||
		sp.AssertionConsumerServices[0].Binding != saml.HTTPPostBinding || sp.WantAssertionsSigned == nil ||
		!*sp.WantAssertionsSigned {
		t.Errorf("%s", a.Body)
	}
	forged := want(t, f.As(""), http.MethodGet, path, nil, 200, "X-Forwarded-Host", "evil.example", "X-Forwarded-Proto",
		"https", "Forwarded", "host=evil.example")
	if string(forged.Body) != string(a.Body) {
		t.Errorf("headers change the description: %s", forged.Body)
	}
}

// forgery alters a signed response. The response has no signature of its own, unless the forgery is marked for the
// whole response, so that only the assertion's signature protects it.
type forgery struct {
	name, cause string
	whole       bool
	make        func(t *testing.T, root, assertion *etree.Element)
}

// evil returns an assertion about the first admin with the admin group.
func evil(assertion *etree.Element) *etree.Element {
	assertion.CreateAttr("ID", "_evil")
	assertion.FindElement(".//NameID").SetText("admin")
	assertion.FindElement(".//Attribute[@FriendlyName='uid']/AttributeValue").SetText("admin")
	promote(assertion)
	return assertion
}

// promote replaces a group by the admin group.
func promote(el *etree.Element) {
	el.FindElement(".//Attribute[@FriendlyName='eduPersonAffiliation']/AttributeValue").SetText("chiefs")
}

// strip removes an element's own signature and returns the element.
func strip(el *etree.Element) *etree.Element {
	for _, sig := range el.SelectElements("Signature") {
		el.RemoveChild(sig)
	}
	return el
}

// TestSAMLForgeries posts each forgery as a program and as a browser. No user is signed in, no account is created,
// and the log names the defect.
// Keeps T29.
func TestSAMLForgeries(t *testing.T) {
	t.Parallel()
	f := federate(t, newIDP(t, persistentNames{}), harness.Options{})
	f.setUser(t, "ada", "engineers")
	b := f.browser(t, "ada")
	// A response that is only parsed and written again is accepted, with and without its own signature.
	b.token(b.post(b.answer(), asJSON))
	for _, whole := range []bool{true, false} {
		form := b.answer()
		doc := document(t, form)
		if !whole {
			strip(doc.Root())
		}
		b.token(b.post(f.with(t, form, doc), asJSON))
	}
	before := f.accounts(t)
	for _, forgery := range forgeries() {
		for _, accept := range []string{asJSON, asPage} {
			form := b.answer()
			doc := document(t, form)
			root := doc.Root()
			if !forgery.whole {
				strip(root)
			}
			forgery.make(t, root, root.SelectElement("Assertion"))
			thief := f.browser(t, "eve")
			f.refused(t, forgery.name, thief.post(f.with(t, form, doc), accept), 401, "bad_sign_in", forgery.cause)
			want(t, thief.Client, http.MethodGet, "/v1/auth/me", nil, 401)
			// Its sign-in has ended, also for the genuine response.
			f.refused(t, forgery.name+", then the honest one", b.post(form, accept), 401, "bad_sign_in", spent)
		}
		if now := f.accounts(t); now != before {
			t.Fatalf("%s: the accounts are %s, before %s", forgery.name, now, before)
		}
	}
	b.token(b.post(b.answer(), asJSON))
}
