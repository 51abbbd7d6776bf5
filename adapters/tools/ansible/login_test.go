package ansible_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/adapters/secrets/agent"
	"github.com/writ-automation/writ/adapters/secrets/sshkey"
	"github.com/writ-automation/writ/platform/ansibletest"
	"github.com/writ-automation/writ/platform/sshtest"
	"github.com/writ-automation/writ/ports/depthtest"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

const whoami = "- hosts: all\n  gather_facts: false\n  tasks: [{command: id -un, register: who}, {debug: {msg: 'I am " +
	"{{ who.stdout }}'}}]\n"

// messages are the outputs of the hosts in successful tasks.
func (p *project) messages() []string {
	var out []string
	for _, e := range p.of(runs.EventHostOK) {
		if e.Message != "" {
			out = append(out, e.Message)
		}
	}
	return out
}

// goneWith requires that files exist now, and that none exists when the first event arrives.
func (p *project) goneWith(paths ...string) func(runs.Event) error {
	p.t.Helper()
	for _, path := range paths {
		if _, err := os.Stat(path); err != nil {
			p.t.Fatal(err)
		}
	}
	return func(e runs.Event) error {
		for _, path := range paths {
			if _, err := os.Stat(path); err == nil {
				p.t.Errorf("%s is there when %s comes", filepath.Base(path), e.Type)
			}
		}
		return p.sink(e)
	}
}

// play runs the project with a sink of the test's own.
func (p *project) playing(sink func(runs.Event) error) execution.PlayResult {
	p.t.Helper()
	res, err := p.tool.Play(p.t.Context(), p.spec, p.play, &p.out, sink)
	if err != nil {
		p.t.Fatalf("%v\n%s", err, &p.out)
	}
	return res
}

// argvWatch searches the command line of every process that begins until stop is called, which returns those that
// contain one of the texts.
func argvWatch(t testing.TB, texts ...string) (stop func() []string) {
	t.Helper()
	processes := func() (out []string) {
		entries, err := os.ReadDir("/proc")
		if err != nil {
			t.Error(err)
		}
		for _, e := range entries {
			if name := e.Name(); name[0] >= '0' && name[0] <= '9' {
				out = append(out, name)
			}
		}
		return out
	}
	before := make(map[string]bool)
	for _, p := range processes() {
		before[p] = true
	}
	quit, done := make(chan struct{}), make(chan []string, 1)
	go func() {
		var found []string
		for {
			for _, p := range processes() {
				if before[p] {
					continue
				}
				b, _ := os.ReadFile(filepath.Join("/proc", p, "cmdline"))
				if slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(string(b), s) }) {
					found = append(found, strings.ReplaceAll(string(b), "\x00", " "))
				}
			}
			select {
			case <-quit:
				done <- found
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	return func() []string {
		close(quit)
		return <-done
	}
}

func TestAnEncryptedKeyThroughTheAgent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "key")
	output(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "a passphrase", "-f", path)
	private, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	key, err := sshkey.New().Unlock(secret.Text(private), "a passphrase")
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, "agent")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	a, err := agent.New(agent.Config{}).Start(folder, nil, []secrets.Key{key})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	h := sshtest.New(t, sshtest.Config{Lines: []string{"AuthorizedKeysFile " + path + ".pub"}})
	p := newProject(t, map[string]string{"site.yml": whoami, "inventory": inventoryOf(h)})
	p.spec.Env["SSH_AUTH_SOCK"] = a.Socket()
	p.play.Login = execution.Login{User: me(t), PublicKeyFile: a.PublicKeys()[0]}
	if res := p.run(); res.ExitCode != 0 || !cmp.Equal(p.messages(), []string{"I am " + me(t)}) {
		t.Fatalf("%+v\n%s", res, &p.out)
	}
	p.play.Login.PublicKeyFile = "" // the inventory asks for named keys alone
	if res := p.run(); res.ExitCode != 4 {
		t.Errorf("without a name of the key: %+v", res)
	}
}

// TestPasswords logs in by ssh, through sshpass, and becomes another user there.
func TestPasswords(t *testing.T) {
	t.Parallel()
	const login, root = "operator's \"pass\" {{ word }}", "r00t $pass`word"
	targets := make(map[string]func(t testing.TB, login, root string) loginTarget)
	real := mayMount()
	if real {
		targets["the real ones"] = realPrograms
	}
	if depthtest.Long || !real {
		targets["stand-ins"] = fakePrograms
	}
	if depthtest.Long {
		targets["sshpass"] = fakePrograms
	}
	for name, build := range targets {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := build(t, login, root)
			p := newProject(t, map[string]string{
				"inventory": w.inventory,
				"site.yml": whoami +
					"- hosts: all\n  gather_facts: false\n  become: true\n  tasks: [{shell: 'sleep 0.3; id -un', register: who}, " +
					"{debug: {msg: 'I became {{ who.stdout }}'}}]\n",
			})
			if name == "sshpass" { // what 2.14 does in any case
				p.spec.Env["ANSIBLE_SSH_PASSWORD_MECHANISM"] = name
			}
			play := func(login, root string) (execution.PlayResult, []string) {
				dir := t.TempDir()
				p.events = nil
				p.play.Login = execution.Login{
					User: "operator", PasswordFile: save(t, filepath.Join(dir, "connection"), login), BecomeMethod: w.method,
					BecomeUser:         "root",
					BecomePasswordFile: save(t, filepath.Join(dir, "become"), root),
				}
				stop := argvWatch(t, login, root)
				res := p.playing(p.goneWith(p.play.Login.PasswordFile, p.play.Login.BecomePasswordFile))
				return res, stop()
			}
			res, seen := play(login, root)
			if diff := cmp.Diff([]string{"I am " + w.user, "I became " + w.root}, p.messages()); diff != "" ||
				res.ExitCode != 0 {
				t.Errorf("%s%+v\n%s", diff, res, &p.out)
			}
			if len(seen) > 0 {
				t.Errorf("command lines hold a password: %q", seen)
			}
			if res, _ := play("wrong", root); res.ExitCode != 4 {
				t.Errorf("with another password: %+v\n%s", res, &p.out)
			}
			if res, _ := play(login, "wrong"); res.ExitCode != 2 || !cmp.Equal(p.messages(), []string{"I am " + w.user}) {
				t.Errorf("with another password of root: %+v\n%s", res, &p.out)
			}
			if asked, err := os.ReadFile(w.asked); w.asked != "" && (err != nil || string(asked) != "root\n") {
				t.Errorf("became %q: %v", asked, err)
			}
		})
	}
}

func TestVaultIDs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	prod, dev := save(t, filepath.Join(dir, "prod"), "first password"),
		save(t, filepath.Join(dir, "dev"), "second\tpassword ß")
	encrypt := func(id, path string, texts ...string) (out []string) {
		argv := []string{"encrypt", "--vault-id", id + "@" + path, "--encrypt-vault-id", id}
		files := t.TempDir()
		for i, text := range texts {
			argv = append(argv, save(t, filepath.Join(files, strconv.Itoa(i)), text))
		}
		output(t, ansibletest.Program("ansible-vault"), argv...)
		for i := range texts {
			b, err := os.ReadFile(filepath.Join(files, strconv.Itoa(i)))
			if err != nil || !strings.HasPrefix(string(b), "$ANSIBLE_VAULT;") {
				t.Fatalf("%s %v", b, err)
			}
			out = append(out, string(b))
		}
		return out
	}
	ofProd := encrypt("prod", prod, "of_all: one\n", "all:\n  hosts: {h1: {}, h2: {}}\n")
	p := newProject(t, map[string]string{
		"group_vars/all/secret.yml": ofProd[0],
		"vars/more.yml":             encrypt("dev", dev, "of_play: two\n")[0],
		"site.yml": "- hosts: h1\n  gather_facts: false\n  vars_files: [vars/more.yml]\n  tasks: [{debug: " +
			"{msg: '{{ of_all }} {{ of_play }}'}}]\n",
	})
	vaults := func() execution.Login {
		run := t.TempDir()
		return execution.Login{Vaults: []execution.VaultFile{
			{ID: "dev", Path: save(t, filepath.Join(run, "0"), "second\tpassword ß")},
			{ID: "prod", Path: save(t, filepath.Join(run, "1"), "first password")},
		}}
	}
	p.play.Login = vaults()
	if res := p.playing(p.goneWith(p.play.Login.Vaults[0].Path, p.play.Login.Vaults[1].Path)); res.ExitCode != 0 ||
		!cmp.Equal(p.messages(), []string{"one two"}) {
		t.Errorf("%+v\n%s", res, &p.out)
	}
	p.write("inventory", ofProd[1])
	p.play.Login = vaults()
	hosts, _, err := p.tool.Hosts(t.Context(), p.spec, p.play)
	if diff := cmp.Diff([]string{"h1"}, hosts); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	for _, v := range p.play.Login.Vaults {
		if _, err := os.Stat(v.Path); err == nil {
			t.Errorf("the password of %s stays after the listing", v.ID)
		}
	}
	p.play.Login = execution.Login{}
	if _, _, err := p.tool.Hosts(t.Context(), p.spec, p.play); err == nil {
		t.Error("the hosts are listed without a password")
	}
}

// Keeps T17.
func TestVariablesOfCredentialsAreData(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{
		"site.yml": "- hosts: h1\n  gather_facts: false\n  tasks: [{debug: {msg: '{{ ansible_network_os }} {{ ansible_user " +
			"}} {{ ansible_password }} {{ token.deep[0] }}'}}]\n",
	})
	const literal = "{{ lookup('pipe', 'id') }}"
	p.spec.ExtraVars = map[string]any{
		"ansible_network_os": "ios", "ansible_user": "netops", "ansible_password": literal,
		"token": map[string]any{"deep": []any{literal}},
	}
	if res := p.run(); res.ExitCode != 0 || !cmp.Equal(p.messages(), []string{"ios netops " + literal + " " + literal}) {
		t.Errorf("%+v %q\n%s", res, p.messages(), &p.out)
	}
}

// TestPasswordsAreGoneWhateverHappens runs plays that end before their first event.
func TestPasswordsAreGoneWhateverHappens(t *testing.T) {
	t.Parallel()
	for what, playbook := range map[string]string{"a missing playbook": "none.yml", "one outside": "../site.yml",
		"a broken one": "broken.yml"} {
		p := newProject(t, map[string]string{"broken.yml": "- {"})
		path := save(t, filepath.Join(t.TempDir(), "connection"), "x")
		p.play.Playbook, p.play.Login = playbook, execution.Login{PasswordFile: path}
		if res := p.run(); res.ExitCode == 0 {
			t.Errorf("%s: %+v", what, res)
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s: the password stays", what)
		}
	}
}
