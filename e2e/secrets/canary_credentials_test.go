package secrets_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/secrets"
)

// canaryCredentials is a credential of every kind and one of a custom type. Each secret member is a canary.
type canaryCredentials struct {
	*canaries
	w   *fixture
	ids map[string]string // by kind; network without the privileged mode is plain_network
}

func newCanaryCredentials(w *fixture, f *canaries) *canaryCredentials {
	c := &canaryCredentials{canaries: f, w: w, ids: map[string]string{}}
	for _, k := range secrets.Kinds() {
		c.add(string(k), k, c.secretOf(k))
	}
	c.add("plain_network", secrets.Network, obj{"password": c.line("plain_network.password")})
	for id := range c.ids {
		if !slices.Contains([]string{"plain_network"}, id) && !slices.Contains(secrets.Kinds(), secrets.Kind(id)) {
			f.t.Errorf("%s is no kind", id)
		}
	}
	if len(c.ids) != 15 {
		f.t.Errorf("%d credentials of built-in kinds", len(c.ids))
	}
	c.custom()
	return c
}

func (c *canaryCredentials) add(name string, k secrets.Kind, secret obj) {
	settings := map[secrets.Kind]obj{
		secrets.Network: {"network_os": "ios"}, secrets.Registry: {"username": "bot", "server": "registry.example.com"},
		secrets.AWS: {"access_key_id": "AKIAEXAMPLE", "region": "eu-central-1"}, secrets.VaultPassword: {"vault_id": "main"},
		secrets.Become: {"method": "sudo"}, secrets.VMware: {"username": "adm", "validate_certs": false},
	}
	c.ids[name] = c.w.credential(string(k), secret, settings[secrets.Kind(name)])
}

// secretOf makes a canary for each secret member of a kind.
func (c *canaryCredentials) secretOf(k secrets.Kind) obj {
	out := obj{}
	for _, m := range k.Members() {
		name := fmt.Sprintf("%s.%s", k, m.Name)
		switch {
		case !m.Secret, m.Name == "passphrase":
		case m.Name == "private_key":
			phrase := c.line("ssh_key.passphrase")
			out["passphrase"] = phrase
			out[m.Name] = c.record(name, read(c.t, keyPair(c.t, phrase)))
		case k == secrets.Env:
			out[m.Name] = obj{"APP_ONE": c.line("env.one"), "APP_TWO": c.lines("env.two")}
		case m.Type == secrets.Object:
			doc := map[string]string{
				"type": "service_account", "private_key": c.lines("gcp.key"), "private_key_id": c.short("gcp.key_id"),
				"client_email": "a@example.com",
			}
			text, err := json.MarshalIndent(doc, "", "  ")
			if err != nil {
				c.t.Fatal(err)
			}
			out[m.Name] = c.record(name, string(text))
		case m.Type == secrets.Multiline:
			out[m.Name] = c.lines(name)
		default:
			out[m.Name] = c.line(name)
		}
	}
	return out
}

func (c *canaryCredentials) custom() {
	cty := c.w.id("/v1/credential-types", obj{
		"name": "pager " + fresh(6),
		"fields": []obj{
			{"name": "region", "type": "choice", "choices": []string{"eu", "us"}, "default": "eu"},
			{"name": "verify", "type": "bool"},
			{"name": "api_key", "type": "text", "secret": true, "required": true},
			{"name": "pem", "type": "multiline", "secret": true},
		},
		"inject": obj{
			"env":        obj{"PAGER_KEY": "k={{api_key}}", "PAGER_CONFIG": "{{files.pager.ini}}"},
			"extra_vars": obj{"pager": obj{"key": "{{ api_key }}", "list": []string{"{{pem}}"}, "verify": "{{verify}}"}},
			"files":      obj{"pager.ini": "[pager]\nregion = {{region}}\nkey = {{api_key}}\n", "PAGER_PEM": "{{pem}}"},
		},
	})
	c.ids["custom"] = c.w.id("/v1/credentials", obj{
		"name": "custom " + fresh(6), "type_id": cty,
		"fields": obj{"verify": true, "api_key": c.line("custom.api_key"), "pem": c.lines("custom.pem")},
	})
}

// without returns all credentials except some, and a file with the canaries of the rest.
func (c *canaryCredentials) without(dir string, names ...string) (ids []string, file string) {
	c.t.Helper()
	left := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(c.ids)) {
		if slices.Contains(names, name) {
			continue
		}
		ids = append(ids, c.ids[name])
		for what, value := range c.values {
			if strings.HasPrefix(what, name+".") {
				left[what] = value
			}
		}
	}
	b, err := json.Marshal(left)
	if err != nil {
		c.t.Fatal(err)
	}
	return ids, saveOpen(c.t, fmt.Sprintf("%s/%s.json", dir, strings.Join(names, "-")), string(b))
}

// tell is a program that prints all canaries of a file in every form that must be masked, and in pieces.
const tell = `
import base64, json, os, shlex, subprocess, sys, time, urllib.parse
kept = json.load(open(os.environ["CANARIES"]))
def write(data):
    while data:
        data = data[os.write(1, data):]
def forms(s):
    raw = s.encode()
    yield raw
    for before in (b"", b"a", b"ab", b"abc"):
        for after in (b"", b"z", b"zz"):
            text = before + raw + after
            yield base64.b64encode(text)
            yield base64.urlsafe_b64encode(text)
            yield base64.b64encode(text).rstrip(b"=")
    yield base64.encodebytes(raw)
    for quote in (urllib.parse.quote, urllib.parse.quote_plus):
        for safe in ("", "/"):
            yield quote(s, safe=safe).encode()
    yield json.dumps(s).encode()
    yield json.dumps(s, ensure_ascii=False).encode()
    yield json.dumps({"deep": json.dumps([s])}).encode()
    yield shlex.quote(s).encode()
    yield json.dumps(s.splitlines()).encode()
    yield json.dumps(shlex.quote(s)).encode()
    yield base64.b64encode(s.strip().encode())
    yield raw.hex().encode()
    yield raw.hex().upper().encode()
    yield (b"a" + raw + b"z").hex().encode()
    yield urllib.parse.quote(s.strip()).encode()
for name, s in kept.items():
    print("telling", name, flush=True)
    for n, form in enumerate(forms(s)):
        write(b"<" + form + b">\n")
        at = (7 * n + 3) % len(form) or 1
        write(b"<" + form[:at])
        time.sleep(0.003)
        write(form[at:] + b">\n")
    for i, c in enumerate(s.encode()):
        write(bytes([c]))
    print(flush=True)
    sys.stderr.write("on the other stream: " + s + "\n"); sys.stderr.flush()
for name in ("env", "export -p", "set", "declare -p"):
    subprocess.run(["bash", "-c", name])
    print(flush=True)
print(dict(os.environ), list(os.environ.values()), json.dumps(dict(os.environ)), flush=True)
for name, value in os.environ.items():
    if os.path.isfile(value) and name != "CANARIES" and name != "_":
        print("the file of", name, flush=True)
        write(open(value, "rb").read())
        if "/secrets/" in value: subprocess.run(["base64", "-w0", value])
json.dump({"told": kept, "list": [list(kept.values())], "encoded": [base64.b64encode(v.encode()).decode() for v in kept.values()],
           "document": json.dumps(kept)}, open(os.environ["WRIT_OUTPUTS"], "w"))
print("told everything", flush=True)
`

// tellingPlay prints them from a playbook in several ways, and succeeds.
const tellingPlay = `
- hosts: all
  gather_facts: true
  vars:
    canaries: "{{ lookup('file', lookup('env', 'CANARIES')) | from_json }}"
  tasks:
    - debug: {var: vars}
    - debug: {msg: "{{ item.value }}"}
      loop: "{{ canaries | dict2items }}"
    - debug: {msg: "{{ item.value | b64encode }} {{ ('a' ~ item.value) | b64encode }} {{ ('ab' ~ item.value) | b64encode }}"}
      loop: "{{ canaries | dict2items }}"
    - debug: {msg: "{{ item.value | urlencode }} {{ item.value | to_json }} {{ item.value | quote }}"}
      loop: "{{ canaries | dict2items }}"
    - command: env
    - command: cat {{ lookup('env', 'CANARIES') }}
    - debug: {msg: "{{ ansible_env }}"}
    - debug: {msg: "{{ pager }}"}
    - set_fact: {kept: "{{ canaries }}"}
    - set_stats: {data: {told: "{{ canaries }}", encoded: "{{ canaries.values() | map('b64encode') | list }}"}}
    - copy: {content: "{{ canaries | to_nice_json }}", dest: "{{ lookup('env', 'PLACE') }}/told.json"}
    - shell: cat "$CANARIES" >&2; exit 3
      ignore_errors: true
    - fail: {msg: "{{ canaries }}"}
      ignore_errors: true
    - assert: {that: "item.value == 'x'", fail_msg: "it is {{ item.value }}", quiet: false}
      loop: "{{ canaries | dict2items }}"
      ignore_errors: true
    - command: /nowhere/at/all "{{ kept | length }}"
      ignore_errors: true
`
