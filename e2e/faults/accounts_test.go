package faults

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/e2e/harness"
)

// accountState is what an install says of its accounts and tokens.
type accountState struct {
	Roles   map[string]string // of accounts, by their names
	Tokens  map[string]int    // by the names of their owners
	Entries map[string]int    // of accounts and tokens in the trail, by their action
}

func accountsOf(t *testing.T, c harness.Client) accountState {
	t.Helper()
	s := accountState{map[string]string{}, map[string]int{}, map[string]int{}}
	var users struct {
		Users []struct{ Username, Role string }
	}
	var tokens struct{ Tokens []struct{ Username string } }
	var trail struct {
		Entries []struct{ Action, Outcome string }
	}
	c.Do(http.MethodGet, "/v1/users", nil).JSON(t, &users)
	c.Do(http.MethodGet, "/v1/tokens", nil).JSON(t, &tokens)
	c.Do(http.MethodGet, "/v1/audit?limit=1000", nil).JSON(t, &trail)
	for _, u := range users.Users {
		s.Roles[u.Username] = u.Role
	}
	for _, x := range tokens.Tokens {
		s.Tokens[x.Username]++
	}
	for _, e := range trail.Entries {
		if kind, _, _ := strings.Cut(e.Action, "."); kind == "user" || kind == "token" {
			s.Entries[e.Action+" "+e.Outcome]++
		}
	}
	return s
}

// TestCrashOfAccountCommands kills commands on the accounts of a database around each of their commits, beside a
// server: the change and its entry in the trail are both there or both absent, and the command can be given again.
func TestCrashOfAccountCommands(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL, Dir: t.TempDir(), Tags: []string{"crashpoints"},
			Flags: []string{"--executors", "0"}})
		arm := filepath.Join(t.TempDir(), "arm")
		// crashed gives a command that dies at its n-th pass through a point, or with 0 one that does not die.
		crashed := func(n int, point string, line ...string) string {
			t.Helper()
			want := 0
			if n > 0 {
				want = -1
			}
			if err := os.WriteFile(arm, []byte(strconv.Itoa(n)), 0o600); err != nil {
				t.Fatal(err)
			}
			out, code := writ(t, s.Options, []string{"WRIT_CRASH_POINT=unit-" + point, "WRIT_CRASH_ARM=" + arm},
				append(line, "--db", s.DB)...)
			if code != want {
				t.Fatalf("%v at %s %d: exit code %d\n%s", line, point, n, code, out)
			}
			return out
		}
		// The reader's token is of another account, since a reset ends those of admin.
		crashed(0, "", "user", "new", "reader", "--role", "admin")
		secret := strings.Fields(crashed(0, "", "token", "new", "--user", "reader", "--name", "reader"))
		reader := s.As(secret[len(secret)-1])
		check := func(want accountState, what ...any) {
			t.Helper()
			if diff := cmp.Diff(want, accountsOf(t, reader)); diff != "" {
				t.Errorf("%v (-want +got):\n%s", what, diff)
			}
		}
		for _, c := range []struct {
			line   []string
			change func(s accountState)
		}{
			{[]string{"user", "new", "ada", "--role", "operator"}, func(s accountState) {
				s.Roles["ada"] = "operator"
				s.Entries["user.create applied"]++
			}},
			{[]string{"token", "new", "--user", "ada", "--name", "hers"}, func(s accountState) {
				s.Tokens["ada"]++
				s.Entries["token.create applied"]++
			}},
			{[]string{"user", "set", "ada", "--username", "eve"}, func(s accountState) {
				s.Roles["eve"], s.Tokens["eve"] = s.Roles["ada"], s.Tokens["ada"]
				delete(s.Roles, "ada")
				delete(s.Tokens, "ada")
				s.Entries["user.update applied"]++
			}},
			{[]string{"user", "delete", "eve", "--yes"}, func(s accountState) {
				delete(s.Roles, "eve")
				delete(s.Tokens, "eve")
				s.Entries["user.delete applied"]++
			}},
		} {
			want := accountsOf(t, reader)
			crashed(1, "before-commit", c.line...)
			check(want, c.line, "before its commit")
			crashed(1, "after-commit", c.line...)
			c.change(want)
			check(want, c.line, "after its commit")
		}
		resets(t, reader, crashed, check)
		reader.Intact()
	})
}

// resets kills resets of the administrator's token at the new token, and at the end of an old one.
func resets(
	t *testing.T, c harness.Client, crashed func(n int, point string, line ...string) string,
	check func(want accountState, what ...any),
) {
	t.Helper()
	want := accountsOf(t, c)
	for n := 1; n <= 2; n++ {
		// Before its commit the n-th change is absent, and those before it are there.
		for i, point := range []string{"before-commit", "after-commit"} {
			if crashed(n, point, "token", "reset-admin", "--yes"); n == 1 && i == 1 || n == 2 {
				want.Tokens["admin"]++
				want.Entries["token.create applied"]++
			}
			if n == 2 && i == 1 {
				want.Tokens["admin"]--
				want.Entries["token.revoke applied"]++
			}
			check(want, "reset-admin", n, point)
		}
	}
	out := crashed(0, "", "token", "reset-admin", "--yes")
	if got := accountsOf(t, c); got.Tokens["admin"] != 1 ||
		got.Entries["token.revoke applied"] != want.Entries["token.revoke applied"]+want.Tokens["admin"] {
		t.Errorf("after a reset: %v, it was %v", got, want)
	}
	secret := strings.Fields(out)
	if a := c.As(secret[len(secret)-1]).Do(http.MethodGet, "/v1/auth/me", nil); a.Status != http.StatusOK {
		t.Errorf("the token that was printed: %d %s", a.Status, out)
	}
}
