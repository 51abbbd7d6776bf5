package anchor_test

import (
	"bytes"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/writ-automation/writ/adapters/anchor"
	"github.com/writ-automation/writ/platform/egress"
)

// home allows addresses of test servers.
func home() anchor.Options {
	return anchor.Options{Policy: egress.Policy{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}}
}

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// query is a TimeStampReq in the form that this test reads and forges.
type query struct {
	Version int
	Imprint struct {
		Algorithm pkix.AlgorithmIdentifier
		Hashed    []byte
	}
	Nonce   *big.Int `asn1:"optional"`
	CertReq bool     `asn1:"optional"`
}

// authority runs OpenSSL as a time-stamping authority with a certificate of its own CA.
type authority struct {
	dir string
	mu  sync.Mutex // guards the serial file
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{dir: t.TempDir()}
	write(t, a.at("ext"), "extendedKeyUsage=critical,timeStamping\nkeyUsage=critical,digitalSignature\n")
	write(t, a.at("serial"), "01\n")
	for _, digest := range []string{"sha256", "sha512"} {
		write(t, a.at(digest), fmt.Sprintf(`[tsa]
default_tsa = it
[it]
serial = %[1]s/serial
crypto_device = builtin
signer_cert = %[1]s/tsa.pem
certs = %[1]s/ca.pem
signer_key = %[1]s/tsa.key
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = %[2]s
accuracy = secs:1, millisecs:500
ordering = yes
tsa_name = yes
ess_cert_id_alg = sha256
`, a.dir, digest))
	}
	a.openssl(t, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
		a.at("ca.key"),
		"-out", a.at("ca.pem"), "-subj", "/CN=A test CA", "-days", "2")
	a.openssl(t, "req", "-newkey", "rsa:2048", "-nodes", "-keyout", a.at("tsa.key"), "-out", a.at("tsa.csr"), "-subj",
		"/CN=A test authority")
	a.openssl(t, "x509", "-req", "-in", a.at("tsa.csr"), "-CA", a.at("ca.pem"), "-CAkey", a.at("ca.key"),
		"-CAcreateserial",
		"-out", a.at("tsa.pem"), "-days", "2", "-extfile", a.at("ext"))
	return a
}

func (a *authority) at(name string) string { return filepath.Join(a.dir, name) }

// reply answers a query; a config of sha512 rejects every other digest.
func (a *authority) reply(t *testing.T, config string, q []byte) []byte {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	write(t, a.at("q.tsq"), string(q))
	a.openssl(t, "ts", "-reply", "-config", a.at(config), "-queryfile", a.at("q.tsq"), "-out", a.at("r.tsr"))
	b, err := os.ReadFile(a.at("r.tsr"))
	if err != nil {
		t.Error(err)
	}
	return b
}

// openssl fails the test without OpenSSL: these tests need a real counterpart.
func (a *authority) openssl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "openssl", args...).CombinedOutput()
	if err != nil {
		t.Errorf("openssl %v (install the package openssl where it is missing): %v\n%s", args, err, out)
	}
	return string(out)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Error(err)
	}
}

// honest serves the authority over HTTP as in RFC 3161, 3.4.
func (a *authority) honest(t *testing.T) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		q, err := io.ReadAll(io.LimitReader(r.Body, 4096))
		if err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/timestamp-query" {
			http.Error(w, "not a query", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/timestamp-reply")
		_, _ = w.Write(a.reply(t, "sha256", q))
	}
}

// forged answers a query other than the received one.
func (a *authority) forged(t *testing.T, config string, change func(q *query)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		var q query
		rest, err := asn1.Unmarshal(b, &q)
		if err != nil || len(rest) > 0 || q.Version != 1 || !q.CertReq || q.Nonce == nil || len(q.Imprint.Hashed) != 32 {
			t.Errorf("not the query of RFC 3161: %+v %v", q, err)
		}
		change(&q)
		if b, err = asn1.Marshal(q); err != nil {
			t.Error(err)
		}
		_, _ = w.Write(a.reply(t, config, b))
	}
}

// spoiled returns the authority's answer with one change.
func (a *authority) spoiled(t *testing.T, change func([]byte) []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		_, _ = w.Write(change(bytes.Clone(a.reply(t, "sha256", b))))
	}
}
