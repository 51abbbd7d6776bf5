package secrets_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/secrets"
)

const (
	stamps         = `"created_by":"usr_admin","created_at":"2026-01-05T08:30:00.123456Z","updated_at":"2026-01-05T08:30:00.123456Z"`
	credentialJSON = `{"id":"known","name":"web","kind":"vmware","settings":{"username":"ops","validate_certs":false},"org_id":"org_1","has_secret":true,
		"source":{"engine":"vault","config":{"path":"a/b","kv_version":2}},` + stamps + `}`
	bareCredential = `{"id":"known","name":"web","kind":"vmware","has_secret":false,` + stamps + `}`
	typeJSON       = `{"id":"known","name":"web","fields":[{"name":"key","type":"text","secret":true,"required":false},
		{"name":"region","label":"Region","type":"choice","secret":false,"required":true,"default":"eu","choices":["eu","us"]}],
		"inject":{"env":{"KEY":"{{key}}"},"extra_vars":{"n":98765432109876543210},"files":{"a.ini":"k={{key}}"}},` + stamps +
		`}`
	bareType = `{"id":"known","name":"web","fields":[{"name":"key","type":"text","secret":true,"required":false}],"inject":{},` + stamps + `}`
)

// kind contains the properties of one of the two kinds of objects.
type kind struct{ path, list, missing, object, bare, input string }

func kinds() []kind {
	return []kind{
		{"/v1/credentials", "credentials", "credential_not_found", credentialJSON, bareCredential,
			`{"name":"a","kind":"vmware"}`},
		{"/v1/credential-types", "credential_types", "credential_type_not_found", typeJSON, bareType,
			`{"name":"a","fields":[{"name":"key","type":"text"}]}`},
	}
}

func TestEveryKind(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		t.Run(k.list, func(t *testing.T) {
			t.Parallel()
			f := setup(t)
			f.Call("POST", k.path, "admin", k.input).Is(201, k.object).Has("Location", k.path+"/known").Has("ETag", `"3"`)
			f.Call("GET", k.path+"/known", "admin", "").Is(200, k.object).Has("ETag", `"3"`)
			f.wasAsked("known", int64(0))
			f.Call("GET", k.path+"/other", "admin", "").Problem(404, k.missing)
			f.Call("GET", k.path+"/known?x=1", "admin", "").Problem(400, "invalid")

			f.Call("PUT", k.path+"/known", "admin", k.input).Is(200, k.object).Has("ETag", `"3"`).Has("Location", "")
			f.Call("PUT", k.path+"/known", "admin", k.input, "If-Match", `"3"`).Is(200, k.object)
			if got := f.fake.last(); got[1] != int64(3) {
				t.Errorf("asked %v", got)
			}
			f.Call("PUT", k.path+"/other", "admin", k.input).Problem(404, k.missing)
			f.Call("DELETE", k.path+"/other", "admin", "").Problem(404, k.missing)
			for _, header := range []string{`"2"`, `W/"3"`, "3", `"3", "4"`} {
				f.Call("PUT", k.path+"/known", "admin", k.input, "If-Match", header).Problem(412, "precondition_failed")
				f.Call("DELETE", k.path+"/known", "admin", "", "If-Match", header).Problem(412, "precondition_failed")
			}
			for _, header := range []string{`"3"`, "*"} {
				f.Call("DELETE", k.path+"/known", "admin", "", "If-Match", header).Is(204, "")
			}
			f.wasAsked("known", int64(0), "deleted")
			f.Call("PATCH", k.path+"/known", "admin", k.input).Problem(405, "method_not_allowed")

			f.Call("GET", k.path, "admin", "").Is(200, `{"`+k.list+`":[`+k.object+`],"count":1,"total":7,"limit":1000}`)
			f.Call("GET", k.path+"?limit=5", "admin", "").Is(200, `{"`+k.list+`":[`+k.object+`],"count":1,"total":7,"limit":5}`)
			for _, query := range []string{"limit=x", "limit=-1", "offset=1.5", "nope=http", "name=a&name=b", "name=%00",
				"name=%ff"} {
				f.Call("GET", k.path+"?"+query, "admin", "").Problem(400, "invalid")
			}
			f.fake.bare = true
			f.Call("GET", k.path+"/known", "admin", "").Is(200, k.bare)
			large := strings.Repeat("a", 1<<20)
			f.Call("POST", k.path, "admin", `{"name":"`+large+`"}`).Problem(413, "too_large")
		})
	}
}

func TestPutTakesWhatGetReturned(t *testing.T) {
	t.Parallel()
	setup(t).PutsBack()
}

func TestFilters(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.Call("GET", "/v1/credentials", "viewer", "")
	f.wasAsked(secrets.Filter{}, page.Window{Limit: 1000})
	f.Call("GET", "/v1/credentials?limit=99999999999999999999&offset=2&name=a%20b&org_id=org_1&kind=aws&type_id=cty_1",
		"viewer", "")
	f.wasAsked(secrets.Filter{Name: "a b", Org: "org_1", Kind: secrets.AWS, TypeID: "cty_1"},
		page.Window{Offset: 2, Limit: 1000})
	f.Call("GET", "/v1/credential-types?name=a%20b&limit=3", "admin", "")
	f.wasAsked("a b", page.Window{Limit: 3})
	f.Call("GET", "/v1/credential-types?org_id=org_1", "admin", "").Problem(400, "invalid")
}

func TestFaultsAreMapped(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		f := setup(t)
		for _, c := range []struct {
			err    error
			status int
			reason string
		}{
			{catalog.NotAllowed.New("not yours to change"), 403, "forbidden"},
			{catalog.NameTaken.New("the name is taken"), 409, "name_taken"},
			{identity.OrgNotFound.New("no such organization"), 404, "org_not_found"},
			{secrets.KeyLost.New("the key of the credential is lost"), 409, "key_lost"},
			{secrets.TypeInUse.New("credentials are of it"), 409, "credential_type_in_use"},
			{secrets.TypeNotFound.New("no such type"), 404, "credential_type_not_found"},
			{fault.BadField("secret.password", "is too long"), 400, "invalid"},
			{fault.Wrap(fault.Unavailable, nil, "the trail is full"), 503, "unavailable"},
		} {
			f.fake.answer(c.err)
			f.Call("POST", k.path, "admin", k.input).Problem(c.status, c.reason)
			f.Call("PUT", k.path+"/known", "admin", k.input).Problem(c.status, c.reason)
			f.Call("DELETE", k.path+"/known", "admin", "").Problem(c.status, c.reason)
		}
		f.fake.answer(object.InUse.New("3 others use it").
			With("used_by", []map[string]string{{"kind": "template", "id": "tpl_1"}}).With("others", 2))
		a := f.Call("DELETE", k.path+"/known", "admin", "")
		a.Problem(409, "in_use")
		var problem struct {
			UsedBy []map[string]string `json:"used_by"`
			Others int
		}
		if err := json.Unmarshal([]byte(a.Body), &problem); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]map[string]string{{"kind": "template", "id": "tpl_1"}}, problem.UsedBy); d != "" ||
			problem.Others != 2 {
			t.Errorf("%s: others %d, %s", k.path, problem.Others, d)
		}
	}
}

// change returns the change that the port gets.
func change(c secrets.Credential, s secrets.Values) secrets.Change {
	c.Name = "a"
	return secrets.Change{Credential: c, Secret: s}
}

func TestCredentialBodies(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for body, want := range map[string]secrets.Change{
		`"kind":"ssh_key","org_id":"org_1","settings":{"username":"ops"},"secret":{"private_key":"P\nQ","passphrase":"","x":null}`: change(
			secrets.Credential{Record: object.Record{Org: "org_1"}, Kind: secrets.SSHKey,
				Settings: map[string]any{"username": "ops"}},
			secrets.Values{"private_key": "P\nQ", "passphrase": ""}),
		`"kind":"vmware","settings":{"validate_certs":true,"server":null},"secret":null,"source":null,"fields":null`: change(
			secrets.Credential{Kind: secrets.VMware, Settings: map[string]any{"validate_certs": true, "server": nil}}, nil),
		`"kind":"env","secret":{"vars":{"B":"<&>","A":"x\"y"}}`: change(secrets.Credential{Kind: secrets.Env},
			secrets.Values{"vars": `{"A":"x\"y","B":"<&>"}`}),
		`"kind":"env","secret":{"vars":""}`: change(secrets.Credential{Kind: secrets.Env}, secrets.Values{"vars": ""}),
		`"kind":"gcp","secret":{"service_account_json":{"n":98765432109876543210}}`: change(
			secrets.Credential{Kind: secrets.GCP}, secrets.Values{"service_account_json": `{"n":98765432109876543210}`}),
		`"kind":"gcp","secret":{"service_account_json":"{ \"n\" : 1 }"}`: change(secrets.Credential{Kind: secrets.GCP},
			secrets.Values{"service_account_json": `{ "n" : 1 }`}),
		`"type_id":"cty_1","fields":{"key":"k","on":true,"n":7},"secret":{"other":"o","off":false}`: change(
			secrets.Credential{TypeID: "cty_1", Fields: map[string]any{"key": "k", "on": true, "n": json.Number("7")}},
			secrets.Values{"other": "o", "off": "false"}),
		`"kind":"token","source":{"engine":"vault","config":{"path":"a","kv_version":2,"token":"t"}}`: change(
			secrets.Credential{Kind: secrets.Token, Source: &secrets.Source{Engine: "vault", Config: map[string]any{
				"path": "a", "kv_version": json.Number("2"), "token": "t"}}}, nil),
		`"kind":"token","source":{"engine":"env"}`: change(secrets.Credential{Kind: secrets.Token,
			Source: &secrets.Source{Engine: "env"}}, nil),
		``: change(secrets.Credential{}, nil),
	} {
		body = `{"name":"a",` + body + `}`
		if body = strings.Replace(body, `,}`, `}`, 1); f.Call("POST", "/v1/credentials", "operator", body).Status != 201 {
			t.Errorf("%s is refused", body)
			continue
		}
		f.wasAsked(want)
		f.fake.kind = want.Kind
		f.Call("PUT", "/v1/credentials/known", "operator", body).Is(200, credentialJSON)
		f.wasAsked("known", int64(0), want)
	}
}

// TestWarnings checks that only the answers to writes of a credential contain warnings.
func TestWarnings(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.fake.bare, f.fake.warnings = true, []secrets.Warning{{Code: secrets.WarnNoSecret, Message: "it has none"}}
	f.fake.kind = secrets.AWS
	warned := strings.TrimSuffix(bareCredential, "}") + `,"warnings":[{"code":"no_secret","message":"it has none"}]}`
	f.Call("POST", "/v1/credentials", "operator", `{"name":"a","kind":"aws"}`).Is(201, warned)
	f.Call("PUT", "/v1/credentials/known", "operator", `{"name":"a","kind":"aws"}`).Is(200, warned)
	f.fake.kind = ""
	f.Call("GET", "/v1/credentials/known", "operator", "").Is(200, bareCredential)
}

func TestTypeBodies(t *testing.T) {
	t.Parallel()
	f := setup(t)
	body := `{"name":"a","fields":[{"name":"key","label":"Key","type":"text","secret":true,"required":true},{"name":"on","type":"bool","default":true},
		{"name":"r","type":"choice","default":"eu","choices":["eu"]}],
		"inject":{"env":{"A":"{{key}}"},"extra_vars":{"a":[98765432109876543210,{"b":null}]},"files":{"f":"x"}}}`
	want := secrets.Type{
		Record: object.Record{Name: "a"},
		Fields: []secrets.Field{
			{Name: "key", Label: "Key", Type: secrets.Text, Secret: true, Required: true},
			{Name: "on", Type: secrets.Bool, Default: true},
			{Name: "r", Type: secrets.Choice, Default: "eu", Choices: []string{"eu"}},
		},
		Inject: secrets.Injectors{
			Env: map[string]string{"A": "{{key}}"}, Files: map[string]string{"f": "x"},
			ExtraVars: map[string]any{"a": []any{json.Number("98765432109876543210"), map[string]any{"b": nil}}},
		},
	}
	f.Call("POST", "/v1/credential-types", "admin", body).Is(201, typeJSON)
	f.wasAsked(want)
	f.Call("PUT", "/v1/credential-types/known", "admin", body).Is(200, typeJSON)
	f.wasAsked("known", int64(0), want)
}
