package inject_test

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/writ-automation/writ/modules/secrets/internal/inject"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

const id = "crd_00000000000000000000000001"

// keys unlocks what begins as a key does, and takes the passphrase off its end.
type keys struct{}

func (keys) Unlock(private, passphrase secret.Text) (secrets.Key, error) {
	text, locked := strings.CutSuffix(private.Reveal(), " locked by "+passphrase.Reveal())
	if !strings.HasPrefix(text, "KEY ") || !locked && strings.Contains(text, " locked by ") {
		return secrets.Key{}, fault.BadField("passphrase", "is wrong")
	}
	return secrets.Key{PrivateKey: secret.Text(text), Comment: "of a test"}, nil
}

func opened(kind secrets.Kind, values map[string]string, settings map[string]any) inject.Opened {
	o := inject.Opened{Credential: secrets.Credential{Record: object.Record{ID: id}, Kind: kind, Settings: settings}, Secret: secrets.Values{}}
	for name, value := range values {
		o.Secret[name] = secret.Text(value)
	}
	return o
}

// plain is an injection as it can be compared and printed.
type plain struct {
	Env   map[string]string
	Vars  map[string]any
	Files map[string]string
	Keys  []string
	Login []string // user, password, method, user and password of become
	Vault map[string]string
	Hide  []string
}

func show(i secrets.Injection) plain {
	out := plain{Env: map[string]string{}, Vars: i.ExtraVars, Files: map[string]string{}, Vault: map[string]string{}}
	for name, value := range i.Env {
		out.Env[name] = value.Reveal()
	}
	for _, f := range i.Files {
		out.Files[f.Name] = f.Content.Reveal()
	}
	for _, k := range i.Keys {
		out.Keys = append(out.Keys, k.PrivateKey.Reveal())
	}
	l := i.Login
	out.Login = []string{l.User, l.Password.Reveal(), l.BecomeMethod, l.BecomeUser, l.BecomePassword.Reveal()}
	if strings.Join(out.Login, "") == "" {
		out.Login = nil
	}
	for _, v := range l.Vaults {
		out.Vault[v.ID] = v.Password.Reveal()
	}
	for _, h := range i.Hide {
		out.Hide = append(out.Hide, h.Reveal())
	}
	slices.Sort(out.Hide)
	for _, m := range []any{&out.Env, &out.Files, &out.Vault} {
		if m := m.(*map[string]string); len(*m) == 0 {
			*m = nil
		}
	}
	if len(out.Vars) == 0 {
		out.Vars = nil
	}
	return out
}

func mark(name string) string { return secret.FileMark(id + "/" + name) }

type mapping struct {
	name     string
	kind     secrets.Kind
	secret   map[string]string
	settings map[string]any
	want     plain
}

func mappings() []mapping {
	return append(logins(), accounts()...)
}

func logins() []mapping {
	const key = "KEY of a host"
	pass := map[string]string{"password": "pass-word"}
	hidden := []string{"pass-word"}
	return []mapping{
		{
			"ssh key", secrets.SSHKey, map[string]string{"private_key": key + " locked by open", "passphrase": "open"},
			map[string]any{"username": "deploy"},
			plain{Keys: []string{key}, Login: []string{"deploy", "", "", "", ""}, Hide: []string{key, key + " locked by open", "open"}},
		},
		{"ssh key alone", secrets.SSHKey, map[string]string{"private_key": key}, nil, plain{Keys: []string{key}, Hide: []string{key}}},
		{
			"ssh password", secrets.SSHPassword, pass, map[string]any{"username": "deploy"},
			plain{Login: []string{"deploy", "pass-word", "", "", ""}, Hide: hidden},
		},
		{"ssh password alone", secrets.SSHPassword, pass, nil, plain{Login: []string{"", "pass-word", "", "", ""}, Hide: hidden}},
		{
			"vault password", secrets.VaultPassword, pass, map[string]any{"vault_id": "prod"},
			plain{Vault: map[string]string{"prod": "pass-word"}, Hide: hidden},
		},
		{"vault password alone", secrets.VaultPassword, pass, nil, plain{Vault: map[string]string{"default": "pass-word"}, Hide: hidden}},
		{"become password", secrets.BecomePassword, pass, nil, plain{Login: []string{"", "", "", "", "pass-word"}, Hide: hidden}},
		{
			"become", secrets.Become, pass, map[string]any{"method": "su", "username": "oracle"},
			plain{Login: []string{"", "", "su", "oracle", "pass-word"}, Hide: hidden},
		},
		{"become alone", secrets.Become, pass, nil, plain{Login: []string{"", "", "", "", "pass-word"}, Hide: hidden}},
		{
			"network", secrets.Network, map[string]string{"password": "pass-word", "authorize_password": "enable-me"},
			map[string]any{"username": "netops", "network_os": "ios"},
			plain{
				Env: map[string]string{
					"ANSIBLE_NET_USERNAME": "netops", "ANSIBLE_NET_PASSWORD": "pass-word", "ANSIBLE_NET_AUTHORIZE": "1",
					"ANSIBLE_NET_AUTH_PASS": "enable-me",
				},
				Vars: map[string]any{
					"ansible_user": "netops", "ansible_password": "pass-word", "ansible_network_os": "ios", "ansible_become": true,
					"ansible_become_method": "enable", "ansible_become_password": "enable-me",
				},
				Hide: []string{"enable-me", "pass-word"},
			},
		},
		{
			"network alone", secrets.Network, pass, nil,
			plain{
				Env: map[string]string{"ANSIBLE_NET_PASSWORD": "pass-word"}, Vars: map[string]any{"ansible_password": "pass-word"}, Hide: hidden,
			},
		},
		{
			"env", secrets.Env, map[string]string{"vars": `{"API_KEY":"k-1","EMPTY":""}`}, nil,
			plain{Env: map[string]string{"API_KEY": "k-1", "EMPTY": ""}, Hide: []string{"k-1", `{"API_KEY":"k-1","EMPTY":""}`}},
		},
		{
			"token", secrets.Token, map[string]string{"token": "tok-1"}, map[string]any{"env_name": "GITHUB_TOKEN"},
			plain{Env: map[string]string{"GITHUB_TOKEN": "tok-1"}, Hide: []string{"tok-1"}},
		},
		{
			"token alone", secrets.Token, map[string]string{"token": "tok-1"}, nil,
			plain{Env: map[string]string{"TOKEN": "tok-1"}, Hide: []string{"tok-1"}},
		},
	}
}

func accounts() []mapping {
	pass := map[string]string{"password": "pass-word"}
	registry := func(key, auth, server string) plain {
		return plain{
			Files: map[string]string{id + "/config.json": `{"auths":{"` + key + `":{"auth":"` + auth + `"}}}`},
			Env: map[string]string{
				"DOCKER_CONFIG": mark(""), "REGISTRY_AUTH_FILE": mark("config.json"), "REGISTRY_SERVER": server,
				"REGISTRY_PASSWORD": "pass-word",
			},
			Hide: []string{auth, "pass-word"},
		}
	}
	named := registry("registry.example.com:5000", "Ym90OnBhc3Mtd29yZA==", "https://registry.example.com:5000/")
	named.Env["REGISTRY_USERNAME"] = "bot"
	const account = `{"type":"service_account","private_key_id":"kid-1","private_key":"PEM-1","token_uri":"https://t.example"}`
	return []mapping{
		{
			"registry", secrets.Registry, pass, map[string]any{"username": "bot", "server": "https://registry.example.com:5000/"}, named,
		},
		{"registry alone", secrets.Registry, pass, nil, registry("https://index.docker.io/v1/", "dG9rZW46cGFzcy13b3Jk", "docker.io")},
		{
			"aws", secrets.AWS, map[string]string{"secret_access_key": "sak-1", "session_token": "st-1"},
			map[string]any{"access_key_id": "AKIA1", "region": "eu-central-1"},
			plain{
				Env: map[string]string{
					"AWS_ACCESS_KEY_ID": "AKIA1", "AWS_SECRET_ACCESS_KEY": "sak-1", "AWS_SESSION_TOKEN": "st-1",
					"AWS_REGION": "eu-central-1", "AWS_DEFAULT_REGION": "eu-central-1",
				},
				Hide: []string{"sak-1", "st-1"},
			},
		},
		{
			"aws alone", secrets.AWS, map[string]string{"secret_access_key": "sak-1"}, nil,
			plain{Env: map[string]string{"AWS_SECRET_ACCESS_KEY": "sak-1"}, Hide: []string{"sak-1"}},
		},
		{
			"azure", secrets.Azure, map[string]string{"client_secret": "cs-1"},
			map[string]any{"client_id": "c", "tenant_id": "t", "subscription_id": "s"},
			plain{
				Env: map[string]string{
					"AZURE_CLIENT_ID": "c", "AZURE_CLIENT_SECRET": "cs-1", "AZURE_SECRET": "cs-1", "AZURE_TENANT_ID": "t", "AZURE_TENANT": "t",
					"AZURE_SUBSCRIPTION_ID": "s", "ARM_CLIENT_ID": "c", "ARM_CLIENT_SECRET": "cs-1", "ARM_TENANT_ID": "t",
					"ARM_SUBSCRIPTION_ID": "s",
				},
				Hide: []string{"cs-1"},
			},
		},
		{
			"azure alone", secrets.Azure, map[string]string{"client_secret": "cs-1"}, nil,
			plain{
				Env:  map[string]string{"AZURE_CLIENT_SECRET": "cs-1", "AZURE_SECRET": "cs-1", "ARM_CLIENT_SECRET": "cs-1"},
				Hide: []string{"cs-1"},
			},
		},
		{
			"gcp", secrets.GCP, map[string]string{"service_account_json": account}, map[string]any{"project": "prod"},
			plain{
				Files: map[string]string{id + "/service_account.json": account},
				Env: map[string]string{
					"GOOGLE_APPLICATION_CREDENTIALS": mark("service_account.json"), "GCP_SERVICE_ACCOUNT_FILE": mark("service_account.json"),
					"CLOUDSDK_AUTH_CREDENTIAL_FILE_OVERRIDE": mark("service_account.json"), "GCP_AUTH_KIND": "serviceaccount",
					"GCP_PROJECT": "prod", "GOOGLE_CLOUD_PROJECT": "prod", "CLOUDSDK_CORE_PROJECT": "prod",
				},
				Hide: []string{"PEM-1", "kid-1", account},
			},
		},
		{
			"gcp alone", secrets.GCP, map[string]string{"service_account_json": `{}`}, nil,
			plain{
				Files: map[string]string{id + "/service_account.json": `{}`},
				Env: map[string]string{
					"GOOGLE_APPLICATION_CREDENTIALS": mark("service_account.json"), "GCP_SERVICE_ACCOUNT_FILE": mark("service_account.json"),
					"CLOUDSDK_AUTH_CREDENTIAL_FILE_OVERRIDE": mark("service_account.json"), "GCP_AUTH_KIND": "serviceaccount",
				},
				Hide: []string{"{}"},
			},
		},
		{
			"vmware", secrets.VMware, pass, map[string]any{"username": "adm", "server": "vc.example.com", "validate_certs": false},
			plain{
				Env: map[string]string{
					"VMWARE_HOST": "vc.example.com", "VMWARE_USER": "adm", "VMWARE_PASSWORD": "pass-word", "VMWARE_VALIDATE_CERTS": "false",
				},
				Hide: []string{"pass-word"},
			},
		},
		{"vmware alone", secrets.VMware, pass, nil, plain{Env: map[string]string{"VMWARE_PASSWORD": "pass-word"}, Hide: []string{"pass-word"}}},
		{
			"openstack", secrets.OpenStack, pass, map[string]any{
				"auth_url": "https://k.example", "username": "adm", "project_name": "p", "domain_name": "d", "region": "r",
			},
			plain{
				Env: map[string]string{
					"OS_AUTH_URL": "https://k.example", "OS_USERNAME": "adm", "OS_PASSWORD": "pass-word", "OS_PROJECT_NAME": "p",
					"OS_USER_DOMAIN_NAME": "d", "OS_PROJECT_DOMAIN_NAME": "d", "OS_REGION_NAME": "r", "OS_IDENTITY_API_VERSION": "3",
				},
				Hide: []string{"pass-word"},
			},
		},
		{
			"openstack alone", secrets.OpenStack, pass, nil,
			plain{Env: map[string]string{"OS_PASSWORD": "pass-word", "OS_IDENTITY_API_VERSION": "3"}, Hide: []string{"pass-word"}},
		},
	}
}

func TestOfEveryKind(t *testing.T) {
	t.Parallel()
	seen := map[secrets.Kind]int{}
	for _, tt := range mappings() {
		seen[tt.kind]++
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := inject.Of(opened(tt.kind, tt.secret, tt.settings), keys{})
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(tt.want.Hide)
			if diff := cmp.Diff(tt.want, show(got)); diff != "" {
				t.Errorf("injection (-want +got):\n%s", diff)
			}
		})
	}
	for _, k := range secrets.Kinds() {
		if seen[k] == 0 {
			t.Errorf("no case of the kind %s", k)
		}
	}
}

func TestOfRefusesWhatCannotBeUsed(t *testing.T) {
	t.Parallel()
	const canary = "canary-value"
	for _, tt := range []struct {
		name string
		o    inject.Opened
		want string
	}{
		{"a key that is none", opened(secrets.SSHKey, map[string]string{"private_key": canary}, nil), "passphrase: is wrong"},
		{"a list as vars", opened(secrets.Env, map[string]string{"vars": `["` + canary + `"]`}, nil), "vars is no object of strings"},
		{"a number in vars", opened(secrets.Env, map[string]string{"vars": `{"A":1,"B":"` + canary + `"}`}, nil), "vars is no object of strings"},
		{"a null in vars", opened(secrets.Env, map[string]string{"vars": `{"A":null}`}, nil), "vars is no object of strings"},
		{
			"a name that is none", opened(secrets.Env, map[string]string{"vars": `{"A=` + canary + `":"x"}`}, nil),
			"vars: a name in it is not one of an environment variable",
		},
		{
			"a name of the executor", opened(secrets.Env, map[string]string{"vars": `{"WRIT_RUN_ID":"` + canary + `"}`}, nil),
			"vars: a name in it begins with WRIT_, which the executor sets",
		},
		{
			"a NUL in a variable", opened(secrets.Env, map[string]string{"vars": `{"A":"` + canary + `\u0000"}`}, nil),
			"vars: a value in it holds a NUL character",
		},
		{"a NUL", opened(secrets.Token, map[string]string{"token": canary + "\x00"}, nil), "token holds a NUL character"},
		{
			"a name of a variable", opened(secrets.Token, map[string]string{"token": canary}, map[string]any{"env_name": "A B"}),
			"env_name: a name in it is not one of an environment variable",
		},
		{"a kind of another time", opened("tape", map[string]string{"password": canary}, nil), `the kind "tape" is unknown`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := inject.Of(tt.o, keys{})
			if err == nil || err.Error() != tt.want {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
}

// brokenReader fails for another reason than the key.
type brokenReader struct{}

var errBroken = errors.New("out of order")

func (brokenReader) Unlock(secret.Text, secret.Text) (secrets.Key, error) {
	return secrets.Key{}, errBroken
}

func TestOfPassesFailuresOfTheReader(t *testing.T) {
	t.Parallel()
	if _, err := inject.Of(opened(secrets.SSHKey, map[string]string{"private_key": "KEY"}, nil), brokenReader{}); !errors.Is(err, errBroken) {
		t.Errorf("error %v", err)
	}
}

// TestOfHidesEverySecret makes credentials of every kind with any secrets.
func TestOfHidesEverySecret(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[ -~\n]{1,40}`)
		kind := rapid.SampledFrom(secrets.Kinds()).Draw(t, "kind")
		values, inner := map[string]string{}, []string{}
		for _, m := range kind.Members() {
			if !m.Secret || !m.Required && !rapid.Bool().Draw(t, "set "+m.Name) {
				continue
			}
			value := text.Draw(t, m.Name)
			switch {
			case m.Name == "private_key":
				value = "KEY " + value
			case m.Type == secrets.Object:
				doc := map[string]string{"PRIVATE_KEY": value}
				raw, err := json.Marshal(doc)
				if err != nil {
					t.Fatal(err)
				}
				inner = append(inner, value)
				value = string(raw)
			}
			values[m.Name] = value
		}
		got, err := inject.Of(opened(kind, values, nil), keys{})
		if err != nil {
			t.Fatal(err)
		}
		for _, value := range append(slices.Collect(maps.Values(values)), inner...) {
			if !slices.Contains(got.Hide, secret.Text(value)) {
				t.Errorf("%q of the kind %s is not hidden", value, kind)
			}
		}
	})
}
