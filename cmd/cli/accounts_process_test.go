package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestAccountsOfAServer works on accounts and tokens over the API, with the right of the caller, and resets the
// administrator's token on the machine of the server.
func TestAccountsOfAServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	srv := serve(t, dir)
	first := srv.token(t)
	home := t.TempDir()
	do := func(want int, args ...string) string {
		t.Helper()
		code, out, errs := writ(t, dir, []string{"XDG_CONFIG_HOME=" + home, "HOME=" + home, "DBUS_SESSION_BUS_ADDRESS="},
			args...)
		if code != want {
			t.Fatalf("%q: exit %d, %q, %q", args, code, out, errs)
		}
		return out + errs
	}
	pipe := func(want int, in string, args ...string) string {
		t.Helper()
		cmd := command(t, dir, args...)
		cmd.Env = append(cmd.Env, "XDG_CONFIG_HOME="+home, "HOME="+home, "DBUS_SESSION_BUS_ADDRESS=")
		cmd.Stdin = strings.NewReader(in)
		raw, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != want || strings.Contains(string(raw), strings.TrimSpace(in)) {
			t.Fatalf("%q: exit %d, %s", args, code, raw)
		}
		return string(raw)
	}
	do(exitFailed, "user", "list", "--server", srv.url) // nobody is signed in
	pipe(exitDone, first+"\n", "login", srv.url, "--with-token", "--context", "here")
	pipe(exitDone, "a long enough secret\n", "user", "new", "ada", "--role", "operator", "--password-stdin")
	for _, args := range [][]string{{"user", "show", "ada"}, {"user", "list"}, {"user", "new", "bob"},
		{"user", "set", "ada", "--role", "viewer"}, {"user", "show", "ada", "-o", "yaml"}} {
		if out := do(exitDone, args...); !strings.Contains(out, args[len(args)-1]) && !strings.Contains(out, "ada") {
			t.Errorf("%q: %s", args, out)
		}
	}
	if out := do(exitDone, "user", "show", "ada", "--jq", ".role"); out != "viewer\n" {
		t.Errorf("%q", out)
	}
	editAccount(t, dir, home, do)
	do(exitFailed, "user", "show", "nobody")
	do(exitUsage, "user", "set", "ada")
	do(exitUsage, "user", "list", "--db", "install.db", "--server", srv.url)
	var made madeTokenView
	if err := json.Unmarshal([]byte(do(exitDone, "token", "new", "--user", "ada", "--name", "hers", "--scope", "read",
		"--json")), &made); err != nil || made.Username != "ada" || !tokenForm.MatchString(made.Token) {
		t.Errorf("%+v %v", made, err)
	}
	own := tokenForm.FindString(do(exitDone, "token", "new", "--name", "mine", "--expires", "1d"))
	list := do(exitDone, "token", "list")
	if !strings.Contains(list, "ada") || !strings.Contains(list, "hers") || tokenForm.MatchString(list) {
		t.Errorf("%s", list)
	}
	do(exitDone, "token", "revoke", "--yes", made.ID)
	do(exitFailed, "token", "delete", "--yes", made.ID)
	do(exitDone, "user", "delete", "--yes", "bob")

	// Ada signs in by password, and may not list accounts.
	pipe(exitDone, "a long enough secret\n", "login", srv.url, "--user", "ada", "--context", "ada")
	if out := do(exitDone, "whoami"); !strings.Contains(out, "ada, viewer") || !strings.Contains(out, "password") {
		t.Errorf("%s", out)
	}
	do(exitFailed, "user", "list")
	tokenForm.FindString(do(exitDone, "token", "new", "--name", "of ada"))
	do(exitDone, "logout")
	do(exitFailed, "whoami")
	do(exitDone, "whoami", "--context", "here")
	do(exitDone, "doctor", "--context", "here", "-o", "json")

	// Nobody has a token: the machine makes one.
	do(exitUsage, "token", "reset-admin")
	do(exitUsage, "token", "reset-admin", "--db", "install.db", "--user", "ada")
	do(exitFailed, "token", "reset-admin", "--db", "install.db", "--user", "nobody")
	do(exitUsage, "token", "reset-admin", "--db", "install.db", "--expires", "1d") // nobody can be asked
	reset := do(exitDone, "token", "reset-admin", "--yes", "--db", "install.db", "--expires", "1d")
	fresh := tokenForm.FindString(reset)
	if fresh == "" || !strings.Contains(reset, "first start") || !strings.Contains(reset, "mine") ||
		strings.Count(reset, fresh) != 1 {
		t.Errorf("%s", reset)
	}
	for token, want := range map[string]int{first: http.StatusUnauthorized, own: http.StatusUnauthorized, fresh: 200} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.url+"/v1/audit?limit=50", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		raw, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%d, want %d", resp.StatusCode, want)
		}
		if want == 200 && (!strings.Contains(string(raw), "token.revoke") || !strings.Contains(string(raw), commandLine())) {
			t.Errorf("the trail: %s", raw)
		}
	}
	srv.signal(t, syscall.SIGTERM)
	srv.exit(t)
}

// editAccount changes the account ada in editors.
func editAccount(t *testing.T, dir, home string, do func(int, ...string) string) {
	t.Helper()
	edit := func(want int, script string) string {
		t.Helper()
		name := filepath.Join(t.TempDir(), "editor")
		//nolint:gosec // it is executed
		if err := os.WriteFile(name, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		code, out, errs := writ(t, dir, []string{"XDG_CONFIG_HOME=" + home, "HOME=" + home, "EDITOR=" + name,
			"TMPDIR=" + home}, "user", "edit", "ada")
		if code != want {
			t.Errorf("%s: exit %d, %q, %q", script, code, out, errs)
		}
		return out + errs
	}
	edit(exitDone, `echo "full_name: Ada Example" >> "$1"`)
	names := func() string { return do(exitDone, "api", "GET", "/v1/users", "--jq", ".users[].full_name") }
	if out := names(); !strings.Contains(out, "Ada Example") {
		t.Errorf("%s", out)
	}
	edit(exitDone, `grep -q "role: viewer" "$1"`)
	edit(exitDone, `sed -i "/full_name/d" "$1"`)
	if out := names(); strings.Contains(out, "Ada Example") {
		t.Errorf("%s", out)
	}
	edit(exitFailed, "exit 3")
	if out := edit(exitFailed, `echo "more: 1" >> "$1"`); !strings.Contains(out, "Your text is kept in "+home) {
		t.Errorf("%s", out)
	}
}
