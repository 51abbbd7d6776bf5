package audit

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// with runs the command line in another environment.
func with(t *testing.T, env []string, code int, arg ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), harness.Binary(t), arg...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Fatalf("writ %s: exit code %d, want %d\n%s", strings.Join(arg, " "), got, code, out)
	}
	return string(out)
}

// signingKey makes the two keys of an install with OpenSSL.
func signingKey(t *testing.T) string {
	t.Helper()
	var out []byte
	for range 2 {
		key, err := exec.CommandContext(t.Context(), "openssl", "genpkey", "-algorithm", "ed25519").Output()
		if err != nil {
			t.Fatalf("openssl genpkey: %v", err)
		}
		out = append(out, key...)
	}
	return string(out)
}

// keptAlone compares the contents of a file and checks that only its owner can read it.
func keptAlone(t *testing.T, path, text string) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Error(err)
		return
	}
	if info.Mode().Perm() != 0o600 || read(t, path) != text {
		t.Errorf("%s has mode %s, and the text that it should: %t", path, info.Mode(), read(t, path) == text)
	}
}

// era holds the files that were published under one signing key.
type era struct {
	pem, kid, run          string
	seal, receipt, archive string // files
}

// hand gets the current files of a server.
func (w *fixture) hand(t *testing.T, keyFile string) era {
	t.Helper()
	run := w.Await(w.Submit(script("true")).ID).ID
	a := w.Do(http.MethodGet, "/v1/runs/"+run+"/receipt", nil)
	e := era{pem: read(t, keyFile), run: run, kid: a.Header.Get("Service-Key-Id")}
	e.seal = saved(t, w.As(""), "/.well-known/seal.json", "seal.json")
	e.receipt = saved(t, w.Client, "/v1/runs/"+run+"/receipt", "receipt.json")
	e.archive = saved(t, w.Client, "/v1/audit/bundle", "bundle.json")
	return e
}

// TestKeysRotateBesideAServer rotates twice during the run of a server. It continues with the new keys at once, and
// the files of every era verify with their own seal and with every later one.
func TestKeysRotateBesideAServer(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		configured := dbURL != "" // one engine with a file of the operator's, one with the default
		o := harness.Options{DB: dbURL, Dir: t.TempDir()}
		file := filepath.Join(o.Dir, "data", "signing.key")
		var more []string
		if configured {
			file = filepath.Join(t.TempDir(), "my.key")
			write(t, file, signingKey(t))
			more = []string{"--signing-key-file", file}
			o.Flags = more
		}
		w := &fixture{Server: harness.Start(t, o), t: t}
		flags := append(beside(w.Server), more...)
		eras := []era{w.hand(t, file)}
		for range 2 {
			was := eras[len(eras)-1]
			must(t, 0, append([]string{"audit", "key", "rotate", "--yes"}, flags...)...)
			eras = append(eras, w.hand(t, file))
			now := eras[len(eras)-1]
			keptAlone(t, file, now.pem)
			keptAlone(t, file+".previous", was.pem)
			if now.pem == was.pem || now.kid == was.kid {
				t.Fatalf("the key is the same: %s", now.kid)
			}
		}
		for i, of := range eras {
			for k, by := range eras {
				if k <= i { // a seal later than the file has its own test
					must(t, 0, "audit", "verify", of.archive, "--seal", by.seal)
					must(t, 0, "audit", "verify", of.receipt, "--seal", by.seal)
				}
				// Old files verify with today's seal as well: retired keys stay listed.
				must(t, 0, "audit", "verify", by.receipt, "--seal", eras[len(eras)-1].seal)
			}
		}
		w.retired(t, flags, eras)
		intact(t, w.Server)
		// A server with the old key file works and signs nothing.
		w.Stop()
		write(t, file, eras[0].pem)
		s := w.Again()
		if !strings.Contains(s.Output(), "cannot sign heads") {
			t.Error("the log does not warn of the old key")
		}
		(&fixture{Server: s, t: t}).mute(t, eras[0].run)
	})
}

// mute checks which requests a server without the install's key refuses, and that the others succeed.
func (w *fixture) mute(t *testing.T, run string) {
	t.Helper()
	for _, path := range []string{"/v1/runs/" + run + "/receipt", "/v1/runs/" + run + "/receipt?sparse",
		"/v1/audit/bundle", "/v1/audit/bundle?format=tiles", "/.well-known/seal.json"} {
		var p struct{ Reason string }
		a := w.Do(http.MethodGet, path, nil)
		if a.JSON(t, &p); a.Status != http.StatusServiceUnavailable || p.Reason != "signing_key_missing" {
			t.Errorf("%s without the key: %d %.300s", path, a.Status, a.Body)
		}
	}
	a := w.Do(http.MethodPost, "/v1/tokens", harness.Body{"name": w.name("k")})
	if a.Status != http.StatusCreated || a.Header.Get("Audit-Receipt") == "" {
		t.Errorf("a change without the key: %d %s, receipt %q", a.Status, a.Body, a.Header.Get("Audit-Receipt"))
	}
	if r := w.Await(w.Submit(script("true")).ID); r.Status != "succeeded" {
		t.Errorf("a run without the key is %s", r.Status)
	}
	intact(t, w.Server)
}

// retired checks the published keys: each old pair ends where the next one begins.
func (w *fixture) retired(t *testing.T, flags []string, eras []era) {
	t.Helper()
	var out struct {
		Keys []struct {
			KID, Use, Status string
			First            int64  `json:"first_size"`
			Last             *int64 `json:"last_size"`
		}
	}
	text := must(t, 0, append([]string{"audit", "key", "show", "--json"}, flags...)...)
	if err := json.Unmarshal([]byte(text), &out); err != nil || len(out.Keys) != 2*len(eras) {
		t.Fatalf("%v: %s", err, text)
	}
	s := sealed(t, w.Server)
	for i, k := range out.Keys {
		if p := s.Keys[i]; p.KID != k.KID || p.Status != k.Status || p.First != k.First ||
			(p.Last == nil) != (k.Last == nil) {
			t.Errorf("seal.json has %+v, the command %+v", p, k)
		}
		last := i >= len(out.Keys)-2
		if last != (k.Status == "active") || last != (k.Last == nil) || !last && *k.Last != out.Keys[i+2].First {
			t.Errorf("key %d: %+v", i, k)
		}
	}
	for i, e := range eras {
		if out.Keys[2*i+1].KID != e.kid {
			t.Errorf("the receipts of era %d are signed by %s, its statement key is %s", i, e.kid, out.Keys[2*i+1].KID)
		}
	}
	rotations := 0
	for _, e := range trail(t, w.Server, 0) {
		if e.Action == "key.rotate" {
			rotations++
		}
	}
	if rotations != len(eras)-1 {
		t.Errorf("%d rotations are recorded", rotations)
	}
}

// TestARotationThatCannotBeKept has the key in the environment, where no command can replace it.
func TestARotationThatCannotBeKept(t *testing.T) {
	t.Parallel()
	env := []string{"WRIT_SIGNING_KEY=" + signingKey(t)}
	w := &fixture{Server: harness.Start(t, harness.Options{Env: env}), t: t}
	run := w.Await(w.Submit(script("true")).ID).ID
	before, size := w.As("").Do(http.MethodGet, "/.well-known/seal.json", nil), newest(t, w.Server)
	for name, env := range map[string][]string{"the environment of the server": env, "another one": nil,
		"another key": {"WRIT_SIGNING_KEY=" + signingKey(t)}} {
		out := with(t, env, 1, slices.Concat([]string{"audit", "key", "rotate", "--yes"}, beside(w.Server))...)
		if name == "the environment of the server" && !strings.Contains(out, "WRIT_SIGNING_KEY") {
			t.Errorf("%s: %s", name, out)
		}
		if strings.Contains(out, "PRIVATE") {
			t.Errorf("%s: the key is printed: %s", name, out)
		}
	}
	if after := w.As("").Do(http.MethodGet, "/.well-known/seal.json", nil); string(after.Body) != string(before.Body) ||
		newest(t, w.Server) != size {
		t.Errorf("something changed: %s", after.Body)
	}
	for _, name := range []string{"signing.key", "signing.key.previous"} {
		if _, err := os.Stat(filepath.Join(w.Dir, "data", name)); err == nil {
			t.Errorf("there is a %s now", name)
		}
	}
	must(t, 0, "audit", "verify", saved(t, w.Client, "/v1/runs/"+run+"/receipt", "receipt.json"), "--seal",
		saved(t, w.As(""), "/.well-known/seal.json", "seal.json"))
	if strings.Contains(w.Output(), "PRIVATE") {
		t.Error("the key is in the log")
	}
	missing := filepath.Join(t.TempDir(), "no.key")
	for _, flags := range [][]string{{"--signing-key-file", missing}, {"--signing-key-file", t.TempDir()}} {
		out, code := writ(t, slices.Concat([]string{"audit", "key", "rotate", "--yes"}, beside(w.Server), flags)...)
		if code == 0 || newest(t, w.Server) != size {
			t.Errorf("%v: exit code %d\n%s", flags, code, out)
		}
	}
	open := filepath.Join(t.TempDir(), "open.key")
	write(t, open, signingKey(t))
	if err := os.Chmod(open, 0o644); err != nil { //nolint:gosec // that it is refused is what is asked
		t.Fatal(err)
	}
	if _, err := harness.Launch(t, harness.Options{Flags: []string{"--signing-key-file", open}}); err == nil ||
		!strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a key that everybody may read: %v", err)
	}
	if _, err := harness.Launch(t, harness.Options{Env: []string{"WRIT_SIGNING_KEY=nonsense"}}); err == nil ||
		strings.Contains(fmt.Sprint(err), "nonsense") {
		t.Errorf("a key that is none: %v", err)
	}
}
