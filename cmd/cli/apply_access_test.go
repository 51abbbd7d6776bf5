package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// members lists the accounts of a group.
func (s *catalogServer) members(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.objects[r.PathValue("kind")][r.PathValue("id")]
	if k == nil || slices.Contains(s.forbidden, "members") {
		s.problem(w, http.StatusForbidden, "for members and admins")
		return
	}
	rows := []obj{}
	for _, id := range slices.Sorted(maps.Keys(k.members)) {
		row := obj{"user_id": id, "username": s.objects["users"][id].fields["username"]}
		if role := k.members[id]; role != "" {
			row["role"] = role
		}
		rows = append(rows, row)
	}
	s.answer(w, http.StatusOK, k, obj{"members": rows, "count": len(rows), "total": len(rows)})
}

func (s *catalogServer) addMember(w http.ResponseWriter, r *http.Request) {
	var body struct {
		UserID string `json:"user_id"`
		Role   string `json:"role"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		s.problem(w, http.StatusBadRequest, "no JSON")
		return
	}
	if s.before != nil && !s.before(r.Method, r.URL.Path, obj{"user_id": body.UserID}) {
		s.problem(w, http.StatusInternalServerError, "the disk is full")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k, u := s.objects[r.PathValue("kind")][r.PathValue("id")], s.objects["users"][body.UserID]
	if k == nil || u == nil {
		s.problem(w, http.StatusNotFound, "there is no such object")
		return
	}
	if k.members == nil {
		k.members = map[string]string{}
	}
	k.members[body.UserID] = body.Role
	s.writes = append(s.writes, fmt.Sprintf("add %s to %s %s", u.fields["username"], k.fields["name"], body.Role))
	s.answer(w, http.StatusCreated, k, obj{"user_id": body.UserID})
}

func (s *catalogServer) removeMember(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.objects[r.PathValue("kind")][r.PathValue("id")]
	u := s.objects["users"][r.PathValue("user")]
	s.writes = append(s.writes, fmt.Sprintf("remove %s from %s", u.fields["username"], k.fields["name"]))
	delete(k.members, r.PathValue("user"))
	w.WriteHeader(http.StatusNoContent)
}

// accessFiles say who may do what on the small catalog.
const accessFiles = `kind: Grant
spec: {subject: "team:web", object: "template:deploy", level: use}
---
kind: Grant
org: retail
spec: {subject: "user:ada", object: "credential:vaulted", level: manage}
---
kind: Grant
spec: {subject: "team:web", object: "queue:gpu", level: use}
---
kind: Policy
name: look first
spec: {effect: require_approval, actors: ["team:web", "user:bob"], approver_teams: [web]}
---
kind: Window
name: weekend
spec: {mode: deny, outside: wait, cron: "0 18 * * fri", duration: 216000, match: {templates: [deploy]}}
---
kind: Queue
name: gpu
spec: {max_concurrent: 2}
---
kind: Credential
name: vaulted
org: retail
spec: {kind: token, source: {engine: env, config: {name: SITE}}}
---
kind: Credential
name: of a type
spec: {type: api, fields: {region: eu}}
---
kind: CredentialType
name: api
spec:
  fields: [{name: key, type: text, secret: true, required: true}, {name: region, type: text}]
  inject: {env: {API_KEY: "{{key}}"}}
---
kind: Team
name: web
spec: {members: [bob, ada]}
---
kind: Organization
name: retail
spec: {members: [{user: ada, role: admin}, {user: bob}]}
`

func accessServer(t *testing.T) (*catalogServer, map[string]string) {
	t.Helper()
	s := newCatalogServer(t)
	s.put("credentials", obj{"name": "deploy key"})
	for _, name := range []string{"ada", "bob", "carl"} {
		s.put("users", obj{"username": name})
	}
	files := smallCatalog()
	files["access.yaml"] = accessFiles
	return s, files
}

// TestApplyAccess applies documents of every kind: what is named is made first.
func TestApplyAccess(t *testing.T) {
	t.Parallel()
	s, files := accessServer(t)
	dir := tree(t, files)
	plan := s.mustWrit(t, "apply", dir, "--plan")
	note := "+ credential \"of a type\"\n    it needs its secret: --secret 'of a type.MEMBER=@FILE'; runs that use it " +
		"are refused until then\n"
	if !strings.Contains(plan, note) || !strings.Contains(plan, "~ queue \"gpu\"\n    + max_concurrent: 2\n") ||
		!strings.Contains(plan, "17 to create, 1 to change") {
		t.Error(plan)
	}
	s.mustWrit(t, "apply", dir)
	want := []string{"POST orgs retail", "add ada to retail admin", "add bob to retail member", "POST teams web",
		"add ada to web ", "add bob to web ", "POST credential-types api", "POST credentials vaulted",
		"POST credentials of a type", "PUT queues gpu"}
	got := s.changed()
	if diff := cmp.Diff(want, got[:len(want)]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"POST policies look first", "POST windows weekend", "POST grants use",
		"POST grants manage", "POST grants use"}, got[len(got)-5:]); diff != "" {
		t.Error(diff)
	}
	if out := s.mustWrit(t, "apply", dir, "--check"); !strings.Contains(out, "0 to change, 0 to delete, 18 unchanged") {
		t.Error(out)
	}
	first, second := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	s.mustWrit(t, "export", first)
	s.mustWrit(t, "apply", first, "--check", "--prune")
	other, _ := accessServer(t)
	other.mustWrit(t, "apply", first)
	other.mustWrit(t, "export", second)
	if diff := cmp.Diff(contents(t, first), contents(t, second)); diff != "" {
		t.Error(diff)
	}
	if grant := contents(t, first)["grants/user-ada-on-credential-vaulted.yaml"]; grant != "kind: Grant\norg: "+
		"retail\nspec:\n  subject: user:ada\n  object: credential:vaulted\n  level: manage\n" {
		t.Errorf("the grant:\n%s", grant)
	}
}

// TestAccessChanges makes members, levels and limits equal to the files, and deletes what they do not name.
func TestAccessChanges(t *testing.T) {
	t.Parallel()
	s, files := accessServer(t)
	s.mustWrit(t, "apply", tree(t, files))
	s.changed()
	lower := strings.NewReplacer("[bob, ada]", "[carl, ada]", "{user: ada, role: admin}, {user: bob}",
		"{user: ada}, {user: bob}", "level: manage", "level: read", "max_concurrent: 2", "")
	files["access.yaml"] = lower.Replace(accessFiles)
	dir := tree(t, files)
	want := `~ organization "retail"
      members:
        - user: ada
    -     role: admin
        - user: bob
~ team "web"
      members:
        - ada
    -   - bob
    +   - carl
~ queue "gpu"
    - max_concurrent: 2
~ grant to user:ada on credential:vaulted of "retail"
    - level: manage
    + level: read

0 to create, 4 to change, 0 to delete, 14 unchanged
`
	if diff := cmp.Diff(want, s.mustWrit(t, "apply", dir, "--plan")); diff != "" {
		t.Error(diff)
	}
	s.mustWrit(t, "apply", dir)
	if diff := cmp.Diff([]string{"add ada to retail member", "add carl to web ", "remove bob from web", "PUT queues gpu",
		"POST grants read", "DELETE grants manage"}, s.changed()); diff != "" {
		t.Error(diff)
	}
	s.mustWrit(t, "apply", dir, "--check")

	// Files without grants delete none, and neither do files without anything that is in the organization.
	head, rest, _ := strings.Cut(files["access.yaml"], "---\nkind: Policy")
	files["access.yaml"] = "kind: Policy" + rest
	s.mustWrit(t, "apply", tree(t, files), "--prune", "--yes", "--kind", "Template,Policy,Team")
	if w := s.changed(); w != nil {
		t.Errorf("without grants: %q", w)
	}
	one, _, _ := strings.Cut(head, "---\n")
	out := s.mustWrit(t, "apply", tree(t, map[string]string{"a.yaml": one}), "--prune", "--yes")
	if !strings.HasPrefix(out, "- grant to team:web on queue:gpu\n\n0 to create, 0 to change, 1 to delete, 1 unchanged") {
		t.Error(out)
	}
	if diff := cmp.Diff([]string{"DELETE grants use"}, s.changed()); diff != "" {
		t.Error(diff)
	}
}

// TestAccessStops fails between the steps of one document, and continues there.
func TestAccessStops(t *testing.T) {
	t.Parallel()
	s, files := accessServer(t)
	broken := ""
	s.before = func(_, path string, body map[string]any) bool {
		return broken == "" || body["user_id"] == nil || !strings.HasPrefix(path, "/v1/teams") || body["user_id"] != broken
	}
	for id, u := range s.objects["users"] {
		if u.fields["username"] == "bob" {
			broken = id
		}
	}
	dir := tree(t, files)
	code, _, errs := s.writ(t, "apply", dir)
	if code != exitFailed || !strings.HasSuffix(errs, "writ: create team \"web\": add bob: the disk is full\n") {
		t.Errorf("exit %d, %s", code, errs)
	}
	broken = ""
	if out := s.mustWrit(t, "apply", dir); !strings.Contains(out, "~ team \"web\"\n") ||
		!strings.Contains(out, "1 unchanged") {
		t.Error(out)
	}
	s.mustWrit(t, "apply", dir, "--check")
}

// TestAccessMistakes finds what is wrong before anything is changed, all of it.
func TestAccessMistakes(t *testing.T) {
	t.Parallel()
	s, files := accessServer(t)
	files["access.yaml"] = strings.NewReplacer("[bob, ada]", "[bop, ada]", "team:web\", object: \"template:deploy",
		"team:wep\", object: \"template:deplyo", "fields: {region: eu}", "fields: {key: hunter22}",
		"org: retail", "org: retial").Replace(accessFiles)
	dir := tree(t, files)
	code, out, errs := s.writ(t, "apply", dir)
	clear := "is a secret, which no file may contain: let a source provide it, or give it to apply with " +
		"--secret 'CREDENTIAL.key=@FILE' or =env:VARIABLE"
	want := []string{
		`access.yaml:5: org: there is no organization "retial": did you mean "retail"?`,
		`access.yaml:25: org: there is no organization "retial": did you mean "retail"?`,
		`access.yaml:2: spec.subject: there is no team "wep": did you mean "web"?`,
		`access.yaml:2: spec.object: there is no template "deplyo": did you mean "deploy"?`,
		`access.yaml:40: spec.members[0]: there is no user "bop": did you mean "bob"? (files create no accounts)`,
		"access.yaml:30: spec.fields.key: " + clear,
	}
	for _, w := range want {
		if !strings.Contains(errs, w) {
			t.Errorf("no %s in\n%s", w, errs)
		}
	}
	if code != exitFailed || out != "" || s.changed() != nil || strings.Contains(errs, "hunter22") {
		t.Errorf("exit %d, %q\n%s", code, out, errs)
	}
	_, _, errs = s.writ(t, "apply", tree(t, map[string]string{"a.yaml": "kind: Team\n"}),
		tree(t, map[string]string{"b.yaml": "kind: Teem\nname: x\n"}))
	if !strings.Contains(errs, "a.yaml:1: name: is missing") || !strings.Contains(errs, `"Teem" is unknown: did you mean "Team"?`) {
		t.Errorf("two directories: %s", errs)
	}
}

// TestAccessOfOthers exports and applies as a caller who may not list everything.
func TestAccessOfOthers(t *testing.T) {
	t.Parallel()
	s, files := accessServer(t)
	s.mustWrit(t, "apply", tree(t, files))
	s.forbidden = []string{"users", "grants", "credential-types", "members"}
	dir := filepath.Join(t.TempDir(), "out")
	code, _, errs := s.writ(t, "export", dir)
	want := `writ: left out: this caller may not list the credential types of the server
writ: left out: this caller may not list the grants of the server
writ: left out: this caller may not list the members of organization "retail"
writ: left out: this caller may not list the members of team "web"
`
	if code != exitDone || errs != want {
		t.Errorf("exit %d, %s", code, cmp.Diff(want, errs))
	}
	if team := contents(t, dir)["teams/web.yaml"]; team != "kind: Team\nname: web\n" {
		t.Errorf("the team: %s", team)
	}
	s.mustWrit(t, "apply", dir, "--check")
	if code, _, errs := s.writ(t, "export", filepath.Join(dir, "x"), "--kind", "Grant"); code != exitFailed ||
		errs != "writ: this caller may not list the grants of the server\n" {
		t.Errorf("exit %d, %s", code, errs)
	}
	for content, want := range map[string]string{
		"{kind: Grant, spec: {subject: 'team:web', object: 'queue:q', level: use}}": "writ: this caller may not list " +
			"the grants of the server\n",
		"{kind: Team, name: web, spec: {members: [ada]}}": "spec.members[0]: this caller may not list the users of " +
			"the server: give the id, usr_...\n",
		"{kind: Team, name: web, spec: {members: []}}": "spec.members: this caller may not list the members of " +
			"team \"web\"\n",
	} {
		code, _, errs := s.writ(t, "apply", tree(t, map[string]string{"a.yaml": content}))
		if code != exitFailed || !strings.HasSuffix(errs, want) {
			t.Errorf("%s: exit %d, %s", content, code, errs)
		}
	}
}

// TestApplySecrets gives credentials their secrets when they have none.
func TestApplySecrets(t *testing.T) {
	t.Parallel()
	s := newCatalogServer(t)
	key := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(key, []byte("hunter22\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := tree(t, map[string]string{"a.yaml": `kind: Credential
name: a.b
spec: {kind: token}
---
kind: Credential
name: vaulted
spec: {kind: token, source: {engine: vault, config: {address: "https://v"}}}
`})
	args := []string{"apply", dir, "--secret", "vaulted.source.token=@" + key}
	if _, _, errs := s.writ(t, "apply", dir); !strings.HasSuffix(errs, "a.yaml:7: spec.source: a new credential needs "+
		"the login of its source: --secret 'vaulted.source.token=@FILE' or --secret 'vaulted.source.secret_id=@FILE'\n") {
		t.Error(errs)
	}
	if out := s.mustWrit(t, args...); !strings.Contains(out, "--secret 'a.b.token=@FILE'") {
		t.Error(out)
	}
	args = []string{"apply", dir, "--secret", "a.b.token=@" + key}
	if out := s.mustWrit(t, args...); !strings.Contains(out,
		"~ credential \"a.b\"\n      secret:\n        (a secret value)\n") || strings.Contains(out, "hunter22") {
		t.Error(out)
	}
	if diff := cmp.Diff(obj{"token": "hunter22"}, s.bodies[2]["secret"]); diff != "" {
		t.Error(diff)
	}
	code, out, errs := s.writ(t, args...)
	if code != exitDone || errs != "writ: credential \"a.b\" keeps its stored secret\n" ||
		out != "0 to create, 0 to change, 0 to delete, 2 unchanged\n" {
		t.Errorf("again: %d %q %q", code, out, errs)
	}
	other := newCatalogServer(t)
	other.mustWrit(t, append(args, "--secret", "vaulted.source.token=@"+key)...)
	if diff := cmp.Diff(obj{"engine": "vault", "config": obj{"address": "https://v", "token": "hunter22"}},
		other.bodies[1]["source"]); diff != "" || other.bodies[0]["secret"] == nil {
		t.Error(diff, other.bodies)
	}
	for flag, want := range map[string]string{
		"a.b.token=hunter22":         "others can read a command line",
		"token=@" + key:              "expected CREDENTIAL.MEMBER before the =",
		"x.token=@" + key:            `the files have no credential "x"`,
		"a.b.token=@/nowhere":        "no such file",
		"a.b.token=env:NOWHERE_SET":  "the environment has no NOWHERE_SET",
		"a.b.source.token=@" + key:   `credential "a.b" has no source`,
		"vaulted.token=@" + t.Name(): "no such file",
	} {
		if code, _, errs := newCatalogServer(t).writ(t, "apply", dir, "--secret", flag); code == exitDone ||
			!strings.Contains(errs, want) || strings.Contains(errs, "hunter22") {
			t.Errorf("%s: exit %d, %s", flag, code, errs)
		}
	}
}
