package cli

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/godbus/dbus/v5"
	"github.com/godbus/dbus/v5/prop"

	"github.com/writ-automation/writ/e2e/harness"
)

// Names and paths of the Secret Service.
const (
	secretsName    = "org.freedesktop.secrets"
	secretsPath    = "/org/freedesktop/secrets"
	secretsLogin   = "/org/freedesktop/secrets/collection/login"
	secretsService = "org.freedesktop.Secret.Service"
)

// keyring is a Secret Service with one collection that is not locked. It keeps an item for each set of attributes.
type keyring struct {
	conn  *dbus.Conn
	mu    sync.Mutex
	items map[dbus.ObjectPath]*keyringItem
}

type keyringItem struct {
	k          *keyring
	path       dbus.ObjectPath
	attributes map[string]string
	secret     keyringSecret
}

type keyringSecret struct {
	Session           dbus.ObjectPath
	Parameters, Value []byte
	ContentType       string
}

const noPrompt = dbus.ObjectPath("/")

func (k *keyring) OpenSession(string, dbus.Variant) (dbus.Variant, dbus.ObjectPath, *dbus.Error) {
	return dbus.MakeVariant(""), secretsPath + "/session/s", nil
}

func (k *keyring) Unlock(paths []dbus.ObjectPath) ([]dbus.ObjectPath, dbus.ObjectPath, *dbus.Error) {
	return paths, noPrompt, nil
}

// Close ends a session.
func (k *keyring) Close() *dbus.Error { return nil }

func (k *keyring) SearchItems(want map[string]string) ([]dbus.ObjectPath, *dbus.Error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	found := []dbus.ObjectPath{}
	for path, i := range k.items {
		if holds(i.attributes, want) {
			found = append(found, path)
		}
	}
	return found, nil
}

func holds(attributes, want map[string]string) bool {
	for name, v := range want {
		if attributes[name] != v {
			return false
		}
	}
	return true
}

func (k *keyring) CreateItem(
	properties map[string]dbus.Variant, secret keyringSecret, _ bool,
) (dbus.ObjectPath, dbus.ObjectPath, *dbus.Error) {
	attributes, _ := properties["org.freedesktop.Secret.Item.Attributes"].Value().(map[string]string)
	path := dbus.ObjectPath(secretsLogin + "/" + regexp.MustCompile(`\W`).ReplaceAllString(attributes["username"], "_"))
	i := &keyringItem{k: k, path: path, attributes: attributes, secret: secret}
	k.mu.Lock()
	k.items[path] = i
	k.mu.Unlock()
	if err := k.conn.Export(i, path, "org.freedesktop.Secret.Item"); err != nil {
		return "", "", dbus.MakeFailedError(err)
	}
	return path, noPrompt, nil
}

func (i *keyringItem) GetSecret(dbus.ObjectPath) (keyringSecret, *dbus.Error) { return i.secret, nil }

func (i *keyringItem) Delete() (dbus.ObjectPath, *dbus.Error) {
	i.k.mu.Lock()
	defer i.k.mu.Unlock()
	delete(i.k.items, i.path)
	return noPrompt, nil
}

// secrets returns what is kept, by the names of the contexts.
func (k *keyring) secrets() map[string]string {
	k.mu.Lock()
	defer k.mu.Unlock()
	out := map[string]string{}
	for _, i := range k.items {
		out[i.attributes["username"]] = string(i.secret.Value)
	}
	return out
}

// startKeyring starts a session bus with a Secret Service, and returns it with the address of the bus.
func startKeyring(t *testing.T) (*keyring, string) {
	t.Helper()
	bus := exec.CommandContext(t.Context(), "dbus-daemon", "--session", "--nofork", "--nopidfile", "--print-address",
		"--address=unix:dir="+t.TempDir())
	bus.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := bus.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := bus.Start(); err != nil {
		t.Fatalf("%v: 'make setup' installs dbus-daemon", err)
	}
	t.Cleanup(func() { _ = bus.Process.Kill(); _ = bus.Wait() })
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address = strings.TrimSpace(address)
	conn, err := dbus.Connect(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	k := &keyring{conn: conn, items: map[dbus.ObjectPath]*keyringItem{}}
	for path, name := range map[dbus.ObjectPath]string{secretsPath: secretsService,
		secretsLogin: "org.freedesktop.Secret.Collection", secretsPath + "/session/s": "org.freedesktop.Secret.Session"} {
		if err := conn.Export(k, path, name); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := prop.Export(conn, secretsPath, prop.Map{secretsService: {
		"Collections": {Value: []dbus.ObjectPath{secretsLogin}}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.RequestName(secretsName, dbus.NameFlagDoNotQueue); err != nil {
		t.Fatal(err)
	}
	return k, address
}

// TestKeyring: the token of a sign-in is kept by the keyring of the session and in no file, is used by the next
// command, and is gone from it after the sign-out. Without a keyring a file of mode 0600 has it.
func TestKeyring(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	k, address := startKeyring(t)
	home := t.TempDir()
	with := func(address string) user {
		return user{t: t, env: []string{"HOME=" + home, "XDG_CONFIG_HOME=" + home, "DBUS_SESSION_BUS_ADDRESS=" + address}}
	}
	login := func(u user, context string) {
		t.Helper()
		cmd := u.command("login", s.URL, "--with-token", "--context", context)
		cmd.Stdin = strings.NewReader(s.Token + "\n")
		if p := u.run(cmd); p.end() != 0 {
			t.Fatalf("%s%s", p.out, p.err)
		}
	}
	ring, file := with(address), with("unix:path="+filepath.Join(home, "no-bus"))
	login(ring, "kept")
	if held := k.secrets(); len(held) != 1 || held["kept"] != s.Token {
		t.Errorf("the keyring has %d secrets", len(held))
	}
	if where := filesWith(t, home, s.Token); len(where) != 0 {
		t.Errorf("the token is in %v", where)
	}
	if code, out, errs := ring.do("whoami"); code != 0 || !strings.Contains(out, "admin") {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
	if code, _, errs := file.do("whoami"); code == 0 || !strings.Contains(errs, "keyring") {
		t.Errorf("without its keyring: exit %d, %s", code, errs)
	}
	if code, out, errs := ring.do("logout"); code != 0 || len(k.secrets()) != 0 {
		t.Errorf("after the sign-out: exit %d, %d secrets, %s%s", code, len(k.secrets()), out, errs)
	}
	login(file, "filed")
	where := filesWith(t, home, s.Token)
	if len(where) != 1 || len(k.secrets()) != 0 {
		t.Fatalf("the token is in %v, the keyring has %d", where, len(k.secrets()))
	}
	if info, err := os.Stat(where[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	if code, out, errs := file.do("whoami"); code != 0 || !strings.Contains(out, "admin") {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
}

// filesWith returns the files below a directory that contain a text.
func filesWith(t *testing.T, dir, text string) (paths []string) {
	t.Helper()
	for _, path := range listing(t, dir) {
		if info, err := os.Stat(path); err != nil || info.IsDir() {
			continue
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(raw), text) {
			paths = append(paths, path)
		}
	}
	return paths
}
