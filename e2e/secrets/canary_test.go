package secrets_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// TestNothingSecretComesToLight stores a canary in each secret member of every kind, has runs print them in every form,
// and searches for them in all outputs and files.
// Keeps T21.
func TestNothingSecretComesToLight(t *testing.T) {
	t.Parallel()
	needsRoot(t, "what another user sees is a part of the promise")
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		s := newStage(t, dbURL)
		stop := s.watch(s.Runs, s.w.dataDir(), s.place)
		runs := []string{s.scripts()}
		if dbURL == "" {
			runs = append(runs, s.python(), s.play(), s.failing(), s.unresolved(), s.core())
		}
		s.refusals()
		lines, stranger := stop()
		if lines < 20 || stranger < 5 {
			t.Errorf("looked %d times at command lines and %d times as another user", lines, stranger)
		}
		s.everything(runs)
	})
}

// stage is a server whose directories can all be searched.
type stage struct {
	*canaryCredentials
	Runs, place, home string
	shared            string // the canaries, for runs, and what a play writes of them
	receiver          *receiver
}

func newStage(t *testing.T, dbURL string) *stage {
	t.Helper()
	root, err := os.MkdirTemp("", "canary") // outside of the test's directory, which other users cannot read
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	s := &stage{Runs: filepath.Join(root, "runs"), place: filepath.Join(root, "place"), home: filepath.Join(root, "home"),
		receiver: newReceiver(t), shared: harness.Shared(t)}
	for _, dir := range []string{root, s.Runs, s.place, s.home, filepath.Join(s.home, "tmp")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w := newFixture(t, harness.Options{
		DB: dbURL, Dir: root,
		Flags: []string{
			"--runs-dir", s.Runs, "--log-level", "debug", "--notify-webhook", s.receiver.URL, "--allow-private-egress",
			"127.0.0.1/32",
			"--work-dir", s.place, "--audit-beat", "2s",
		},
		Env: []string{"HOME=" + s.home, "TMPDIR=" + filepath.Join(s.home, "tmp")},
	})
	f := newCanaries(t)
	saveOpen(t, filepath.Join(s.place, "open"), "a canary for everybody: "+f.mark)
	if found := f.stranger(s.place); !strings.Contains(found, filepath.Join(s.place, "open")) {
		t.Fatalf("another user does not find what is for everybody: %q", found)
	}
	if err := os.Remove(filepath.Join(s.place, "open")); err != nil {
		t.Fatal(err)
	}
	s.canaryCredentials = newCanaryCredentials(w, f)
	return s
}

// submit submits a run of a program that prints the canaries of a file.
func (s *stage) submit(body obj, without ...string) string {
	s.t.Helper()
	ids, file := s.without(s.shared, without...)
	body["credential_ids"], body["env"] = ids, obj{"CANARIES": file, "PLACE": s.shared}
	return s.w.Submit(body).ID
}

// awaitEnd reads the stream of a run that prints canaries, and checks that the run reached its end.
func (s *stage) awaitEnd(id, status, last string) string {
	s.t.Helper()
	s.search("the live stream of "+id, s.w.streamed(id))
	_, log := s.w.ends(id, status)
	if !strings.Contains(log, last) || !strings.Contains(log, "***") {
		s.t.Errorf("%s did not tell: %.3000s", id, log)
	}
	s.search("the stream of "+id, s.w.streamed(id))
	return id
}

func (s *stage) scripts() string {
	s.t.Helper()
	script := "set -x\nexport TELL=$(cat <<'END'\n" + tell + "\nEND\n)\nset +x\npython3 -u -c \"$TELL\"\n" +
		`printf '%s\n' "$APP_ONE" "$APP_TWO" "${APP_ONE@Q}" "${APP_TWO@Q}"; printf '%q\n' "$APP_ONE" "$TOKEN"
for a in '' a ab; do printf '%s%s' "$a" "$TOKEN" | base64; printf '%s%s' "$a" "$APP_TWO" | base64 -w0; echo; printf '%s%s' "$a" "$APP_TWO" | base64; done
set -x; : "$TOKEN" "$APP_ONE" "$APP_TWO"; set +x
ssh-add -L; find "$PWD/.." -type f | while read -r f; do echo "of $f"; cat "$f"; done
for f in "$PWD"/../secrets/*/* "$PWD"/../login/*; do base64 -w0 "$f"; echo; done; echo "the end"`
	return s.awaitEnd(s.submit(obj{"tool": "bash", "command": script}, "become", "plain_network"), "succeeded", "the end")
}

func (s *stage) python() string {
	s.t.Helper()
	script := tell + "\nimport shutil\nraise RuntimeError('it fails with ' + json.dumps(kept) + kept['token.token'])\n"
	return s.awaitEnd(s.submit(obj{"tool": "python", "command": script}, "become_password", "plain_network"), "failed",
		"told everything")
}

func (s *stage) play() string {
	s.t.Helper()
	saveOpen(s.t, filepath.Join(s.place, "tell.yml"), tellingPlay)
	saveOpen(s.t, filepath.Join(s.place, "hosts"),
		"localhost ansible_connection=local ansible_python_interpreter=/usr/bin/python3\n")
	id := s.submit(obj{"playbook": "tell.yml", "inventory": "hosts", "diff_mode": true, "verbosity": 1}, "become",
		"network")
	s.awaitEnd(id, "succeeded", "PLAY RECAP")
	if r := s.w.Get(id); len(r.Outputs) == 0 {
		s.t.Error("the play told no outputs")
	}
	return id
}

// failing makes Ansible fail with its credentials: this machine has no privileged mode.
func (s *stage) failing() string {
	s.t.Helper()
	saveOpen(s.t, filepath.Join(s.place, "fail.yml"), tellingPlay)
	id := s.submit(obj{"playbook": "fail.yml", "inventory": "hosts", "verbosity": 4}, "become", "plain_network",
		"become_password")
	return s.awaitEnd(id, "failed", "PLAY")
}

// unresolved uses an engine whose error contains its whole input.
func (s *stage) unresolved() string {
	s.t.Helper()
	token, secretID := s.short("vault.token"), s.short("vault.secret_id")
	tactless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"errors": ["no: ` + r.Header.Get("X-Vault-Token") + ` ` + token + ` ` + secretID + `"]}`))
	}))
	s.t.Cleanup(tactless.Close)
	var last string
	for _, login := range []obj{{"token": token}, {"role_id": "r", "secret_id": secretID}} {
		login["address"], login["path"], login["field"] = tactless.URL, "secret/app", "x"
		last = s.w.bash("echo it ran", s.w.sourced("token", "vault", login)).ID
		r, log := s.w.ends(last, "failed")
		s.search("the record of a run whose secret was refused", []byte(r.Error+log))
	}
	return last
}

// core makes a process of the run end with a core dump.
func (s *stage) core() string {
	s.t.Helper()
	dir := harness.Shared(s.t)
	r := s.w.bash("ulimit -Hc; ulimit -c; (cd "+dir+
		" && bash -c 'x=\"$TOKEN$APP_TWO\"; kill -SEGV $$') || echo gone with $?\nls "+dir+
		" | sed 's/^/left: /'; kill -SEGV $$",
		s.ids["token"], s.ids["env"])
	_, log := s.w.ends(r.ID, "failed")
	if !strings.HasPrefix(log, "0\n0\n") || !strings.Contains(log, "gone with 139") || strings.Contains(log, "left:") {
		s.t.Errorf("a process that dies says %q", log)
	}
	s.files(dir)
	return r.ID
}

// refusals sends secrets in the wrong members.
func (s *stage) refusals() {
	s.t.Helper()
	x := s.short("refused")
	own := s.ids["env"]
	for _, body := range []any{
		obj{"name": "n", "kind": "token", "secret": obj{"password": x}}, obj{"name": "n", "kind": "token", "secret": x},
		obj{"name": "n", "kind": x},
		obj{"name": "n", "kind": "token", "settings": obj{"token": x}},
		obj{"name": "n", "kind": "token", "token": x, "secret": obj{"token": 1}},
		obj{"name": "n", "kind": "env", "secret": obj{"vars": obj{"A B": x}}},
		obj{"name": "n", "kind": "env", "secret": obj{"vars": x}},
		obj{"name": "n", "kind": "env", "secret": obj{"vars": obj{"PATH": x}}},
		obj{"name": "n", "kind": "env", "secret": obj{"vars": obj{"A": []string{x}}}},
		obj{"name": "n", "kind": "ssh_key", "secret": obj{"private_key": x}},
		obj{"name": "n", "kind": "token", "secret": obj{"token": x + "\n" + x}},
		obj{"name": "n", "kind": "ssh_key", "secret": obj{"private_key": s.values["ssh_key.private_key"], "passphrase": x}},
		obj{"name": "n", "kind": "gcp", "secret": obj{"service_account_json": "{" + x}},
		obj{"name": "n", "kind": "token", "secret": obj{"token": []string{x}}},
		obj{"name": "n", "kind": "token", "source": obj{"engine": "vault",
			"config": obj{"address": "https://u:" + x + "@example.com", "token": x}}},
		obj{"name": "n", "kind": "token", "source": obj{"engine": "vault", "config": obj{"tokens": x, "token": x}}},
		`{"name": "n", "kind": "token", "secret": {"token": "` + x,
		`{"name": "n", "secret": {"token": "` + x + `", "token": "` + x + `"}}`, x,
		`{"name": "n", "kind": "token", "secret": {"token": "` + x + `"}} ` + x,
	} {
		for _, at := range [][2]string{{http.MethodPost, "/v1/credentials"}, {http.MethodPut, "/v1/credentials/" + own}} {
			a := s.w.Do(at[0], at[1], body)
			if a.Status != http.StatusBadRequest {
				s.t.Errorf("%s of %v: %d %s", at[0], body, a.Status, a.Body)
			}
			s.search("a refusal", a.Body)
		}
	}
}

// nothingLeft checks that no directory of a run remains.
func (s *stage) nothingLeft() {
	s.t.Helper()
	if list, err := filepath.Glob(filepath.Join(s.Runs, "run_*")); err != nil || len(list) > 0 {
		s.t.Errorf("directories of runs are left: %v %v", list, err)
	}
}

// crashed kills the server while a run has its secrets and copies of them, and starts it again: the evidence that
// remains contains none.
func (s *stage) crashed() {
	s.t.Helper()
	script := `cp -r ../secrets ../login .; env > env; cp "$CANARIES" .; echo "it has them"; sleep 120`
	id := s.submit(obj{"tool": "bash", "command": script}, "become", "plain_network")
	harness.Eventually(s.t, awhile, "the run has its secrets", func() bool {
		return strings.Contains(s.w.Log(id), "it has them")
	})
	if found := s.stranger(s.Runs, s.w.dataDir()); found != "" {
		s.t.Errorf("LEAK: another user finds a canary in %s", found)
	}
	kept, err := filepath.Glob(filepath.Join(s.Runs, id+".*", "files", "work", "secrets", "*", "PAGER_PEM"))
	if err != nil || len(kept) != 1 || read(s.t, kept[0]) != s.values["custom.pem"] {
		s.t.Errorf("the run has no copy: %v %v", kept, err)
	}
	s.w.Kill()
	if found := s.stranger(s.Runs, s.w.dataDir()); found != "" {
		s.t.Errorf("LEAK: another user finds a canary in %s", found)
	}
	s.w = s.w.again()
	r, log := s.w.ends(id, "interrupted")
	s.search("a run that was interrupted", []byte(r.Error+log))
	s.nothingLeft()
	s.search("the server's log", []byte(s.w.Output()))
}

// everything searches all answers about the runs and everything that the server stores.
func (s *stage) everything(runs []string) {
	s.t.Helper()
	if n := s.everywhere(runs); n < 15*len(runs) {
		s.t.Errorf("only %d answers were looked into", n)
	}
	harness.Eventually(s.t, awhile, "every run was told of", func() bool {
		_, n := s.receiver.text()
		return n >= len(runs)
	})
	text, _ := s.receiver.text()
	s.search("the notifications", []byte(text))
	for _, id := range runs {
		if !strings.Contains(text, id) {
			s.t.Errorf("nobody was told of %s", id)
		}
	}
	s.search("the server's log", []byte(s.w.Output()))
	s.nothingLeft()
	if n := s.database(); n < 50 {
		s.t.Errorf("only %d rows were looked into", n)
	}
	if !strings.HasPrefix(s.w.DB, "postgres") {
		s.crashed()
	}
	seen := s.files(s.w.Dir, s.Runs)
	if s.w.Stop() != 0 {
		s.t.Errorf("the server did not end well")
	}
	if n := s.files(s.w.Dir, s.Runs); seen < 5 || n < 3 {
		s.t.Errorf("only %d and %d files were looked into", seen, n)
	}
	s.search("the server's log", []byte(s.w.Output()))
}
