package secrets_test

import (
	"crypto/hmac"
	"crypto/md5" //nolint:gosec // to compare, not to protect
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

// rewrapped is the output of the command.
type rewrapped struct {
	KeyID   string         `json:"key_id"`
	Held    map[string]int `json:"held"`
	Wrapped map[string]int `json:"wrapped"`
	Lost    []string       `json:"lost"`
}

func (w *fixture) rewrap(args ...string) rewrapped {
	w.t.Helper()
	out, code := w.writ(append([]string{"audit", "key", "rewrap", "--json"}, args...)...)
	var r rewrapped
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != 0 || len(r.Lost) > 0 {
		w.t.Fatalf("rewrap %v ends with %d: %s", args, code, out)
	}
	return r
}

// keyFile returns the lines of the key file, its comments first.
func (w *fixture) keyFile() []string {
	w.t.Helper()
	return strings.Split(strings.TrimSpace(read(w.t, filepath.Join(w.dataDir(), "encryption.key"))), "\n")
}

// dropOldKeys removes all keys but the first from the file.
func (w *fixture) dropOldKeys() {
	w.t.Helper()
	var left []string
	for _, line := range w.keyFile() {
		if left = append(left, line); !strings.HasPrefix(line, "#") {
			break
		}
	}
	save(w.t, filepath.Join(w.dataDir(), "encryption.key"), strings.Join(left, "\n")+"\n")
}

// TestSwappedSecrets exchanges the sealed texts of two records: neither opens, and nothing else fails.
// Keeps T22.
func TestSwappedSecrets(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		w := newFixture(t, harness.Options{DB: dbURL})
		one, two, good := fresh(20), fresh(20), fresh(20)
		a, b := w.credential("token", obj{"token": one}, nil), w.credential("token", obj{"token": two}, nil)
		c, old := w.credential("token", obj{"token": good}, nil), w.credential("token", obj{"token": one}, nil)
		waits := w.Submit(obj{"tool": "bash", "command": "echo it ran", "credential_ids": []string{a},
			"require_approval": true})
		sealed := func(id string) string {
			return fmt.Sprintf("%x", w.Column("SELECT sealed FROM credentials WHERE id = '" + id + "'")[0])
		}
		set := func(id, hex string) string {
			literal := "X'" + hex + "'"
			if dbURL != "" {
				literal = `'\x` + hex + "'"
			}
			return "UPDATE credentials SET sealed = " + literal + " WHERE id = '" + id + "'"
		}
		of, was := sealed(a), sealed(old)
		w.want(http.StatusOK, http.MethodPut, "/v1/credentials/"+old,
			obj{"name": "newer", "kind": "token", "secret": obj{"token": two}})
		pair := w.credential("aws", obj{"secret_access_key": one, "session_token": one}, nil)
		for _, statement := range []string{set(a, sealed(b)), set(b, of), set(old, was), set(pair, of)} {
			w.Alter(statement)
		}
		for _, id := range []string{a, b, old} {
			sentence := w.refused(http.StatusConflict, "secret_unresolved", w.Do(http.MethodPost, "/v1/runs", parked(id)))
			if !strings.Contains(sentence, id) || !strings.Contains(sentence, "altered") {
				t.Errorf("a run with what was altered: %s", sentence)
			}
			w.want(http.StatusOK, http.MethodGet, "/v1/credentials/"+id, nil)
		}
		half := obj{"name": "half", "kind": "aws", "secret": obj{"session_token": two}}
		w.refused(http.StatusConflict, "secret_unresolved", w.Do(http.MethodPut, "/v1/credentials/"+pair, half))
		w.want(http.StatusOK, http.MethodPost, "/v1/runs/"+waits.ID+"/approve", obj{})
		if r, log := w.ends(waits.ID, "failed"); !strings.Contains(r.Error, a) || strings.Contains(log, "it ran") ||
			strings.Contains(log+r.Error, two) {
			t.Errorf("a run that waited: %q %s", r.Error, log)
		}
		if doctor := string(w.Do(http.MethodGet, "/v1/doctor", nil).Body); !strings.Contains(doctor, a) ||
			!strings.Contains(doctor, b) || strings.Contains(doctor, c) {
			t.Errorf("the doctor says %s", doctor)
		}
		if stdout := w.scriptOutput("rev <<< $TOKEN", c); stdout != reversed(good)+"\n" {
			t.Errorf("another one: %q", stdout)
		}
		out, code := w.writ("audit", "key", "rewrap", "--json")
		var r rewrapped
		if err := json.Unmarshal([]byte(strings.Split(out, "\n")[0]), &r); code != 1 ||
			err != nil && !strings.Contains(out, a) {
			t.Errorf("rewrap ends with %d, %v: %s", code, err, out)
		}
		w.want(http.StatusOK, http.MethodPut, "/v1/credentials/"+a,
			obj{"name": "anew", "kind": "token", "secret": obj{"token": good}})
		if stdout := w.scriptOutput("rev <<< $TOKEN", a); stdout != reversed(good)+"\n" {
			t.Errorf("given anew: %q", stdout)
		}
		w.Intact()
	})
}

// sealedFixture has a row in every table with sealed texts, and checks that each opens.
type sealedFixture struct {
	*fixture
	vault            *vault
	tokens           map[string]string // of credentials, by id
	hook, hookSecret string
	template         string
	signed           atomic.Int32 // notifications with a valid signature
	live             harness.Run  // which has a lease
	stop             string
}

func newSealedFixture(t *testing.T, dbURL string) *sealedFixture {
	t.Helper()
	s := &sealedFixture{vault: newVault(t), tokens: map[string]string{}, stop: filepath.Join(harness.Shared(t), "stop")}
	key := fresh(24)
	page := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get("Writ-Signature") == sign(key, body) {
			s.signed.Add(1)
		}
	}))
	t.Cleanup(page.Close)
	s.fixture = newFixture(t, harness.Options{DB: dbURL, Flags: []string{"--allow-private-egress", "127.0.0.1/32"}})
	for range 4 {
		s.add()
	}
	s.template = s.id("/v1/templates", obj{
		"name": "t", "tool": "bash", "command": "true",
		"notifications": []obj{{"kind": "webhook", "url": page.URL + "/" + fresh(8), "key": key}},
	})
	trg := s.want(http.StatusCreated, http.MethodPost, "/v1/triggers", obj{"name": "t", "template_id": s.template})
	s.hook, s.hookSecret = trg["hook_path"].(string), trg["signing_secret"].(string)
	minting := s.sourced("vmware", "vault_dynamic", s.vault.config("database/creds/app", "password", true, nil))
	s.live = s.bash("until [ -e "+s.stop+" ]; do sleep 0.05; done", minting)
	harness.Eventually(t, awhile, "a secret is minted", func() bool { leases, _ := s.vault.live(); return leases == 1 })
	s.opens()
	return s
}

func sign(key string, body []byte) string {
	m := hmac.New(sha256.New, []byte(key))
	m.Write(body)
	return "sha256=" + hex.EncodeToString(m.Sum(nil))
}

func (s *sealedFixture) add() {
	value := fresh(20)
	s.tokens[s.credential("token", obj{"token": value}, nil)] = value
}

// body is a run that succeeds if it has the right secret.
func (s *sealedFixture) body(id string) obj {
	sum := md5.Sum([]byte(s.tokens[id])) //nolint:gosec // to compare, not to protect
	return obj{"tool": "bash", "command": `[ "$(printf %s "$TOKEN" | md5sum | cut -c1-32)" = ` +
		hex.EncodeToString(sum[:]) + " ]", "credential_ids": []string{id}}
}

// opens uses everything that is sealed.
func (s *sealedFixture) opens() {
	s.t.Helper()
	for _, id := range slices.Sorted(maps.Keys(s.tokens)) {
		s.ends(s.Submit(s.body(id)).ID, "succeeded")
	}
	before := s.signed.Load()
	body := `{"ref":"refs/heads/main","after":"0123456789012345678901234567890123456789","repository":{"full_name":"a/b"},` +
		`"pusher":{"name":"` + fresh(8) + `"}}`
	a := s.As("").Do(http.MethodPost, s.hook, body, "X-GitHub-Event", "push", "X-GitHub-Delivery", fresh(8),
		"X-Hub-Signature-256", sign(s.hookSecret, []byte(body)))
	if a.Status != http.StatusAccepted {
		s.t.Fatalf("a hook: %d %s", a.Status, a.Body)
	}
	harness.Eventually(s.t, awhile, "a signed notification", func() bool { return s.signed.Load() > before })
}

// ended ends the run with the lease, and checks that the lease is revoked.
func (s *sealedFixture) ended() {
	s.t.Helper()
	if leases, _ := s.vault.live(); leases != 1 {
		s.t.Errorf("%d leases while the run goes on", leases)
	}
	save(s.t, s.stop, "")
	s.ends(s.live.ID, "succeeded")
	harness.Eventually(s.t, awhile, "the lease is revoked", func() bool {
		leases, _ := s.vault.live()
		return leases == 0
	})
}

// load submits runs with credentials, at least six, until stop is called, which waits for their ends.
func (s *sealedFixture) load() (stop func()) {
	var quit atomic.Bool
	var work sync.WaitGroup
	var mu sync.Mutex
	var made []string
	// The bodies are computed in advance: credentials are added during the load.
	var bodies []obj
	for _, id := range slices.Sorted(maps.Keys(s.tokens)) {
		bodies = append(bodies, s.body(id))
	}
	for n := range 3 {
		work.Go(func() {
			for i := n; !quit.Load(); i++ {
				a, err := s.Try(http.MethodPost, "/v1/runs", bodies[i%len(bodies)])
				var r harness.Run
				if err != nil || a.Status != http.StatusCreated || json.Unmarshal(a.Body, &r) != nil {
					s.t.Errorf("a run under load: %v %d %s", err, a.Status, a.Body)
					return
				}
				mu.Lock()
				made = append(made, r.ID)
				mu.Unlock()
				for err == nil && !r.Ended() {
					<-time.After(10 * time.Millisecond)
					if a, err = s.Try(http.MethodGet, "/v1/runs/"+r.ID, nil); err == nil {
						err = json.Unmarshal(a.Body, &r)
					}
				}
			}
		})
	}
	end := func() {
		quit.Store(true)
		work.Wait()
	}
	s.t.Cleanup(end)
	return func() {
		harness.Eventually(s.t, time.Minute, "the runs go on", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(made) >= 6
		})
		end()
		for _, id := range made {
			s.ends(id, "succeeded")
		}
	}
}

// TestRewrapUnderLoad changes the key of a running server: no run fails, and afterwards nothing needs the old key.
func TestRewrapUnderLoad(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		s := newSealedFixture(t, dbURL)
		stop := s.load()
		first := s.rewrap()
		for what, n := range map[string]int{"credentials": 5, "triggers": 1, "notification targets": 1} {
			if first.Held[what] != n || first.Wrapped[what] != n {
				t.Errorf("of %s %d are held and %d were wrapped, want %d", what, first.Held[what], first.Wrapped[what], n)
			}
		}
		if len(first.Held) != 4 {
			t.Errorf("held are %v", first.Held)
		}
		s.add() // the server seals under the new key without a signal
		if keys := len(s.keyFile()) - 2; keys != 2 {
			t.Errorf("the file holds %d keys", keys)
		}
		s.dropOldKeys()
		again := s.rewrap("--to", first.KeyID)
		stop()
		if sum(again.Wrapped) != 0 || again.KeyID != first.KeyID || again.Held["credentials"] != 6 {
			t.Errorf("once more: %+v", again)
		}
		s.opens()
		s.ended()
		s.Stop()
		next := s.again()
		s.fixture = next
		s.opens()
		s.trail(2)
	})
}

func sum(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

// trail checks for entries of rewrapping in a trail that verifies.
func (s *sealedFixture) trail(n int) {
	s.t.Helper()
	s.Intact()
	text := string(s.Do(http.MethodGet, "/v1/audit?limit=1000", nil).Body)
	if got := strings.Count(text, `"action":"key.rewrap"`); got != n {
		s.t.Errorf("the trail tells %d times of rewrapping, want %d", got, n)
	}
	out, code := s.writ("audit", "verify")
	if code != 0 && code != 3 {
		s.t.Errorf("verify ends with %d: %s", code, out)
	}
}

// TestAKeyThatIsMadeFirst adds a key, which does not seal yet, and then selects it.
func TestAKeyThatIsMadeFirst(t *testing.T) {
	t.Parallel()
	s := newSealedFixture(t, "")
	out, code := s.writ("audit", "key", "rewrap", "--add-key", "--json")
	var added struct {
		KeyID string `json:"key_id"`
	}
	if err := json.Unmarshal([]byte(out), &added); err != nil || code != 0 || len(added.KeyID) < 16 ||
		len(s.keyFile())-2 != 2 {
		t.Fatalf("add a key: %d %s", code, out)
	}
	s.add()
	s.opens()
	done := s.rewrap("--to", added.KeyID)
	if done.KeyID != added.KeyID || done.Wrapped["credentials"] != 6 {
		t.Errorf("to the key that was added: %+v", done)
	}
	s.dropOldKeys()
	s.opens()
	s.ended()
	if out, code := s.writ("audit", "key", "rewrap", "--add-key", "--to", added.KeyID); code != 2 {
		t.Errorf("both flags: %d %s", code, out)
	}
	if out, code := s.writ("audit", "key", "rewrap", "--to", "00112233445566778899aabbccddeeff"); code != 1 {
		t.Errorf("a key that there is not: %d %s", code, out)
	}
	s.opens()
	s.trail(1)
}

// TestAKeyOfTheEnvironment sets the keys by the environment, where no command can change them.
func TestAKeyOfTheEnvironment(t *testing.T) {
	t.Parallel()
	keys := filepath.Join(t.TempDir(), "keys")
	s := newSealedFixture(t, "")
	save(t, keys, strings.Join(s.keyFile(), "\n")+"\n")
	add := harness.Binary(t)
	var added struct {
		KeyID string `json:"key_id"`
	}
	out := output(t, add, "audit", "key", "rewrap", "--add-key", "--json", "--encryption-key-file", keys, "--db",
		s.DB, "--data-dir", s.dataDir())
	if err := json.Unmarshal([]byte(out), &added); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(read(t, keys)), "\n")
	old, fresh := lines[len(lines)-2], lines[len(lines)-1]
	s.ended()
	s.Stop()
	if err := os.Remove(filepath.Join(s.dataDir(), "encryption.key")); err != nil {
		t.Fatal(err)
	}
	s.Env = []string{"WRIT_ENCRYPTION_KEY=" + fresh + "\n" + old}
	s.fixture = s.again()
	s.opens()
	for _, args := range [][]string{nil, {"--add-key"}} {
		if out, code := s.writ(append([]string{"audit", "key", "rewrap"}, args...)...); code != 1 ||
			!strings.Contains(out, "environment") || strings.Contains(out, fresh) {
			t.Errorf("rewrap %v ends with %d: %s", args, code, out)
		}
	}
	if done := s.rewrap("--to", added.KeyID); done.KeyID != added.KeyID || done.Wrapped["credentials"] != 5 {
		t.Errorf("to the key of the environment: %+v", done)
	}
	s.Stop()
	s.Env = []string{"WRIT_ENCRYPTION_KEY=" + fresh}
	s.fixture = s.again()
	s.opens()
	s.trail(1)
	if exists(filepath.Join(s.dataDir(), "encryption.key")) || strings.Contains(s.Output(), fresh) {
		t.Error("the key of the environment came to a file or into the log")
	}
}
