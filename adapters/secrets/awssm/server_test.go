package awssm_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/writ-automation/writ/adapters/secrets/awssm"
	"github.com/writ-automation/writ/platform/egress"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	keyID   = "AKIAIOSFODNN7EXAMPLE"
	key     = "c4nary/secret+access/key"
	region  = "eu-central-1"
	session = "c4nary-session-token=="
	arn     = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:app-AbCdEf"
)

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

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	_, _ = io.WriteString(h, text)
	return h.Sum(nil)
}

// signed recomputes the signature of a request by Signature Version 4. It returns the error code, and the string that
// was signed, which AWS repeats in its answer.
func signed(r *http.Request, body string, token string) (code, repeated string) {
	auth, ok := strings.CutPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 ")
	parts := map[string]string{}
	for p := range strings.SplitSeq(auth, ", ") {
		name, value, _ := strings.Cut(p, "=")
		parts[name] = value
	}
	names := strings.Split(parts["SignedHeaders"], ";")
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if !ok || err != nil || time.Since(at).Abs() > 5*time.Minute {
		return "IncompleteSignature", ""
	}
	for _, name := range []string{"host", "x-amz-date", "x-amz-target", "content-type"} {
		if !slices.Contains(names, name) {
			return "IncompleteSignature", ""
		}
	}
	if r.Header.Get("X-Amz-Security-Token") != token || token != "" && !slices.Contains(names, "x-amz-security-token") {
		return "UnrecognizedClientException", ""
	}
	var headers strings.Builder
	for _, name := range names {
		value := r.Header.Get(name)
		switch name {
		case "host":
			value = r.Host
		case "content-length":
			value = fmt.Sprint(r.ContentLength)
		}
		headers.WriteString(name + ":" + strings.Join(strings.Fields(value), " ") + "\n")
	}
	scope := strings.Join([]string{at.Format("20060102"), region, "secretsmanager", "aws4_request"}, "/")
	if parts["Credential"] != keyID+"/"+scope {
		return "UnrecognizedClientException", ""
	}
	canonical := strings.Join([]string{r.Method, "/", r.URL.RawQuery, headers.String(), parts["SignedHeaders"],
		hash(body)}, "\n")
	toSign := strings.Join([]string{"AWS4-HMAC-SHA256", at.Format("20060102T150405Z"), scope, hash(canonical)}, "\n")
	k := []byte("AWS4" + key)
	for p := range strings.SplitSeq(scope, "/") {
		k = mac(k, p)
	}
	if parts["Signature"] != hex.EncodeToString(mac(k, toSign)) {
		return "InvalidSignatureException", canonical
	}
	return "", ""
}

// manager is a fake of Secrets Manager as its API is documented, for one session token. It counts requests with a wrong
// signature.
func manager(t *testing.T, token string) http.HandlerFunc {
	values := map[string]map[string]any{
		"app":    {"SecretString": `{"password":"c4nary value","port":18446744073709551615,"nothing":null,"tags":["a","b"]}`},
		arn:      {"SecretString": "c4nary by arn\n"},
		"bytes":  {"SecretBinary": base64.StdEncoding.EncodeToString([]byte("c4nary bytes"))},
		"binary": {"SecretBinary": base64.StdEncoding.EncodeToString([]byte("c4nary\xff"))},
		"none":   {},
	}
	refusals := map[string]string{
		"forbidden": "AccessDeniedException", "deleted": "InvalidRequestException", "undecrypted": "DecryptionFailure",
		"odd": "c4naryException",
	}
	return func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost || r.URL.String() != "/" ||
			r.Header.Get("Content-Type") != "application/x-amz-json-1.1" ||
			r.Header.Get("X-Amz-Target") != "secretsmanager.GetSecretValue" {
			t.Errorf("%s %s %v %v", r.Method, r.URL, r.Header, err)
		}
		fail := func(code, message string) {
			answer(w, http.StatusBadRequest, map[string]any{"__type": "com.amazonaws.secretsmanager#" + code,
				"message": "c4nary " + message})
		}
		if code, repeated := signed(r, string(text), token); code != "" {
			fail(code, repeated)
			return
		}
		var in struct{ SecretId string }
		d := json.NewDecoder(strings.NewReader(string(text)))
		d.DisallowUnknownFields()
		if err := d.Decode(&in); err != nil {
			t.Error(err)
		}
		out, ok := values[in.SecretId]
		switch {
		case refusals[in.SecretId] != "":
			fail(refusals[in.SecretId], in.SecretId)
		case !ok:
			fail("ResourceNotFoundException", "Secrets Manager can't find the specified secret.")
		default:
			body := map[string]any{"ARN": arn, "Name": in.SecretId, "VersionId": "1", "VersionStages": []string{"AWSCURRENT"},
				"CreatedDate": 1.7e9}
			for k, v := range out {
				body[k] = v
			}
			answer(w, http.StatusOK, body)
		}
	}
}

func conf(endpoint string) awssm.Config {
	return awssm.Config{Policy: egress.Policy{Level: egress.PrivateAllowed}, Endpoint: endpoint}
}

func config(name string, more map[string]any) map[string]any {
	out := map[string]any{"region": region, "secret_id": name, "access_key_id": keyID, "secret_access_key": key}
	for k, v := range more {
		if out[k] = v; v == nil {
			delete(out, k)
		}
	}
	return out
}
