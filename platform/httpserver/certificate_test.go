package httpserver

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func writePair(t *testing.T, certFile, keyFile string, serial int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(serial), NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<33, 0)}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	// The key first: between the two writes the files do not match.
	for _, f := range []struct {
		name, kind string
		der        []byte
	}{{keyFile, "PRIVATE KEY", keyDER}, {certFile, "CERTIFICATE", der}} {
		if err := os.WriteFile(f.name, pem.EncodeToMemory(&pem.Block{Type: f.kind, Bytes: f.der}), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(f.name, time.Unix(serial*1000, 0), time.Unix(serial*1000, 0)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRenewal takes a new pair without a restart and keeps the old one while the files do not match.
func TestRenewal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writePair(t, certFile, keyFile, 1)
	var log bytes.Buffer
	c, err := newCertificate(certFile, keyFile, 0, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	serial := func() int64 {
		t.Helper()
		pair, err := c.get(nil)
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.ParseCertificate(pair.Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		return leaf.SerialNumber.Int64()
	}
	if got := serial(); got != 1 {
		t.Fatalf("serial %d", got)
	}
	writePair(t, certFile, keyFile, 2)
	if got := serial(); got != 2 {
		t.Errorf("after renewal: serial %d", got)
	}
	other := filepath.Join(dir, "other.pem")
	writePair(t, other, keyFile, 3)
	if got := serial(); got != 2 || !strings.Contains(log.String(), "stays in use") {
		t.Errorf("with a key of another certificate: serial %d, log %q", got, log.String())
	}
	if err := os.Remove(certFile); err != nil {
		t.Fatal(err)
	}
	if got := serial(); got != 2 {
		t.Errorf("without the file: serial %d", got)
	}
	writePair(t, certFile, keyFile, 4)
	if got := serial(); got != 4 {
		t.Errorf("after all is well again: serial %d", got)
	}
}

// TestRenewalIsNotAskedForAtEveryHandshake checks that not every handshake reads the files.
func TestRenewalIsNotAskedForAtEveryHandshake(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writePair(t, certFile, keyFile, 1)
	c, err := newCertificate(certFile, keyFile, time.Hour, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	first, _ := c.get(nil)
	writePair(t, certFile, keyFile, 2)
	if again, _ := c.get(nil); again != first {
		t.Error("the files were read again at once")
	}
}
