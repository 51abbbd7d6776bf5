package vault_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/writ-automation/writ/adapters/secrets/vault"
	"github.com/writ-automation/writ/platform/egress"
)

const (
	rootToken = "hvs.c4naryRootToken"
	roleID    = "b7f4a1d2-role"
	secretID  = "c4nary-secret-id"
)

// server is a fake of Vault as its HTTP API is documented, with the KV engines secret/ (version 2), old/ (version 1)
// and team/kv/ (version 2), the dynamic engine database/, and AppRole. An undocumented request fails the test.
type server struct {
	*httptest.Server
	t *testing.T

	mu        sync.Mutex
	namespace string
	sealed    bool
	noLeases  bool                // the policies do not allow sys/leases/revoke
	batch     bool                // logins make batch tokens
	tokens    map[string]bool     // of login tokens only
	leases    map[string][]string // the token and the password, by id
	life      int64               // of leases, in seconds; 0 is an hour
	fixed     bool                // leases are not renewable
	noRenewal bool                // the policies do not allow sys/leases/renew
	count     int
	asked     []string // methods and paths
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{t: t, tokens: map[string]bool{rootToken: false}, leases: map[string][]string{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func conf() vault.Config { return vault.Config{Policy: egress.Policy{Level: egress.PrivateAllowed}} }

// config returns the config of a secret on the server, with the given members set, or removed if nil.
func (s *server) config(path string, more map[string]any) map[string]any {
	out := map[string]any{"address": s.URL, "path": path, "token": rootToken}
	for k, v := range more {
		if out[k] = v; v == nil {
			delete(out, k)
		}
	}
	return out
}

func role(more map[string]any) map[string]any {
	out := map[string]any{"token": nil, "role_id": roleID, "secret_id": secretID}
	for k, v := range more {
		out[k] = v
	}
	return out
}

// logins returns the tokens of logins that are still valid.
func (s *server) logins() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.tokens) - 1
}

func (s *server) minted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.leases)
}

func (s *server) paths() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

func (s *server) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Header.Get("X-Vault-Request") != "true" {
		s.t.Errorf("%s %s: %v, %v", r.Method, r.URL, err, r.Header)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, r.Method+" "+r.URL.EscapedPath())
	path, ok := strings.CutPrefix(r.URL.Path, "/v1/")
	token := r.Header.Get("X-Vault-Token")
	_, known := s.tokens[token]
	switch {
	case !ok || r.URL.RawQuery != "":
		answer(w, http.StatusNotFound, errorsOf())
	case s.sealed:
		answer(w, http.StatusServiceUnavailable, errorsOf("Vault is sealed"))
	case r.Header.Get("X-Vault-Namespace") != s.namespace:
		answer(w, http.StatusNotFound, errorsOf("no handler for route \""+path+"\". route entry not found."))
	case path == "auth/approle/login":
		s.login(w, r, body)
	case !known:
		answer(w, http.StatusForbidden, errorsOf("2 errors occurred:\n\t* permission denied\n\t* invalid token "+token+
			"\n\n"))
	case path == "sys/leases/revoke":
		s.revoke(w, r, body)
	case path == "sys/leases/renew":
		s.renew(w, r, body)
	case path == "auth/token/renew-self":
		answer(w, http.StatusOK, map[string]any{"auth": map[string]any{"client_token": token, "lease_duration": 900,
			"renewable": true}})
	case path == "auth/token/revoke-self":
		s.revokeSelf(w, r, token)
	case r.Method != http.MethodGet || len(body) > 0:
		answer(w, http.StatusMethodNotAllowed, errorsOf("unsupported operation"))
	default:
		s.read(w, path, token)
	}
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func errorsOf(texts ...string) map[string]any {
	return map[string]any{"errors": append([]string{}, texts...)}
}

// take decodes a body that has only allowed members.
func take(r *http.Request, body []byte, into any) error {
	if r.Method != http.MethodPost && r.Method != http.MethodPut || r.Header.Get("Content-Type") != "application/json" {
		return errors.New("unsupported operation")
	}
	d := json.NewDecoder(strings.NewReader(string(body)))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

func (s *server) login(w http.ResponseWriter, r *http.Request, body []byte) {
	var in struct {
		RoleID   string `json:"role_id"`
		SecretID string `json:"secret_id"`
	}
	if err := take(r, body, &in); err != nil || in.RoleID != roleID || in.SecretID != secretID {
		answer(w, http.StatusBadRequest, errorsOf("invalid role or secret ID "+in.SecretID))
		return
	}
	s.count++
	token := fmt.Sprintf("hvs.c4naryLogin%d", s.count)
	s.tokens[token] = true
	answer(w, http.StatusOK, map[string]any{
		"request_id": "1", "lease_id": "", "renewable": false, "lease_duration": 0, "data": nil, "warnings": nil,
		"auth": map[string]any{"client_token": token, "accessor": "a", "policies": []string{"default"},
			"lease_duration": 1200, "renewable": true},
	})
}

func (s *server) revoke(w http.ResponseWriter, r *http.Request, body []byte) {
	var in struct {
		LeaseID string `json:"lease_id"`
	}
	switch err := take(r, body, &in); {
	case err != nil || in.LeaseID == "":
		answer(w, http.StatusBadRequest, errorsOf("missing lease_id"))
	case s.noLeases:
		answer(w, http.StatusForbidden, errorsOf("1 error occurred:\n\t* permission denied\n\n"))
	default:
		delete(s.leases, in.LeaseID)
		w.WriteHeader(http.StatusNoContent)
	}
}

func (s *server) renew(w http.ResponseWriter, r *http.Request, body []byte) {
	var in struct {
		LeaseID string `json:"lease_id"`
	}
	err := take(r, body, &in)
	switch _, known := s.leases[in.LeaseID]; {
	case err != nil || !known:
		answer(w, http.StatusBadRequest, errorsOf("lease not found"))
	case s.noRenewal:
		answer(w, http.StatusForbidden, errorsOf("1 error occurred:\n\t* permission denied\n\n"))
	default:
		answer(w, http.StatusOK, map[string]any{"lease_id": in.LeaseID, "renewable": true, "lease_duration": 1800,
			"warnings": nil})
	}
}

func (s *server) revokeSelf(w http.ResponseWriter, r *http.Request, token string) {
	switch {
	case r.Method != http.MethodPost && r.Method != http.MethodPut:
		answer(w, http.StatusMethodNotAllowed, errorsOf("unsupported operation"))
	case s.batch:
		answer(w, http.StatusBadRequest, errorsOf("batch tokens cannot be revoked"))
	case token == rootToken:
		s.t.Error("the configured token was revoked")
		w.WriteHeader(http.StatusNoContent)
	default:
		s.end(token)
		w.WriteHeader(http.StatusNoContent)
	}
}

// end revokes a token and its leases.
func (s *server) end(token string) {
	delete(s.tokens, token)
	for id, l := range s.leases {
		if l[0] == token {
			delete(s.leases, id)
		}
	}
}

// accepts reports whether a password of the dynamic engine is valid.
func (s *server) accepts(password string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.leases {
		if l[1] == password {
			return true
		}
	}
	return false
}

func (s *server) read(w http.ResponseWriter, path, token string) {
	plain := func(lease string, data any) map[string]any {
		return map[string]any{
			"request_id": "1", "lease_id": lease, "renewable": lease != "" && !s.fixed, "lease_duration": cmp.Or(s.life, 3600),
			"data": data, "wrap_info": nil, "warnings": nil, "auth": nil,
		}
	}
	meta := map[string]any{"created_time": "2024-01-02T03:04:05Z", "custom_metadata": nil, "deletion_time": "",
		"destroyed": false, "version": 3}
	data := map[string]any{
		"password": "c4nary-password", "port": json.Number("18446744073709551615"), "tags": []string{"a", "<b>"},
		"nothing": nil, "data": "inner",
	}
	switch path {
	case "secret/data/app", "team/kv/data/app", "secret/data/a b/ü?#", "secret/data/data":
		answer(w, http.StatusOK, plain("", map[string]any{"data": data, "metadata": meta}))
	case "secret/data/gone":
		meta["deletion_time"] = "2024-02-02T03:04:05Z"
		answer(w, http.StatusNotFound, plain("", map[string]any{"data": nil, "metadata": meta}))
	case "secret/app":
		body := plain("", nil)
		body["errors"] = []string{}
		body["warnings"] = []string{"Invalid path for a versioned K/V secrets engine. See the API docs for the appropriate " +
			"API endpoints to use."}
		answer(w, http.StatusNotFound, body)
	case "old/app", "old/data/app":
		answer(w, http.StatusOK, plain("", data))
	case "secret/data/forbidden":
		answer(w, http.StatusForbidden, errorsOf("1 error occurred:\n\t* permission denied for "+token+"\n\n"))
	case "database/creds/app":
		s.count++
		id := fmt.Sprintf("database/creds/app/%d", s.count)
		password := fmt.Sprintf("c4nary-made-%d", s.count)
		s.leases[id] = []string{token, password}
		answer(w, http.StatusOK, plain(id, map[string]any{"username": "v-app", "password": password}))
	case "identity/made":
		answer(w, http.StatusOK, plain("", map[string]any{"token": "c4nary-unleased"}))
	default:
		answer(w, http.StatusNotFound, errorsOf())
	}
}
