package secrets_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// vault is a fake of Vault's HTTP API: KV engines secret/ (version 2) and old/ (version 1), the dynamic engine
// database/, tokens and AppRole.
type vault struct {
	*httptest.Server
	root, secretID string
	value          string // of the KV engines

	mu     sync.Mutex
	tokens map[string]bool   // of logins
	leases map[string]string // valid passwords, with their tokens
	made   []string          // passwords
	ends   []string          // how leases were revoked: by id, or with their token
	count  int
	life   int  // of leases in seconds, which are renewable then; 0 is an hour
	denies bool // renewals extend nothing
	renews int  // number of renewals
}

func newVault(t *testing.T) *vault {
	t.Helper()
	v := &vault{root: "hvs." + fresh(20), secretID: "sid-" + fresh(20), value: "kept-" + fresh(16),
		tokens: map[string]bool{}, leases: map[string]string{}}
	v.Server = httptest.NewServer(v)
	t.Cleanup(v.Close)
	return v
}

// config returns the config for a path, by a token or by AppRole.
func (v *vault) config(path, field string, role bool, more obj) obj {
	out := obj{"address": v.URL, "path": path, "field": field}
	if role {
		out["role_id"], out["secret_id"] = "the-role", v.secretID
	} else {
		out["token"] = v.root
	}
	for name, value := range more {
		out[name] = value
	}
	return out
}

// live returns the valid passwords, and the tokens of logins that were not revoked.
func (v *vault) live() (leases, logins int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.leases), len(v.tokens)
}

func (v *vault) passwords() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return append([]string{}, v.made...)
}

// short gives leases a short lifetime, with or without renewal.
func (v *vault) short(life int, denies bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.life, v.denies = life, denies
}

func (v *vault) renewals() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.renews
}

func (v *vault) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var in struct {
		Role   string `json:"role_id"`
		Secret string `json:"secret_id"`
		Lease  string `json:"lease_id"`
	}
	_ = json.Unmarshal(body, &in)
	v.mu.Lock()
	defer v.mu.Unlock()
	path, token := strings.TrimPrefix(r.URL.Path, "/v1/"), r.Header.Get("X-Vault-Token")
	known := token == v.root || v.tokens[token]
	switch {
	case path == "auth/approle/login" && in.Role == "the-role" && in.Secret == v.secretID:
		v.count++
		made := fmt.Sprintf("hvs.login%d%s", v.count, fresh(12))
		v.tokens[made] = true
		answerJSON(w, http.StatusOK, obj{"auth": obj{"client_token": made}})
	case path == "auth/approle/login":
		answerJSON(w, http.StatusBadRequest, obj{"errors": []string{"invalid secret id " + in.Secret}})
	case !known:
		answerJSON(w, http.StatusForbidden, obj{"errors": []string{"permission denied for " + token}})
	case path == "auth/token/revoke-self":
		delete(v.tokens, token)
		for password, by := range v.leases {
			if by == token {
				v.end(password, "token")
			}
		}
		w.WriteHeader(http.StatusNoContent)
	case path == "sys/leases/renew" && v.denies:
		answerJSON(w, http.StatusForbidden, obj{"errors": []string{"permission denied for " + token}})
	case path == "sys/leases/renew":
		v.renews++
		answerJSON(w, http.StatusOK, obj{"lease_id": in.Lease, "renewable": true, "lease_duration": v.life})
	case path == "sys/leases/revoke":
		if password, ok := strings.CutPrefix(in.Lease, "database/creds/app/"); ok {
			v.end(password, "lease")
		}
		w.WriteHeader(http.StatusNoContent)
	default:
		v.read(w, path, token)
	}
}

func (v *vault) end(password, how string) {
	if _, ok := v.leases[password]; ok {
		delete(v.leases, password)
		v.ends = append(v.ends, how)
	}
}

func (v *vault) read(w http.ResponseWriter, path, token string) {
	data := obj{"password": v.value, "access_key": "AKIAVAULT", "secret_key": v.value, "other": "x"}
	switch path {
	case "secret/data/app":
		answerJSON(w, http.StatusOK, obj{"data": obj{"data": data, "metadata": obj{"version": 1}}})
	case "old/app":
		answerJSON(w, http.StatusOK, obj{"data": data})
	case "database/creds/app":
		password := "made-" + fresh(16)
		v.made, v.leases[password] = append(v.made, password), token
		answerJSON(w, http.StatusOK, obj{"lease_id": "database/creds/app/" + password, "renewable": v.life > 0,
			"lease_duration": max(v.life, 1), "data": obj{"username": "u", "password": password}})
	case "secret/data/forbidden":
		answerJSON(w, http.StatusForbidden, obj{"errors": []string{"permission denied for " + token + " and " + v.value}})
	default:
		answerJSON(w, http.StatusNotFound, obj{"errors": []string{}})
	}
}

func answerJSON(w http.ResponseWriter, status int, body obj) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
