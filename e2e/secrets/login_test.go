package secrets_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/fleet"
	"github.com/writ-automation/writ/e2e/harness"
)

// whoami uses the raw module, which needs one connection; the command module needs five.
const whoami = "- hosts: all\n  gather_facts: false\n" +
	"  tasks: [{raw: id -un, register: who}, {debug: {msg: 'I am {{ who.stdout | trim }}'}}]\n"

// playsIn is a server with playbooks in its working directory.
func playsIn(t *testing.T, o harness.Options, playbooks map[string]string) *fixture {
	t.Helper()
	dir := harness.Shared(t)
	for name, text := range playbooks {
		saveOpen(t, filepath.Join(dir, name), text)
	}
	o.Flags = append(o.Flags, "--work-dir", dir)
	return newFixture(t, o)
}

func (w *fixture) inventory(name, content string, credentials ...string) string {
	w.t.Helper()
	return w.id("/v1/inventories", obj{"name": name, "content": content, "format": "ini", "credential_ids": credentials})
}

// TestAnEncryptedKeyOpensHosts runs plays on real ssh servers with a key that has a passphrase, and with one that has
// none.
func TestAnEncryptedKeyOpensHosts(t *testing.T) {
	t.Parallel()
	f := fleet.New(t, 2)
	phrase := "a \"pass\" phrase " + fresh(20)
	locked := filepath.Join(t.TempDir(), "locked")
	save(t, locked, read(t, f.KeyPath()))
	output(t, "ssh-keygen", "-q", "-p", "-P", "", "-N", phrase, "-f", locked)
	w := playsIn(t, harness.Options{}, map[string]string{"site.yml": whoami})
	inv := w.inventory("fleet", f.InventoryWithoutKey())
	key := w.credential("ssh_key", obj{"private_key": read(t, locked), "passphrase": phrase}, obj{"username": f.User()})
	body := obj{"playbook": "site.yml", "inventory_id": inv, "credential_ids": []string{key}}
	r, log := w.ends(w.Submit(body).ID, "succeeded")
	if r.Hosts["changed"] != 2 || !strings.Contains(log, "I am "+f.User()) {
		t.Errorf("%v\n%s", r.Hosts, log)
	}
	delete(body, "credential_ids")
	if r, log := w.ends(w.Submit(body).ID, "failed"); !r.Warned("hosts_unreachable") {
		t.Errorf("without a key: %+v\n%s", r, log)
	}
	other := w.credential("ssh_key", obj{"private_key": read(t, keyPair(t, ""))}, nil)
	body["credential_ids"] = []string{other}
	w.ends(w.Submit(body).ID, "failed")

	stdout := w.scriptOutput(`ssh-add -L; ls -A "$(dirname "$SSH_AUTH_SOCK")"; echo "$SSH_AUTH_SOCK"; `+
		`ssh `+strings.Join(quoted(sshTo(f)), " ")+` id -un`, key)
	if !strings.Contains(stdout, strings.Fields(read(t, f.KeyPath()+".pub"))[1]) ||
		!strings.Contains(stdout, "\n"+f.User()+"\n") {
		t.Errorf("a script with the key says %s", stdout)
	}
	for line := range strings.Lines(stdout) {
		if path := strings.TrimSpace(line); strings.HasPrefix(path, "/") && exists(path) {
			t.Errorf("the agent is still there: %s", path)
		}
	}
}

// sshTo returns the arguments of ssh for the first host, without the key.
func sshTo(f *fleet.Fleet) []string {
	var out []string
	list := f.Client(f.Host(1))
	for i := 0; i < len(list); i++ {
		switch {
		case list[i] == "-i":
			i++
		case list[i] == "IdentitiesOnly=yes":
			out = append(out, "IdentitiesOnly=no")
		default:
			out = append(out, list[i])
		}
	}
	return out
}

func quoted(args []string) []string {
	for i, w := range args {
		args[i] = "'" + w + "'"
	}
	return args
}

// TestPasswordsOpenHosts logs in by a password through sshpass, and becomes root with another password.
func TestPasswordsOpenHosts(t *testing.T) {
	t.Parallel()
	login, root := "operator's \"pass\" {{ word }} "+fresh(8), "r00t $pass`word "+fresh(8)
	h := withAccounts(t, login, root)
	f := newCanaries(t)
	f.look("the password of the login", login)
	f.look("the password of root", root)
	stop := f.watch()
	w := playsIn(t, harness.Options{}, map[string]string{
		"site.yml": whoami + "- hosts: all\n  gather_facts: false\n  become: true\n" +
			"  tasks: [{raw: id -un, register: who}, {debug: {msg: 'I became {{ who.stdout | trim }}'}}]\n",
	})
	connect := w.credential("ssh_password", obj{"password": login}, obj{"username": "operator"})
	become := w.credential("become", obj{"password": root}, obj{"method": "su", "username": "root"})
	plain := w.credential("become_password", obj{"password": root}, nil)
	inv := w.inventory("host", inventoryOf(h), connect)
	for name, c := range map[string]struct {
		credentials []string
		vars        obj
		status      string
		outputs     []string
	}{
		"become": {[]string{become}, nil, "succeeded", []string{"I am operator", "I became root"}},
		"a password alone": {[]string{plain}, obj{"ansible_become_method": "su"}, "succeeded",
			[]string{"I am operator", "I became root"}},
		"nothing for root": {nil, obj{"ansible_become_method": "su"}, "failed", []string{"I am operator"}},
		"another one of root": {[]string{w.credential("become", obj{"password": "wrong " + fresh(8)}, obj{"method": "su"})},
			nil, "failed", []string{"I am operator"}},
	} {
		r := w.Submit(obj{"playbook": "site.yml", "inventory_id": inv, "credential_ids": c.credentials, "extra_vars": c.vars,
			"timeout": 60})
		_, log := w.ends(r.ID, c.status)
		for _, want := range c.outputs {
			if !strings.Contains(log, want) {
				t.Errorf("%s: %s", name, log)
			}
		}
		if strings.Contains(log, login) || strings.Contains(log, root) {
			t.Errorf("%s tells a password: %s", name, log)
		}
	}
	if lines, stranger := stop(); lines < 20 || stranger < 5 {
		t.Errorf("looked %d times at command lines and %d times as another user", lines, stranger)
	}
}

// TestTwoVaultIDs opens files of two vault ids, and only those whose password is supplied.
func TestTwoVaultIDs(t *testing.T) {
	t.Parallel()
	passwords := map[string]string{"prod": "first " + fresh(12), "dev": "second\tß " + fresh(12)}
	dir := t.TempDir()
	encrypt := func(id, text string) string {
		c := exec.Command("ansible-vault", "encrypt", "--vault-id", id+"@"+save(t, filepath.Join(dir, id), passwords[id]),
			"--encrypt-vault-id", id, "--output", "-")
		c.Stdin, c.Env = strings.NewReader(text), append(os.Environ(), "HOME="+dir)
		out, err := c.Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	w := playsIn(t, harness.Options{}, map[string]string{
		"vars/prod.yml": encrypt("prod", "of_prod: opened prod\n"), "vars/dev.yml": encrypt("dev", "of_dev: opened dev\n"),
		"both.yml": "- hosts: all\n  gather_facts: false\n  vars_files: [vars/prod.yml, vars/dev.yml]\n" +
			"  tasks: [{debug: {msg: '{{ of_prod }} {{ of_dev }}'}}]\n",
		"hosts": "h ansible_connection=local\n",
	})
	var ids []string
	for id, password := range passwords {
		ids = append(ids, w.credential("vault_password", obj{"password": password}, obj{"vault_id": id}))
	}
	body := obj{"playbook": "both.yml", "inventory": "hosts", "credential_ids": ids}
	if _, log := w.ends(w.Submit(body).ID, "succeeded"); !strings.Contains(log, "opened prod opened dev") {
		t.Errorf("%s", log)
	}
	body["credential_ids"] = ids[:1]
	w.ends(w.Submit(body).ID, "failed")
	a, b := fresh(12), fresh(12)
	stdout := w.scriptOutput(`cat "$WRIT_VAULT_PASSWORD_FILE" | rev; stat -c %a "$WRIT_VAULT_PASSWORD_FILE"`,
		w.credential("vault_password", obj{"password": a}, obj{"vault_id": "x"}),
		w.credential("vault_password", obj{"password": b}, nil))
	if stdout != reversed(b)+"\n600\n" && stdout != reversed(b)+"600\n" {
		t.Errorf("a script is told %q, want the default password %s", stdout, reversed(b))
	}
}

// reversed prints a secret in a form that is not masked.
func reversed(s string) string {
	b := []byte(s)
	for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
	return string(b)
}

// TestNetworkVariables checks that both kinds of device modules find the login.
func TestNetworkVariables(t *testing.T) {
	t.Parallel()
	w := playsIn(t, harness.Options{}, map[string]string{
		"site.yml": "- hosts: all\n  gather_facts: false\n  tasks:\n    - debug: {msg: '{{ ansible_user }} {{ " +
			"ansible_password | reverse }} {{ ansible_network_os }} " +
			"{{ lookup(\"env\", \"ANSIBLE_NET_PASSWORD\") | reverse }}'}\n",
		"hosts": "h ansible_connection=local\n",
	})
	password, enable := fresh(12)+"{{ x }}", fresh(12)
	id := w.credential("network", obj{"password": password}, obj{"username": "netops", "network_os": "eos"})
	_, log := w.ends(w.Submit(obj{"playbook": "site.yml", "inventory": "hosts", "credential_ids": []string{id}}).ID,
		"succeeded")
	if want := "netops " + reversed(password) + " eos " + reversed(password); !strings.Contains(log, want) {
		t.Errorf("want %s in %s", want, log)
	}
	id = w.credential("network", obj{"password": password, "authorize_password": enable}, obj{"username": "netops"})
	stdout := w.scriptOutput(`echo "$ANSIBLE_NET_USERNAME $(rev <<< "$ANSIBLE_NET_PASSWORD") $ANSIBLE_NET_AUTHORIZE $(rev <<< "$ANSIBLE_NET_AUTH_PASS")"
python3 -c 'import json, os; v = json.load(open(os.environ["WRIT_VARS"])); print(v["ansible_become"], v["ansible_become_method"], v["ansible_become_password"][::-1])'`, id)
	if want := fmt.Sprintf("netops %s 1 %s\nTrue enable %[2]s\n", reversed(password), reversed(enable)); stdout != want {
		t.Errorf("a script is told %s, want %s", stdout, want)
	}
}
