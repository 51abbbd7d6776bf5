package gcpsm_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/writ-automation/writ/adapters/secrets/gcpsm"
	"github.com/writ-automation/writ/platform/egress"
	"github.com/writ-automation/writ/ports/secret"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	account = "writ@writ-project.iam.gserviceaccount.com"
	token   = "ya29.c4nary-access-token"
	scope   = "https://www.googleapis.com/auth/cloud-platform"
)

var key = sync.OnceValue(func() *rsa.PrivateKey {
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return k
})

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func hanging(t *testing.T) string {
	return serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
}

// exchange is a fake of Google's token endpoint for service accounts: it verifies the assertion's signature and claims.
func exchange(t *testing.T) string {
	var at string
	at = serve(t, func(w http.ResponseWriter, r *http.Request) {
		refuse := func(why string) {
			answer(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant",
				"error_description": why + r.PostForm.Get("assertion")})
		}
		if err := r.ParseForm(); err != nil || r.Method != http.MethodPost || len(r.PostForm) != 2 ||
			r.PostForm.Get("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer" {
			t.Errorf("%s %v %v", r.Method, r.PostForm, err)
		}
		parts := strings.Split(r.PostForm.Get("assertion"), ".")
		if len(parts) != 3 {
			refuse("no JWT ")
			return
		}
		var head struct{ Alg, Typ, Kid string }
		var claims struct {
			Iss, Scope, Aud string
			Exp, Iat        int64
		}
		for i, to := range []any{&head, &claims} {
			text, err := base64.RawURLEncoding.DecodeString(parts[i])
			if err != nil || json.Unmarshal(text, to) != nil {
				refuse("no claims ")
				return
			}
		}
		signature, err := base64.RawURLEncoding.DecodeString(parts[2])
		sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
		now := time.Now().Unix()
		switch {
		case err != nil || rsa.VerifyPKCS1v15(&key().PublicKey, crypto.SHA256, sum[:], signature) != nil:
			refuse("Invalid JWT Signature. ")
		case head.Alg != "RS256" || head.Typ != "JWT" || head.Kid != "c4nary-kid" || claims.Iss != account ||
			claims.Aud != at+"/token" || claims.Scope != scope ||
			claims.Iat > now+30 || claims.Exp < now || claims.Exp > claims.Iat+3600:
			refuse("Invalid JWT. ")
		default:
			answer(w, http.StatusOK, map[string]any{"access_token": token, "expires_in": 3599, "token_type": "Bearer"})
		}
	})
	return at
}

// accountFile returns the credentials file of a service account.
func accountFile(t *testing.T, endpoint string, k *rsa.PrivateKey) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]string{
		"type": "service_account", "project_id": "writ-project", "private_key_id": "c4nary-kid", "client_email": account,
		"client_id":   "1",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
		"token_uri":   endpoint + "/token",
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// manager is a fake of Secret Manager as its REST API is documented.
func manager(t *testing.T) string {
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		fail := func(code int, status string) {
			answer(w, code, map[string]any{"error": map[string]any{"code": code, "status": status,
				"message": "about " + r.Header.Get("Authorization")}})
		}
		give := func(version string, data []byte, more uint32) {
			sum := int64(crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)) + more)
			answer(w, http.StatusOK, map[string]any{"name": "projects/1/secrets/app/versions/" + version,
				"payload": map[string]any{
					"data": base64.StdEncoding.EncodeToString(data), "dataCrc32c": strconv.FormatInt(sum, 10),
				}})
		}
		name, ok := strings.CutPrefix(r.URL.EscapedPath(), "/v1/projects/writ-project/secrets/")
		name, access := strings.CutSuffix(name, ":access")
		switch {
		case r.Method != http.MethodGet || r.URL.RawQuery != "" || !ok || !access:
			fail(http.StatusNotFound, "NOT_FOUND")
		case r.Header.Get("Authorization") != "Bearer "+token:
			fail(http.StatusUnauthorized, "UNAUTHENTICATED")
		case name == "app/versions/latest":
			give("7", []byte("c4nary latest\n"), 0)
		case name == "app/versions/3":
			give("3", []byte("c4nary third"), 0)
		case name == "app/versions/4":
			fail(http.StatusBadRequest, "FAILED_PRECONDITION")
		case name == "damaged/versions/latest":
			give("1", []byte("c4nary damaged"), 1)
		case name == "binary/versions/latest":
			give("1", []byte("c4nary\xff"), 0)
		case name == "unchecked/versions/latest":
			answer(w, http.StatusOK, map[string]any{"payload": map[string]any{"data": "YQ=="}})
		case name == "forbidden/versions/latest":
			fail(http.StatusForbidden, "PERMISSION_DENIED")
		default:
			fail(http.StatusNotFound, "NOT_FOUND")
		}
	})
}

func conf(endpoint, credentials string) gcpsm.Config {
	return gcpsm.Config{Policy: egress.Policy{Level: egress.PrivateAllowed}, Endpoint: endpoint,
		Credentials: secret.Text(credentials)}
}

func config(name string, version any) map[string]any {
	out := map[string]any{"project": "writ-project", "secret": name}
	if version != nil {
		out["version"] = version
	}
	return out
}
