package agent_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"golang.org/x/crypto/ssh"
	sshagent "golang.org/x/crypto/ssh/agent"

	"github.com/writ-automation/writ/adapters/secrets/agent"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// do runs a program with the agent and returns its output.
func do(t testing.TB, socket, program string, args ...string) (string, error) {
	t.Helper()
	c := exec.Command(program, args...)
	c.Env = []string{"PATH=/usr/bin:/bin:/usr/sbin", "HOME=" + t.TempDir(), "SSH_AUTH_SOCK=" + socket}
	out, err := c.CombinedOutput()
	return string(out), err
}

func must(t testing.TB, socket, program string, args ...string) string {
	t.Helper()
	out, err := do(t, socket, program, args...)
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", program, args, err, out)
	}
	return out
}

// generate makes a key with ssh-keygen and returns the paths of its private and public half.
func generate(t testing.TB, args ...string) (secrets.Key, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	must(t, "", "ssh-keygen", append(args, "-q", "-N", "", "-C", "", "-f", path)...)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return secrets.Key{PrivateKey: secret.Text(b), Comment: "deploy"}, path
}

// folder returns a private directory whose path is short enough for a socket.
func folder(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "wt")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func start(t testing.TB, dir string, keys ...secrets.Key) secrets.Agent {
	t.Helper()
	a, err := agent.New(agent.Config{Base: folder(t)}).Start(dir, nil, keys)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

func TestSSHAddListsTheKeysAndCanDoNoMore(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	var keys []secrets.Key
	var want string
	for _, kind := range [][]string{{"-t", "ed25519"}, {"-t", "rsa", "-b", "2048"}, {"-t", "ecdsa"}} {
		key, path := generate(t, kind...)
		keys = append(keys, key)
		public, err := os.ReadFile(path + ".pub")
		if err != nil {
			t.Fatal(err)
		}
		want += strings.TrimSpace(string(public)) + " deploy\n"
	}
	_, path := generate(t, "-t", "ed25519")
	a := start(t, dir, keys...)
	for _, args := range [][]string{{"-D"}, {"-d", a.PublicKeys()[0]}, {path}, {"-x"}, {"-X"}, {"-c", path},
		{"-t", "9", path}, {"-s", "/usr/lib/none.so"}} {
		c := exec.Command("setsid", append([]string{"ssh-add"}, args...)...) // without a terminal it asks SSH_ASKPASS
		c.Env = []string{"PATH=/usr/bin:/bin", "SSH_AUTH_SOCK=" + a.Socket(), "SSH_ASKPASS=/bin/echo",
			"SSH_ASKPASS_REQUIRE=force"}
		if out, err := c.CombinedOutput(); err == nil {
			t.Errorf("ssh-add %v works: %s", args, out)
		}
	}
	if got := must(t, a.Socket(), "ssh-add", "-L"); got != want {
		t.Errorf("listed are\n%s, wanted\n%s", got, want)
	}
	for i, p := range a.PublicKeys() {
		if got, err := os.ReadFile(p); err != nil || string(got) != strings.SplitAfter(want, "\n")[i] ||
			filepath.Dir(p) != dir {
			t.Errorf("%s holds %s: %v", p, got, err)
		}
		must(t, a.Socket(), "ssh-add", "-T", p) // signs, and verifies it
	}
	for path, mode := range map[string]os.FileMode{a.Socket(): 0o600, a.PublicKeys()[0]: 0o600,
		filepath.Dir(a.Socket()): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v %v", path, info.Mode(), err)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.*"))
	if err != nil || len(files) != len(keys)+1 {
		t.Errorf("there are %v: %v", files, err)
	}
}

func TestCloseEndsEverything(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	key, _ := generate(t, "-t", "ed25519")
	a := start(t, dir, key)
	c, err := net.Dial("unix", a.Socket())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if list, err := sshagent.NewClient(c).List(); err != nil || len(list) != 1 {
		t.Fatalf("%v %v", list, err)
	}
	if err := errors.Join(a.Close(), a.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("the connection is still there")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	if _, err := net.Dial("unix", a.Socket()); err == nil {
		t.Error("somebody still listens")
	}
}

func TestADirectoryWithALongPath(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(folder(t), strings.Repeat("long", 30))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	base := folder(t)
	key, _ := generate(t, "-t", "ed25519")
	a, err := agent.New(agent.Config{Base: base}).Start(dir, nil, []secrets.Key{key})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(a.Socket(), base+"/") || filepath.Dir(a.PublicKeys()[0]) != dir {
		t.Errorf("%s and %v", a.Socket(), a.PublicKeys())
	}
	if info, err := os.Stat(filepath.Dir(a.Socket())); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	must(t, a.Socket(), "ssh-add", "-l")
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{base, dir} {
		if left, err := os.ReadDir(d); err != nil || len(left) != 0 {
			t.Errorf("left behind: %v %v", left, err)
		}
	}
}

func TestWhatCannotStart(t *testing.T) {
	t.Parallel()
	key, _ := generate(t, "-t", "ed25519")
	broken := secrets.Key{PrivateKey: "-----BEGIN OPENSSH PRIVATE KEY-----\nc2VjcmV0\n-----END OPENSSH PRIVATE KEY-----\n"}
	open := folder(t)
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		dir  string
		keys []secrets.Key
	}{
		"no keys": {folder(t), nil}, "too many": {folder(t), make([]secrets.Key, 65)},
		"no folder":      {filepath.Join(open, "none"), []secrets.Key{key}},
		"an open folder": {open, []secrets.Key{key}}, "a broken key": {folder(t), []secrets.Key{key, broken}},
	} {
		a, err := agent.New(agent.Config{}).Start(c.dir, nil, c.keys)
		if err == nil || a != nil || strings.Contains(err.Error(), "c2Vj") {
			t.Errorf("%s: %v", what, err)
		}
		if what == "a broken key" && !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", what, err)
		}
		if left, err := os.ReadDir(c.dir); err == nil && len(left) != 0 {
			t.Errorf("%s: left behind: %v", what, left)
		}
	}
}

// TestManyClients signs with more concurrent clients than the agent serves.
func TestManyClients(t *testing.T) {
	t.Parallel()
	key, _ := generate(t, "-t", "rsa", "-b", "2048")
	a := start(t, folder(t), key)
	var all sync.WaitGroup
	for i := range 300 {
		all.Go(func() {
			c, err := net.Dial("unix", a.Socket())
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = c.Close() }()
			client := sshagent.NewClient(c)
			list, err := client.List()
			if err != nil || len(list) != 1 {
				t.Errorf("%v %v", list, err)
				return
			}
			for flag, algorithm := range map[sshagent.SignatureFlags]string{
				0: ssh.KeyAlgoRSA, sshagent.SignatureFlagRsaSha256: ssh.KeyAlgoRSASHA256,
				sshagent.SignatureFlagRsaSha512: ssh.KeyAlgoRSASHA512,
			} {
				data := fmt.Appendf(nil, "data %d", i)
				s, err := client.SignWithFlags(list[0], data, flag)
				if err != nil || s.Format != algorithm || list[0].Verify(data, s) != nil {
					t.Errorf("%s: %v %v", algorithm, s, err)
				}
			}
		})
	}
	all.Wait()
}

func TestWhatIsNoRequest(t *testing.T) {
	t.Parallel()
	key, _ := generate(t, "-t", "ed25519")
	a := start(t, folder(t), key)
	ask := func(request []byte) ([]byte, error) {
		c, err := net.Dial("unix", a.Socket())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		if _, err := c.Write(request); err != nil {
			t.Fatal(err)
		}
		answer := make([]byte, 5)
		_, err = io.ReadFull(c, answer)
		return answer, err
	}
	framed := func(b ...byte) []byte { return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...) }
	refusal := framed(5)
	extension := framed(append([]byte{27}, ssh.Marshal(struct{ Name string }{"session-bind@openssh.com"})...)...)
	for what, request := range map[string][]byte{
		"an extension": extension, "half a signature": framed(13, 0, 0), "no signature": framed(13),
		"an unknown key": framed(append([]byte{13}, make([]byte, 12)...)...),
		"an old list":    framed(1), "nothing known": framed(255),
	} {
		if got, err := ask(request); err != nil || !bytes.Equal(got, refusal) {
			t.Errorf("%s: %v %v", what, got, err)
		}
	}
	for what, request := range map[string][]byte{"empty": {0, 0, 0, 0}, "endless": {255, 255, 255, 255, 1}} {
		if got, err := ask(request); err == nil {
			t.Errorf("%s is answered with %v", what, got)
		}
	}
	if diff := cmp.Diff(1, strings.Count(must(t, a.Socket(), "ssh-add", "-l"), "\n")); diff != "" {
		t.Error(diff)
	}
}
