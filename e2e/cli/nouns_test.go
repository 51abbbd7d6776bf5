package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// object is one of a noun that a test creates, changes and deletes by commands.
type object struct {
	noun   string
	name   string // empty if only an id names it
	create []string
	edit   []string // no member of it changes if empty
	shows  string   // after the change
	keep   bool     // others refer to it
	only   string   // verbs that the noun has over the API beside create and show; all if empty
}

func objectsOf(t *testing.T) []object {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("S3cretOfTheTest\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	fields := `[{"name":"url","label":"Address","type":"text"},{"name":"key","label":"Key","type":"text","secret":true}]`
	return []object{
		{noun: "org", name: "retail", create: []string{"retail"}, keep: true},
		{noun: "team", name: "ops", create: []string{"ops"}, keep: true},
		{noun: "user", name: "alice", create: []string{"alice", "--role", "operator"}, keep: true, only: "edit",
			edit: []string{"--full-name", "Alice Example"}, shows: "Alice Example"},
		{noun: "credential-type", name: "crm", create: []string{"crm", "--set", "fields:=" + fields}, keep: true,
			edit: []string{"--set", "fields.0.label=Where"}, shows: "Where"},
		{noun: "credential", name: "crm key", create: []string{"crm key", "--type", "crm", "--org", "retail",
			"--field", "key=@" + secret}, edit: []string{"--name", "crm key"}, shows: "crm key"},
		{noun: "credential", name: "ssh", create: []string{"ssh", "--kind", "ssh_password", "--secret",
			"password=@" + secret, "--setting", "username=root"}, keep: true,
			edit: []string{"--setting", "username=deploy"}, shows: "username: deploy"},
		{noun: "inventory", name: "web", create: []string{"web", "--set", "content=[web]\nweb1\n", "--credential", "ssh"},
			keep: true, edit: []string{"--max-concurrent", "3"}, shows: "max_concurrent   3"},
		{noun: "source", name: "cloud", create: []string{"cloud", "--kind", "http", "--inventory", "web", "--set",
			"config.url=https://inventory.example.com/hosts"}, edit: []string{"--sync-interval", "2h"}, shows: "7200"},
		{noun: "project", name: "site", create: []string{"site", "--repo-url", "https://git.example.com/site.git"},
			edit: []string{"--branch", "stable", "--credential", "ssh"}, shows: "stable"},
		{noun: "template", name: "deploy", create: []string{"deploy", "--tool", "bash", "--command", "echo hi",
			"--inventory", "web", "--label", "team=ops", "--tag", "a", "--tag", "b", "--extra-var", "n:=1"}, keep: true,
			edit: []string{"--command", "echo ho", "--timeout", "5m"}, shows: "300"},
		{noun: "schedule", name: "nightly", create: []string{"nightly", "--cron", "0 2 * * *", "--template", "deploy"},
			edit: []string{"--enabled=false"}, shows: "enabled      no"},
		{noun: "trigger", name: "push", create: []string{"push", "--template", "deploy"}, edit: []string{"--branch", "main"},
			shows: "main"},
		{noun: "grant", create: []string{"--subject", "team:ops", "--object", "template:deploy", "--level", "use"}},
		{noun: "policy", name: "careful", create: []string{"careful", "--effect", "require_approval", "--set",
			"match.hosts_over:=10"}, edit: []string{"--message", "ask the team"}, shows: "ask the team"},
		{noun: "window", name: "office", create: []string{"office", "--mode", "allow", "--outside", "wait", "--cron",
			"0 8 * * *", "--duration", "8h"}, edit: []string{"--outside", "deny"}, shows: "deny"},
		{noun: "token", name: "ci", create: []string{"ci", "--scope", "read", "--expires", "1d"}, only: "delete"},
		{noun: "worker-token", name: "edge", create: []string{"edge", "--queue", "dmz"}},
		{noun: "drift ignore", create: []string{"--host", "web*", "--resource", "motd", "--reason", "by hand"},
			edit: []string{"--reason", "on purpose"}, shows: "on purpose"},
	}
}

// TestNouns creates an object of each noun from flags, lists it, shows it by its name and its id, writes it as YAML,
// which edit takes again, changes it by flags, and deletes it.
func TestNouns(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	u := userOf(t, s)
	for _, o := range objectsOf(t) {
		noun := strings.Fields(o.noun)
		do := func(args ...string) string {
			t.Helper()
			code, out, errs := u.do(append(append([]string{}, noun...), args...)...)
			if code != 0 {
				t.Fatalf("writ %s %q: %d %s%s", o.noun, args, code, out, errs)
			}
			return out
		}
		var made struct{ ID string }
		out := do(append([]string{"create", "--json"}, o.create...)...)
		if err := json.Unmarshal([]byte(out), &made); err != nil || made.ID == "" {
			t.Fatalf("%s: %s", o.noun, out)
		}
		name := o.name
		if name == "" {
			name = made.ID
		}
		for _, by := range []string{name, made.ID} {
			if out := do("show", by, "--jq", ".id"); out != made.ID+"\n" || !strings.Contains(do("show", by), made.ID) {
				t.Errorf("%s %s: %s", o.noun, by, out)
			}
		}
		if o.only == "" {
			if out := do("list"); !strings.Contains(out, made.ID) {
				t.Errorf("%s list: %s", o.noun, out)
			}
			if out := do("list", "-o", "wide", "--limit", "1"); strings.Count(out, "\n") != 2 {
				t.Errorf("%s list --limit 1: %s", o.noun, out)
			}
		}
		if o.edit != nil {
			file := filepath.Join(t.TempDir(), "o.yaml")
			if err := os.WriteFile(file, []byte(do("show", name, "-o", "yaml")), 0o600); err != nil {
				t.Fatal(err)
			}
			// The server synchronises on its own what a project and a source have.
			const same = "del(.updated_at, .last_error, .synced_at, .commit)"
			before := do("show", name, "--jq", same)
			do("edit", name, "--file", file)
			if after := do("show", name, "--jq", same); after != before {
				t.Errorf("%s: its own YAML changed it\n%s%s", o.noun, before, after)
			}
			do(append([]string{"edit", name}, o.edit...)...)
			if out := do("show", name); !strings.Contains(out, o.shows) {
				t.Errorf("%s: no %q after %q in\n%s", o.noun, o.shows, o.edit, out)
			}
		}
		if o.keep || o.only == "edit" {
			continue
		}
		if code, _, errs := u.do(append(append([]string{}, noun...), "delete", name)...); code != 2 ||
			!strings.Contains(errs, "--yes") {
			t.Errorf("%s is deleted without a question: %d %s", o.noun, code, errs)
		}
		do("delete", name, "--yes")
		if code, _, _ := u.do(append(append([]string{}, noun...), "show", name)...); code != 1 {
			t.Errorf("%s is not deleted: %d", o.noun, code)
		}
	}
	verbsOf(t, u)
	namesOf(t, u)
}

// namesOf completes names of the server, and reads the warning of a run whose queue nothing serves.
func namesOf(t *testing.T, u user) {
	t.Helper()
	for _, c := range []struct{ words, want string }{
		{"run site.yml --queue", "default"}, {"run site.yml --credential", "ssh"}, {"run -i", "web"},
		{"launch deploy --inventory", "web"}, {"queue set", "default"}, {"user delete", "alice"},
	} {
		code, out, errs := u.do(append(append([]string{"__complete"}, strings.Fields(c.words)...), "")...)
		if code != 0 || !strings.Contains("\n"+out, "\n"+c.want+"\n") {
			t.Errorf("%s: %d %q %q", c.words, code, out, errs)
		}
	}
	code, out, errs := u.do("run", "--tool", "bash", "-c", "true", "--queue", "nowhere")
	if code != 0 || !strings.HasPrefix(out, "run_") || strings.Count(out, "\n") != 1 ||
		!strings.HasPrefix(errs, "writ: warning: ") {
		t.Errorf("%d %q %q", code, out, errs)
	}
	if code, _, errs := u.do("launch", "deplyo"); code != 1 || !strings.HasSuffix(errs, "did you mean deploy?\n") {
		t.Errorf("%d %q", code, errs)
	}
}

// verbsOf calls the other verbs of the objects that are kept.
func verbsOf(t *testing.T, u user) {
	t.Helper()
	launched, run, errs := u.do("template", "launch", "deploy", "--follow")
	_, run, errs2 := u.do("run", "list", "--jq", ".runs[0].id")
	if run = strings.TrimSpace(run); launched != 0 || !strings.HasPrefix(run, "run_") {
		t.Fatalf("%d %s %s%s", launched, run, errs, errs2)
	}
	file, copied := filepath.Join(t.TempDir(), "receipt.json"), filepath.Join(t.TempDir(), "template.yaml")
	if _, out, errs := u.do("template", "show", "deploy", "-o", "yaml"); os.WriteFile(copied, []byte(out), 0o600) != nil {
		t.Fatal(errs)
	}
	for _, c := range []struct{ args, want string }{
		{"template create copy --file " + copied, "created template copy"}, {"template show copy", "echo ho"},
		{"team add ops alice", "added team alice"}, {"team members ops", "alice"}, {"team remove ops alice --yes", "remove"},
		{"org add retail alice --role admin", "added org alice"}, {"org members retail", "admin"},
		{"org remove retail alice --yes", "remove"},
		{"inventory hosts web", "web1"}, {"inventory resolve web", "sample"},
		{"template compare deploy --command x", "changed"},
		{"schedule preview --cron 0_2_*_*_* --count 2", "next"}, {"queue list", "default"}, {"queue show default", "pending"},
		{"queue edit default --max-concurrent 4", "changed queue default"}, {"worker list", "server"},
		{"run show " + run, "succeeded"}, {"run events " + run, "SEQ"}, {"run why " + run, "succeeded"},
		{"run receipt " + run + " --file " + file, ""}, {"run evidence " + run + " --format json", "{"},
		{"run rerun " + run, "rerun_of"}, {"run logs " + run, "ho"}, {"run matrix " + run, "rev"},
		{"audit list --limit 5 --object " + run, "run.submit"}, {"audit check", "ok"}, {"audit seal", "install_id"},
		{"audit list --actor admin --object template:deploy", "template."},
		{"license show -o csv", "community"}, {"user show alice admin -o csv", "alice"}, {"user show alice -o csv", "alice"},
		{"runs --order oldest --after 1d --before 0s --limit 1 --jq .count", "1"}, {"runs --task none --jq .total", "0"},
		{"user list --limit 1 --jq .count", "1"}, {"token list --limit 1 -o csv", "tok_"}, {"drift -o csv", ""},
		{"estate --limit 1 -o yaml", "hosts: []"}, {"estate --diff 1d --jq .unchanged", "0"}, {"changes -o csv", ""},
		{"hosts --limit 1 --jq .count", "0"}, {"host list -o csv", ""}, {"credential list --org retail", ""},
		{"grant list --subject user:alice", ""}, {"account show admin", "username"},
		{"team delete ops --yes", "deleted ops"}, {"org delete retail --yes", "deleted retail"},
	} {
		args := strings.Fields(c.args)
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "*_", "* ")
			args[i] = strings.ReplaceAll(strings.ReplaceAll(args[i], "0_2_", "0 2 "), "_*", " *")
		}
		if code, out, errs := u.do(args...); code != 0 || !strings.Contains(out, c.want) {
			t.Errorf("writ %s: %d\n%s%s", c.args, code, out, errs)
		}
	}
	if raw, err := os.ReadFile(file); err != nil || !json.Valid(raw) {
		t.Errorf("the receipt: %v", err)
	}
}

// TestInventoryVersions: commands list the versions of an inventory, show one and compare two, and refuse what is none.
func TestInventoryVersions(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	u := userOf(t, s)
	do := func(want int, contains string, args ...string) {
		t.Helper()
		code, out, errs := u.do(append([]string{"inventory"}, args...)...)
		if code != want || !strings.Contains(out+errs, contains) {
			t.Errorf("writ inventory %q: %d %s%s", args, code, out, errs)
		}
	}
	do(0, "", "create", "web", "--set", "content=[web]\nweb1 port=80\n")
	do(0, "", "edit", "web", "--set", "content=[web]\nweb1 port=81\nweb2\n")
	do(0, "edit", "versions", "web")
	do(0, `"number": 2`, "versions", "web", "-o", "json")
	do(0, "web1 port=80", "version", "web", "1")
	do(0, "+web1 port=81", "diff", "web", "2")
	do(0, `"added_total": 1`, "diff", "web", "2", "-o", "json")
	do(0, "-web1 port=81", "diff", "web", "1", "--from", "2")
	do(1, "from", "diff", "web", "2", "--from", "9")
	do(1, "version 9", "version", "web", "9")
	do(1, "version", "version", "web", "x")
	do(1, "nowhere", "versions", "nowhere")
	do(2, "", "version", "web")
}
