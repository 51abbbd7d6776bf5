package harness

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// Authority is OpenSSL as a time-stamping authority over HTTP, with a certificate by a CA of its own.
type Authority struct {
	URL     string
	CA      string // file with its certificate
	t       testing.TB
	dir     string
	mu      sync.Mutex // OpenSSL keeps the serial in a file
	digests string     // the digest that it stamps
}

// NewAuthority starts an authority. The test's end stops it.
func NewAuthority(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{t: t, dir: t.TempDir(), digests: "sha256"}
	a.CA = a.at("ca.pem")
	a.write(a.at("ext"), "extendedKeyUsage=critical,timeStamping\nkeyUsage=critical,digitalSignature\n")
	a.write(a.at("serial"), "01\n")
	a.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
		a.at("ca.key"),
		"-out", a.at("ca.pem"), "-subj", "/CN=A test CA", "-days", "2")
	a.openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", a.at("tsa.key"),
		"-out", a.at("tsa.csr"), "-subj", "/CN=A test authority")
	a.openssl("x509", "-req", "-in", a.at("tsa.csr"), "-CA", a.at("ca.pem"), "-CAkey", a.at("ca.key"), "-CAcreateserial",
		"-out", a.at("tsa.pem"), "-days", "2", "-extfile", a.at("ext"))
	s := httptest.NewServer(http.HandlerFunc(a.answer))
	t.Cleanup(s.Close)
	a.URL = s.URL
	return a
}

func (a *Authority) at(name string) string { return filepath.Join(a.dir, name) }

func (a *Authority) openssl(args ...string) {
	a.t.Helper()
	out, err := exec.CommandContext(a.t.Context(), "openssl", args...).CombinedOutput()
	if err != nil {
		a.t.Errorf("openssl %v: %v\n%s", args, err, out)
	}
}

func (a *Authority) write(path, text string) {
	a.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		a.t.Error(err)
	}
}

// Stamps sets the only digest that the authority stamps.
func (a *Authority) Stamps(digest string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.digests = digest
}

// answer is RFC 3161, 3.4.
func (a *Authority) answer(w http.ResponseWriter, r *http.Request) {
	q, err := io.ReadAll(io.LimitReader(r.Body, 4096))
	if err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/timestamp-query" {
		http.Error(w, "not a query", http.StatusBadRequest)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.write(a.at("conf"),
		fmt.Sprintf("[tsa]\ndefault_tsa = it\n[it]\nserial = %[1]s/serial\ncrypto_device = builtin\nsigner_cert = "+
			"%[1]s/tsa.pem\n"+
			"certs = %[1]s/ca.pem\nsigner_key = %[1]s/tsa.key\nsigner_digest = sha256\ndefault_policy = 1.2.3.4.1\ndigests = "+
			"%[2]s\ness_cert_id_alg = sha256\n",
			a.dir, a.digests))
	a.write(a.at("q.tsq"), string(q))
	a.openssl("ts", "-reply", "-config", a.at("conf"), "-queryfile", a.at("q.tsq"), "-out", a.at("r.tsr"))
	b, err := os.ReadFile(a.at("r.tsr"))
	if err != nil {
		a.t.Error(err)
	}
	w.Header().Set("Content-Type", "application/timestamp-reply")
	_, _ = w.Write(b)
}
