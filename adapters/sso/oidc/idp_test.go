package oidc_test

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// idp is a correct provider with overrides for tests, which are set before its use.
type idp struct {
	*httptest.Server
	clock *hand

	document func(object)                                      // the description
	payload  func(object)                                      // the ID token's claims
	token    func(i *idp, payload object) string               // the ID token itself
	grant    func(object)                                      // the token endpoint's answer
	instead  func(w http.ResponseWriter, r *http.Request) bool // answers a request itself if it returns true
	user     object                                            // claims of the user
	info     object                                            // of the userinfo endpoint; nil for those of the user
	posts    bool                                              // the client's secret is accepted only in the form

	mu      sync.Mutex
	signer  key
	public  []key
	codes   map[string]*begun
	secrets []string // texts that no error may contain
	hits    map[string]int
}

// begun is an issued code.
type begun struct {
	nonce, challenge string
	used             bool
}

const (
	clientID     = "writ"
	clientSecret = "c4nary-client-secret"
)

func newIDP(t *testing.T, clock *hand, turn func(*idp)) *idp {
	t.Helper()
	k := newKey(t, "k1", "RS256", 0)
	i := &idp{
		clock: clock, signer: k, public: []key{k}, codes: map[string]*begun{}, hits: map[string]int{},
		secrets: []string{clientSecret},
		user: object{"sub": "s-1", "preferred_username": "ada", "name": "Ada L", "email": "ada@example.com",
			"email_verified": true},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", i.describe)
	mux.HandleFunc("/authorize", i.authorize)
	mux.HandleFunc("/token", i.exchange)
	mux.HandleFunc("/userinfo", i.userInfo)
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		set := []object{}
		for _, k := range i.public {
			set = append(set, k.jwk())
		}
		reply(w, http.StatusOK, object{"keys": set})
	})
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.mu.Lock()
		i.hits[r.URL.Path]++
		i.mu.Unlock()
		if i.instead != nil && i.instead(w, r) {
			return
		}
		i.mu.Lock()
		defer i.mu.Unlock()
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(i.Close)
	if turn != nil {
		turn(i)
	}
	return i
}

// change changes the provider while it runs.
func (i *idp) change(fn func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	fn()
}

func (i *idp) asked(path string) int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.hits[path]
}

func reply(w http.ResponseWriter, status int, body object) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func (i *idp) describe(w http.ResponseWriter, _ *http.Request) {
	doc := object{
		"issuer": i.URL, "authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token",
		"jwks_uri": i.URL + "/keys", "userinfo_endpoint": i.URL + "/userinfo",
		"id_token_signing_alg_values_supported": []string{"none", "HS256", "RS256", "PS256", "ES256", "EdDSA"},
		"scopes_supported":                      []string{"openid", "profile", "email", "groups"},
		"token_endpoint_auth_methods_supported": []string{"client_secret_basic", "client_secret_post"},
	}
	if i.document != nil {
		i.document(doc)
	}
	reply(w, http.StatusOK, doc)
}

func (i *idp) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	for name, want := range map[string]string{
		"response_type": "code", "client_id": clientID, "code_challenge_method": "S256", "redirect_uri": redirectURL,
	} {
		if q.Get(name) != want {
			http.Error(w, name, http.StatusBadRequest)
			return
		}
	}
	code := "c4nary-code-" + rand.Text()
	i.codes[code] = &begun{nonce: q.Get("nonce"), challenge: q.Get("code_challenge")}
	i.secrets = append(i.secrets, code, q.Get("state"), q.Get("nonce"))
	back := url.Values{"code": {code}, "state": {q.Get("state")}}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

// exchange repeats the request in its errors, as careless providers do.
func (i *idp) exchange(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	id, password, ok := r.BasicAuth()
	if i.posts || !ok {
		id, password = r.PostForm.Get("client_id"), r.PostForm.Get("client_secret")
	}
	refuse := func(status int, code string) {
		reply(w, status, object{"error": code, "error_description": fmt.Sprint(r.PostForm, id, password)})
	}
	verifier := r.PostForm.Get("code_verifier")
	i.secrets = append(i.secrets, verifier)
	sum := sha256.Sum256([]byte(verifier))
	b := i.codes[r.PostForm.Get("code")]
	switch {
	case id != clientID || password != clientSecret:
		refuse(http.StatusUnauthorized, "invalid_client")
		return
	case b == nil || b.used || len(verifier) < 43 || b.challenge != b64(sum[:]) ||
		r.PostForm.Get("redirect_uri") != redirectURL:
		refuse(http.StatusBadRequest, "invalid_grant")
		return
	}
	b.used = true
	access := "c4nary-access-" + rand.Text()
	answer := object{"access_token": access, "token_type": "Bearer", "expires_in": 60,
		"id_token": i.idToken(b.nonce, access)}
	i.secrets = append(i.secrets, access, answer["id_token"].(string))
	if i.grant != nil {
		i.grant(answer)
	}
	reply(w, http.StatusOK, answer)
}

func (i *idp) idToken(nonce, access string) string {
	now := i.clock.Now().Unix()
	hash := sha256.Sum256([]byte(access))
	payload := object{"iss": i.URL, "aud": clientID, "iat": now, "exp": now + 300, "nonce": nonce}
	if i.signer.alg != "EdDSA" { // EdDSA hashes with SHA-512
		payload["at_hash"] = b64(hash[:16])
	}
	for name, v := range i.user {
		payload[name] = v
	}
	if i.payload != nil {
		i.payload(payload)
	}
	if i.token != nil {
		return i.token(i, payload)
	}
	return i.signer.sign(i.signer.header(), payload)
}

func (i *idp) userInfo(w http.ResponseWriter, r *http.Request) {
	if !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer c4nary-access-") {
		http.Error(w, r.Header.Get("Authorization"), http.StatusUnauthorized)
		return
	}
	if i.info == nil {
		reply(w, http.StatusOK, i.user)
		return
	}
	reply(w, http.StatusOK, i.info)
}
