package audit

import (
	"encoding/json"
	"net/http"
	"os"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// write writes a file that only its owner may read, as keys have to be.
func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// publish writes a file that runs may read too.
func publish(t *testing.T, path, text string) {
	t.Helper()
	write(t, path, text)
	if err := os.Chmod(path, 0o644); err != nil { //nolint:gosec // for runs
		t.Fatal(err)
	}
}

// TestRefusalsAreRecorded makes requests beyond a viewer's rights, and signs in with wrong passwords.
func TestRefusalsAreRecorded(t *testing.T) {
	t.Parallel()
	w := &fixture{Server: harness.Start(t, harness.Options{}), t: t}
	viewer := w.id("/v1/users", harness.Body{"username": "vera", "role": "viewer", "password": password})
	var minted struct{ Token string }
	w.Do(http.MethodPost, "/v1/tokens", harness.Body{"name": "v", "user_id": viewer}).JSON(t, &minted)
	run := w.parked()

	before := newest(t, w.Server)
	for _, c := range []struct {
		method, path, action, object string
		body                         any
	}{
		{http.MethodPost, "/v1/runs", "run.submit", "", script("true")},
		{http.MethodPost, "/v1/runs/" + run + "/cancel", "run.cancel", run, nil},
		{http.MethodDelete, "/v1/users/" + viewer, "user.delete", viewer, nil},
		{http.MethodDelete, "/v1/users/<script>", "user.delete", "", nil},
	} {
		a := w.As(minted.Token).Do(c.method, c.path, c.body)
		if a.Status != http.StatusForbidden || a.Header.Get("Audit-Receipt") != "" {
			t.Errorf("%s %s: %d, receipt %q", c.method, c.path, a.Status, a.Header.Get("Audit-Receipt"))
		}
		got := trail(t, w.Server, before)
		if len(got) != 1 {
			t.Fatalf("%s %s: entries %+v", c.method, c.path, got)
		}
		e := got[0]
		before = e.Seq
		if e.Action != c.action || e.Outcome != "denied" || e.Actor.ID != viewer || e.Object.ID != c.object {
			t.Errorf("%s %s: %+v", c.method, c.path, e)
		}
		var reason string
		if _ = json.Unmarshal(e.Details["reason"], &reason); reason != "forbidden" {
			t.Errorf("the reason is %q", e.Details["reason"])
		}
	}
	for _, path := range []string{"/v1/audit", "/v1/users"} { // reads are not recorded, refused or not
		if a := w.As(minted.Token).Do(http.MethodGet, path, nil); a.Status != http.StatusForbidden {
			t.Errorf("GET %s: %d", path, a.Status)
		}
	}
	w.As("").Do(http.MethodPost, "/v1/runs", script("true")) // without a token
	if got := trail(t, w.Server, before); len(got) != 0 {
		t.Errorf("entries for reads or for nobody: %+v", got)
	}
	for name, object := range map[string]string{"vera": viewer, "nobody at all": ""} {
		before = newest(t, w.Server)
		a := w.As("").Do(http.MethodPost, "/v1/auth/login", harness.Body{"username": name, "password": "not this one, no"})
		if a.Status != http.StatusUnauthorized {
			t.Errorf("login of %s: %d", name, a.Status)
		}
		got := trail(t, w.Server, before)
		if len(got) != 1 || got[0].Action != "auth.login" || got[0].Outcome != "denied" || got[0].Object.ID != object {
			t.Errorf("login of %s: %+v", name, got)
		}
		if len(got) == 1 && (got[0].Actor.Type != "anonymous" || got[0].Actor.IP != "127.0.0.1") {
			t.Errorf("login of %s: %+v", name, got[0].Actor)
		}
	}
	intact(t, w.Server)
}

// TestCommandsAreRecorded runs commands on the database of a running server.
func TestCommandsAreRecorded(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		o := harness.Options{DB: dbURL, Dir: t.TempDir()}
		if dbURL == "" {
			o.DB = o.Dir + "/writ.db"
		}
		s := harness.Start(t, o)
		db, data := []string{"--db", o.DB}, []string{"--db", o.DB, "--data-dir", o.Dir + "/data"}
		var made struct{ ID string }
		if err := json.Unmarshal([]byte(must(t, 0, "token", "new", "--json", "--db", o.DB)), &made); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			arg    []string
			more   []string
			action string
		}{
			{[]string{"user", "new", "carl", "--role", "operator"}, db, "user.create"},
			{[]string{"user", "set", "carl", "--role", "viewer"}, db, "user.update"},
			{[]string{"token", "new", "--user", "carl"}, db, "token.create"},
			{[]string{"token", "revoke", "--yes", made.ID}, db, "token.revoke"},
			{[]string{"user", "delete", "--yes", "carl"}, db, "user.delete"},
			{[]string{"audit", "anchor", "--head-file", o.Dir + "/outside.head"}, data, "audit.anchor"},
			{[]string{"audit", "erase", "--yes", "--seq", "1", "--ground", "gdpr_17"}, data, "audit.erase"},
			{[]string{"audit", "key", "rotate", "--yes"}, data, "key.rotate"},
		} {
			before := newest(t, s)
			must(t, 0, append(c.arg, c.more...)...)
			got := own(trail(t, s, before))
			if len(got) != 1 || got[0].Action != c.action || got[0].Actor.Type != "system" || got[0].Outcome != "applied" {
				t.Errorf("writ %v: %+v", c.arg, got)
			}
			if len(got) == 1 && len(got[0].Actor.Name) <= len("cli:") {
				t.Errorf("writ %v: the actor is %+v", c.arg, got[0].Actor)
			}
		}
		intact(t, s)
	})
}
