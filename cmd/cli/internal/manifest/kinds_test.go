package manifest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/cmd/cli/internal/manifest"
)

// TestAccessInFiles compares the messages for documents that say who may do what, and for credentials. Every problem
// of a file is reported.
func TestAccessInFiles(t *testing.T) {
	t.Parallel()
	clear := func(member string) string {
		return "is a secret, which no file may contain: let a source provide it, or give it to apply with " +
			"--secret 'CREDENTIAL." + member + "=@FILE' or =env:VARIABLE"
	}
	for _, c := range []struct{ content, want string }{
		{"{kind: Grant, spec: {subject: 'teem:web', object: host, level: use}}", `a.yaml:1: spec.subject: must be one of ` +
			"user:NAME, team:NAME\na.yaml:1: spec.object: must be one of project:NAME, template:NAME, inventory:NAME, " +
			"credential:NAME, queue:NAME\na.yaml:1: spec.subject: is missing\na.yaml:1: spec.object: is missing"},
		{"{kind: Grant, name: x, spec: {subject: 'team:web', object: 'queue:gpu'}}",
			"a.yaml:1: name: is not of a grant: its subject and its object identify it\na.yaml:1: spec.level: is missing"},
		{"kind: Grant\nspec: {subject: 'team:web', object: 'queue:gpu', level: use}\n---\n" +
			"kind: Grant\nspec: {subject: 'team:web', object: 'queue:gpu', level: read}\n",
			"a.yaml:4: grant to team:web on queue:gpu is already in DIR/a.yaml:1"},
		{"{kind: Team, name: web, org: retail, spec: {members: [ada, bob, ada, '']}}",
			"a.yaml:1: org: must be absent: a team belongs to no organization\n" +
				"a.yaml:1: spec.members[2]: names ada twice\na.yaml:1: spec.members[3]: names nobody"},
		{"{kind: Organization, name: web, spec: {members: [{usr: ada, role: admin}]}}",
			`a.yaml:1: spec.members[0].usr: is unknown: did you mean "user"? The members are user, role` + "\n" +
				"a.yaml:1: spec.members[0]: names nobody"},
		{"kind: Credential\nname: a\nspec:\n  kind: ssh_key\n  secret:\n    private_key: x\n    passphrase: y\n",
			"a.yaml:6: spec.secret.private_key: " + clear("private_key") + "\na.yaml:7: spec.secret.passphrase: " +
				clear("passphrase")},
		{"kind: Credential\nname: a\nspec:\n  kind: token\n  settings:\n    token: x\n  secret: y\n",
			"a.yaml:7: spec.secret: " + clear("MEMBER") + "\na.yaml:6: spec.settings.token: " + clear("token")},
		{"kind: Credential\nname: a\nspec:\n  kind: token\n  source: {engine: vault, config: {token: x, path: secret/a}}\n",
			"a.yaml:5: spec.source.config.token: " + clear("source.token")},
		{"kind: Credential\nname: a\nspec: {kind: token, source: {engine: mine, config: {api_key: x}}}\n",
			"a.yaml:3: spec.source.config.api_key: " + clear("source.api_key")},
	} {
		dir := tree(t, map[string]string{"a.yaml": c.content})
		_, err := manifest.Read(dir)
		if err == nil {
			t.Errorf("%s: is taken\nwant %s", c.content, c.want)
			continue
		}
		got := strings.ReplaceAll(strings.ReplaceAll(err.Error(), dir+"/a", "a"), "in a.yaml", "in DIR/a.yaml")
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s:\n%s", c.content, diff)
		}
	}
}

// TestAccessToAPI makes requests of documents that name subjects and accounts, and the documents of the answers.
func TestAccessToAPI(t *testing.T) {
	t.Parallel()
	ids := map[manifest.Key]string{
		{Kind: manifest.User, Name: "ada"}:                     "usr_" + strings.Repeat("1", 26),
		{Kind: manifest.User, Name: "bob"}:                     "usr_" + strings.Repeat("2", 26),
		{Kind: manifest.Team, Name: "web"}:                     "team_" + strings.Repeat("3", 26),
		{Kind: manifest.Template, Org: "retail", Name: "a: b"}: "tpl_" + strings.Repeat("4", 26),
		{Kind: manifest.CredentialType, Name: "api"}:           "cty_" + strings.Repeat("5", 26),
	}
	x := manifest.Index{}
	names := map[string]manifest.Key{}
	for k, id := range ids {
		x.Add(k)
		names[id] = k
	}
	for content, want := range map[string]string{
		"{kind: Grant, org: retail, spec: {subject: 'team:web', object: 'template:a: b', level: use}}": `{"level":"use",` +
			`"name":"team:web on template:a: b","object":"tpl_44444444444444444444444444","subject":` +
			`"team:team_33333333333333333333333333"}`,
		"{kind: Grant, spec: {subject: 'user:ada', object: 'queue:gpu', level: read}}": `{"level":"read",` +
			`"name":"user:ada on queue:gpu","object":"queue:gpu","subject":"user:usr_11111111111111111111111111"}`,
		"{kind: Team, name: web, spec: {members: [bob, ada]}}": `{"members":["usr_11111111111111111111111111",` +
			`"usr_22222222222222222222222222"],"name":"web"}`,
		"{kind: Organization, name: retail, spec: {members: [{user: bob, role: admin}, {user: ada}]}}": `{"members":[` +
			`{"role":"member","user_id":"usr_11111111111111111111111111"},` +
			`{"role":"admin","user_id":"usr_22222222222222222222222222"}],"name":"retail"}`,
		"{kind: Credential, name: a, spec: {kind: custom, type: api, fields: {region: eu}}}": `{"fields":{"region":"eu"},` +
			`"name":"a","type_id":"cty_55555555555555555555555555"}`,
		"{kind: Queue, name: gpu}": `{"max_concurrent":0,"name":"gpu"}`,
		"{kind: Policy, name: a, spec: {effect: deny, actors: ['team:web', 'user:usr_" + strings.Repeat("9", 26) +
			"'], approver_teams: [web]}}": `{"actors":["team:team_33333333333333333333333333",` +
			`"user:usr_99999999999999999999999999"],"approver_teams":["team_33333333333333333333333333"],"effect":"deny",` +
			`"enabled":true,"name":"a"}`,
	} {
		docs, err := manifest.Read(tree(t, map[string]string{"a.yaml": content}))
		if err != nil {
			t.Fatalf("%s: %v", content, err)
		}
		d := docs[0]
		if p := d.Resolve(x); len(p) > 0 {
			t.Fatalf("%s: %v", content, p)
		}
		d.Identify()
		body, err := manifest.ToAPI(d, nil, func(k manifest.Key) (string, error) {
			if k.Kind == manifest.Queue {
				return k.Name, nil
			}
			return ids[k], nil
		})
		raw, _ := json.Marshal(body)
		if err != nil || string(raw) != want {
			t.Errorf("%s: %v\n got %s\nwant %s", content, err, raw, want)
		}
		k, _ := manifest.KindOf(d.Kind)
		back := manifest.FromAPI(k, body, func(kind, id string) manifest.Ref {
			if key, ok := names[id]; ok {
				return manifest.Ref{Key: key}
			}
			return manifest.Ref{Key: manifest.Key{Kind: kind}, ID: id}
		})
		if changes := manifest.Compare(k, back, d.Spec); len(changes) > 0 {
			t.Errorf("%s: the answer differs: %v", content, changes)
		}
		again, _, err := manifest.Encode(&manifest.Document{Key: d.Key, Spec: back}, "a", x)
		if err != nil {
			t.Fatal(err)
		}
		more, err := manifest.Read(tree(t, map[string]string{"a.yaml": string(again)}))
		if err != nil || len(more[0].Resolve(x)) > 0 || len(manifest.Compare(k, back, more[0].Spec)) > 0 {
			t.Errorf("%v: read again\n%s", err, again)
		}
	}
}

// TestOmittedMembersStay tells a group without the member from one without accounts.
func TestOmittedMembersStay(t *testing.T) {
	t.Parallel()
	k, _ := manifest.KindOf(manifest.Team)
	stored := map[string]any{"members": []any{manifest.Ref{Key: manifest.Key{Kind: manifest.User, Name: "ada"}}}}
	if c := manifest.Compare(k, stored, map[string]any{}); len(c) != 0 {
		t.Errorf("omitted: %v", c)
	}
	if c := manifest.Compare(k, stored, map[string]any{"members": []any{}}); len(c) != 1 {
		t.Errorf("empty: %v", c)
	}
}

func TestNear(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, want string }{
		{"deplyo", "Deploy"}, {"deploy", "Deploy"}, {"Deploy it", "Deploy"}, {"Deploy them", ""}, {"", ""},
		{"we", "web"}, {"x", ""},
		{strings.Repeat("d", 1000), ""},
	} {
		if got := manifest.Near(c.name, []string{"Deploy", "web", strings.Repeat("e", 1000)}); got != c.want {
			t.Errorf("%q: %q, want %q", c.name, got, c.want)
		}
	}
	x := manifest.Index{}
	x.Add(manifest.Key{Kind: manifest.Template, Name: "Deploy"})
	if _, err := x.Find(manifest.Template, "Deplyo", ""); err == nil ||
		err.Error() != `there is no template "Deplyo": did you mean "Deploy"?` {
		t.Error(err)
	}
}
