package inventory_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/adapters/inventory"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/secret"
)

type texts = map[string]secret.Text

const clouds = "clouds:\n  one:\n    password: c4nary-of-the-cloud\n"

// cloud returns the Access of a credential with variables, a file and a file in a directory.
func cloud() catalog.Access {
	return catalog.Access{
		Env: texts{
			"CLOUD_TOKEN": "c4nary $HOME `x` \"'\\", "CLOUD_FILE": secret.Text(secret.FileMark("clouds.yml")),
			"CLOUD_DIR": secret.Text("at=" + secret.FileMark("conf/") + ":" + secret.FileMark("conf/key.pem") + ";"),
			"GIVEN":     "by the credential",
		},
		Files: texts{"clouds.yml": clouds, "conf/key.pem": "c4nary key"},
	}
}

// failureReason prints the received variables and files as host variables.
const failureReason = `import os
def told():
    e = os.environ
    at, key = e['CLOUD_DIR'].removesuffix(';').split('=')[1].split(':')
    mode = lambda p: oct(os.stat(p).st_mode & 0o777)
    return {'token': e['CLOUD_TOKEN'], 'file': open(e['CLOUD_FILE']).read(), 'key': open(key).read(), 'inside': os.path.dirname(key) == at,
            'modes': [mode(e['CLOUD_FILE']), mode(key), mode(at), mode(os.path.dirname(at))], 'given': e['GIVEN'], 'listed': sorted(os.listdir(at))}
`

// wantVariables returns the expected output.
func wantVariables() []string {
	return []string{
		`"token":"c4nary $HOME ` + "`x`" + ` \"'\\"`, `"file":"clouds:\n  one:\n    password: c4nary-of-the-cloud\n"`,
		`"key":"c4nary key"`,
		`"inside":true`, `"modes":["0o600","0o600","0o700","0o700"]`, `"given":"by the credential"`, `"listed":["key.pem"]`,
	}
}

// TestProgramsGetWhatACredentialGives checks the variables and files in a script, a script of a checkout and an Ansible
// plugin.
func TestProgramsGetWhatACredentialGives(t *testing.T) {
	t.Parallel()
	k := collector(t, func(c *inventory.Config) { c.Environ = []string{"GIVEN=by the operator"} })
	text := "#!/usr/bin/env python3\n" + failureReason +
		"import json\nprint(json.dumps({'_meta': {'hostvars': {'h': told()}}, 'web': ['h']}))\n"
	tree := t.TempDir()
	write(t, filepath.Join(tree, "hosts.py"), text, 0o644)
	write(t, filepath.Join(tree, "ansible.cfg"), "[defaults]\ninventory_plugins = ./plugins\n", 0o644)
	write(t, filepath.Join(tree, "plugins/acme.py"), `from ansible.plugins.inventory import BaseInventoryPlugin
DOCUMENTATION = "name: acme\nshort_description: tells what it gets\noptions:\n  plugin: {required: true, choices: [acme]}\n"
`+failureReason+`class InventoryModule(BaseInventoryPlugin):
    NAME = 'acme'
    def parse(self, inventory, loader, path, cache=True):
        super().parse(inventory, loader, path, cache)
        inventory.add_host('h')
        for name, value in told().items():
            inventory.set_variable('h', name, value)
`, 0o644)
	ofTree := catalog.Collection{Kind: catalog.ScriptSource, Tree: tree, Path: "hosts.py"}
	ofPlugin := plugin(map[string]any{"plugin": "acme"})
	ofPlugin.Tree = tree
	for name, c := range map[string]catalog.Collection{"script": script(text), "script of a checkout": ofTree,
		"plugin": ofPlugin} {
		c.Access = cloud()
		content, _ := collect(t, k, c)
		// From 2.19 on Ansible marks what a plugin brings as no template.
		content = regexp.MustCompile(`\{"__ansible_unsafe":("(?:[^"\\]|\\.)*")\}`).ReplaceAllString(content, "$1")
		for _, part := range wantVariables() {
			if !strings.Contains(content, part) {
				t.Errorf("%s: %s is not in %s", name, part, content)
			}
		}
	}
}

// TestWhatACredentialCannotGive checks that invalid variables and files are refused before a program starts.
// Keeps T56.
func TestWhatACredentialCannotGive(t *testing.T) {
	t.Parallel()
	mark := filepath.Join(t.TempDir(), "ran")
	k := collector(t, nil)
	file := func(name string) catalog.Access { return catalog.Access{Files: texts{name: "c4nary"}} }
	env := func(name string, value secret.Text) catalog.Access { return catalog.Access{Env: texts{name: value}} }
	for phrase, list := range map[string][]catalog.Access{
		"a file with the name": {file(""), file("."), file(".."), file("../x"), file("./x"), file("a/.."),
			file("/etc/x"), file("a/b/c"), file("a\\b c"), file("a\x00")},
		"not the name": {env("", "x"), env("A-B", "x"), env("A=B", "x"), env("1A", "x"), env("A\x00B", "x")},
		"which the server sets itself": {env("PATH", "/c4nary"), env("HOME", "x"), env("ANSIBLE_CONFIG", "x"),
			env("ANSIBLE_INVENTORY_ENABLED", "all")},
		"a NUL character": {env("A", "c4nary\x00"), env("A", secret.Text(secret.FileMark("unknown"))),
			env("A", secret.Text(secret.FileMark("x/")))},
		"to more than": {env("A", secret.Text(strings.Repeat("x", 128<<10)))},
	} {
		for _, a := range list {
			c := script("#!/bin/sh\ntouch " + mark + "\necho '{}'\n")
			c.Access = a
			refused(t, k, c, phrase)
		}
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a program ran")
	}
	c := script("#!/bin/sh\necho '{}'\n")
	c.Access = env("A", secret.Text(strings.Repeat("x", 128<<10-3)))
	collect(t, k, c)
}

// TestProgramsDoNotTellSecrets checks errors for secrets in all forms and at all line breaks of Ansible.
func TestProgramsDoNotTellSecrets(t *testing.T) {
	t.Parallel()
	k := collector(t, nil)
	long := "L" + strings.Repeat("c4nary0123456789", 12) + "-+/E"
	pem := "-----BEGIN KEY-----\nc4naryfirst9\nc4narysecond\n-----END KEY-----\n"
	access := catalog.Access{
		Env: texts{"LONG": secret.Text(long), "SPACED": "two c4nary words",
			"AT": secret.Text("--key=c4nary" + secret.FileMark("pem"))},
		Headers: texts{"Authorization": "Bearer c4naryheader"}, Files: texts{"pem": secret.Text(pem)},
	}
	for name, program := range map[string]string{
		"as it is":  `echo "boom $LONG" >&2`,
		"broken":    `echo "boom a b c d e f g h i j k l m n o p q r s t u v w x y z $LONG and $LONG" >&2`,
		"spaced":    `echo "boom $SPACED" >&2`,
		"encoded":   `printf 'boom %s' "$LONG" | tr -d '\n' >&2; printf ' '"$(printf %s "$LONG" | base64 -w0)" >&2`,
		"the file":  `echo "boom $(cat "${AT#--key=c4nary}")" >&2`,
		"a line":    `echo "boom $(sed -n 2p "${AT#--key=c4nary}")" >&2`,
		"as JSON":   `python3 -c 'import json,os,sys; print("boom", json.dumps(open(os.environ["AT"][12:]).read()), file=sys.stderr)'`,
		"as Python": `python3 -c 'import os,sys; print("boom", repr(open(os.environ["AT"][12:]).read()), file=sys.stderr)'`,
		"the mark":  `echo "boom $AT" >&2`,
		"a header":  `echo "boom c4naryheader" >&2`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := script("#!/bin/sh\n" + program + "\nexit 3\n")
			c.Access = access
			err := refused(t, k, c, "boom", "***")
			for _, part := range []string{"0123456789", base64.StdEncoding.EncodeToString([]byte(long))[8:40], "first9",
				"second", "words"} {
				if strings.Contains(strings.ReplaceAll(fmt.Sprint(err), " ", ""), part) {
					t.Errorf("%s tells %s: %v", name, part, err)
				}
			}
		})
	}
	listing := script("#!/bin/sh\necho '{\"web\": {\"hosts\": 1, \"'$SPACED'\": 2}}'\n")
	listing.Access = access
	refused(t, k, listing)
}

// TestHeadersOfACredential checks that headers of the source take precedence, and that redirects do not get the
// credential's headers.
func TestHeadersOfACredential(t *testing.T) {
	t.Parallel()
	k := collector(t, home)
	var strange atomic.Pointer[http.Header]
	other := serve(t, func(w http.ResponseWriter, r *http.Request) {
		h := r.Header.Clone()
		strange.Store(&h)
		_, _ = w.Write([]byte("[web]\nh\n"))
	})
	var seen atomic.Pointer[http.Header]
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		h := r.Header.Clone()
		seen.Store(&h)
		if r.URL.Path == "/away" {
			http.Redirect(w, r, other.URL, http.StatusFound)
			return
		}
		_, _ = w.Write([]byte("[web]\nh\n"))
	})
	access := catalog.Access{Headers: texts{"authorization": "Bearer c4nary-of-the-credential", "X-Vault": "c4nary"},
		Env: texts{"A": "B"}}
	plain := catalog.Collection{Kind: catalog.HTTPSource, Config: catalog.SourceConfig{URL: s.URL}, Access: access}
	for name, c := range map[string]struct {
		headers map[string]string
		want    []string
	}{
		"none of the source":  {nil, []string{"Bearer c4nary-of-the-credential"}},
		"another of the same": {map[string]string{"AUTHORIZATION": "Basic own"}, []string{"Basic own"}},
	} {
		plain.Config.Headers = c.headers
		collect(t, k, plain)
		h := *seen.Load()
		if d := cmp.Diff(c.want, h.Values("Authorization")); d != "" || h.Get("X-Vault") != "c4nary" {
			t.Errorf("%s: %s", name, d)
		}
	}
	plain.Config.Headers, plain.Config.URL = nil, s.URL+"/away"
	collect(t, k, plain)
	if h := *strange.Load(); h.Get("Authorization") != "" || h.Get("X-Vault") != "" {
		t.Errorf("another server got %v", h)
	}
	for _, bad := range []texts{{"Host": "c4nary"}, {"A b": "c4nary"}, {"X-A": "c4nary\r\nX-B: x"},
		{"X-A": secret.Text(strings.Repeat("c4nary", 10_000))}} {
		plain.Access.Headers = bad
		refused(t, k, plain, "header")
	}
}
