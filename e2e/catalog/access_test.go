package catalog

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/e2e/harness"
)

// example is the catalog of the guide.
const example = "../../docs/examples/catalog"

// peopled starts a server with the accounts that the example names.
func peopled(t *testing.T, dbURL string) *fixture {
	t.Helper()
	w := newFixture(t, harness.Options{DB: dbURL, Flags: []string{"--secret-env", "SITE_*"}})
	for _, name := range []string{"ada", "bob"} {
		w.id("/v1/users", harness.Body{"username": name, "role": "operator"})
	}
	return w
}

// TestTheExampleCatalog applies the catalog of the guide, which has every kind, exports it, and applies the export to a
// second server. What a file no longer states is undone.
func TestTheExampleCatalog(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		w := peopled(t, dbURL)
		secret := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(secret, []byte("hunter22\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, code := w.cli("apply", example, "--check"); code != 3 ||
			!strings.Contains(out, "needs its secret: --secret 'status page.") {
			t.Errorf("check: %d\n%s", code, out)
		}
		out := w.must("apply", example, "--secret", "status page.api_key=@"+secret)
		if !strings.Contains(out, "warning: the object carried no grant before") || strings.Contains(out, "hunter22") {
			t.Error(out)
		}
		if out := w.must("apply", example, "--check"); !strings.Contains(out, "0 to create, 0 to change, 0 to delete") {
			t.Error(out)
		}
		list := w.want(200, "GET", "/v1/credentials?name=status+page", nil)["credentials"].([]any)
		if list[0].(map[string]any)["has_secret"] != true {
			t.Errorf("the credential: %v", list)
		}
		first := filepath.Join(t.TempDir(), "first")
		w.must("export", first)
		for name, text := range tree(t, first) {
			if strings.Contains(text, "hunter22") {
				t.Errorf("%s has a secret:\n%s", name, text)
			}
		}
		if out := w.must("apply", first, "--check", "--prune"); !strings.HasPrefix(out, "0 to create") {
			t.Error(out)
		}
		other := peopled(t, "")
		other.must("apply", first)
		again := filepath.Join(t.TempDir(), "again")
		other.must("export", again)
		if diff := cmp.Diff(tree(t, first), tree(t, again)); diff != "" {
			t.Error(diff)
		}
		w.withdraw(first)
	})
}

// withdraw changes members and levels in exported files, and takes documents away.
func (w *fixture) withdraw(dir string) {
	w.t.Helper()
	edit := func(name, old, text string) {
		at := filepath.Join(dir, name)
		raw, err := os.ReadFile(at)
		if err != nil || !strings.Contains(string(raw), old) {
			w.t.Fatalf("%s: %v\n%s", name, err, raw)
		}
		if err := os.WriteFile(at, []byte(strings.Replace(string(raw), old, text, 1)), 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	edit("teams/web.yaml", "    - bob\n", "")
	edit("orgs/retail.yaml", "      role: admin\n", "")
	edit("grants/user-ada-on-credential-site-key.yaml", "manage", "read")
	if err := os.Remove(filepath.Join(dir, "grants", "team-web-on-queue-gpu.yaml")); err != nil {
		w.t.Fatal(err)
	}
	out := w.must("apply", dir, "--prune", "--yes", "--kind", "Grant,Queue")
	if !strings.Contains(out, "0 to create, 3 to change, 1 to delete") {
		w.t.Error(out)
	}
	if out := w.must("apply", dir, "--check"); !strings.Contains(out, "0 to create, 0 to change") {
		w.t.Error(out)
	}
	grants := w.want(200, "GET", "/v1/grants", nil)["grants"].([]any)
	if len(grants) != 2 {
		w.t.Errorf("the grants: %v", grants)
	}
}

// TestRightsOfCatalogFiles exports and applies as an operator, who may not list everything.
func TestRightsOfCatalogFiles(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		w := peopled(t, dbURL)
		w.must("apply", example)
		_, token := w.somebody("operator", "operator")
		admin := w.Token
		w.Token = token
		dir := filepath.Join(t.TempDir(), "out")
		out := w.must("export", dir)
		for _, want := range []string{"left out: this caller may not list the grants", "may not list the credential types",
			`may not list the members of team "web"`} {
			if !strings.Contains(out, want) {
				t.Errorf("no %q in\n%s", want, out)
			}
		}
		if out, code := w.cli("apply", filepath.Join(example, "access"), "--plan"); code != 1 ||
			!strings.Contains(out, "may not list the grants") {
			t.Errorf("%d\n%s", code, out)
		}
		team := filepath.Join(t.TempDir(), "team.yaml")
		if err := os.WriteFile(team, []byte("{kind: Team, name: new}"), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, code := w.cli("apply", team); code != 1 || !strings.Contains(out, `create team "new"`) {
			t.Errorf("%d\n%s", code, out)
		}
		w.Token = admin
		if err := os.WriteFile(team, []byte("{kind: Team, name: new, spec: {members: [adda, nobody]}}"), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, code := w.cli("apply", team); code != 1 || !strings.Contains(out, `no user "adda": did you mean "ada"?`) ||
			!strings.Contains(out, `no user "nobody"`) {
			t.Errorf("%d\n%s", code, out)
		}
	})
}

// TestApplyIsKilled kills the command in the middle. Another one completes its work.
func TestApplyIsKilled(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		w := peopled(t, dbURL)
		const templates = 60
		var b strings.Builder
		b.WriteString("{kind: Team, name: web, spec: {members: [ada, bob]}}\n")
		for i := range templates {
			n := strconv.Itoa(i)
			b.WriteString("---\n{kind: Template, name: t" + n + ", spec: {tool: bash, command: 'true'}}\n---\n" +
				"{kind: Grant, spec: {subject: 'team:web', object: 'template:t" + n + "', level: use}}\n")
		}
		file := filepath.Join(t.TempDir(), "catalog.yaml")
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, at := range []string{"created team", "created template", "created grant"} {
			w.killAt(file, at)
		}
		w.must("apply", file)
		if out := w.must("apply", file, "--check"); !strings.Contains(out, "0 to change, 0 to delete, 121 unchanged") {
			t.Error(out)
		}
		for path, want := range map[string]float64{"/v1/templates": templates, "/v1/grants": templates, "/v1/teams": 1} {
			if total := w.want(200, "GET", path, nil)["total"]; total != want {
				t.Errorf("%s: %v", path, total)
			}
		}
	})
}

// killAt kills an apply once it has printed a line that begins with a text.
func (w *fixture) killAt(file, text string) {
	w.t.Helper()
	c := exec.CommandContext(w.t.Context(), harness.Binary(w.t), "apply", file)
	c.Env = append(os.Environ(), "WRIT_SERVER="+w.URL, "WRIT_TOKEN="+w.Token)
	out, err := c.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		w.t.Fatal(err)
	}
	found := false
	for s := bufio.NewScanner(out); !found && s.Scan(); {
		found = strings.HasPrefix(s.Text(), text)
	}
	_ = c.Process.Kill()
	if _ = c.Wait(); !found {
		w.t.Errorf("no line begins with %q", text)
	}
}
