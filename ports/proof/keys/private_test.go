package keys

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// TestPrivateKeysPrintAsterisks searches every form of printed output for the seed, also of an unexported field,
// which fmt reads without the methods of the type.
func TestPrivateKeysPrintAsterisks(t *testing.T) {
	t.Parallel()
	seed := bytes.Repeat([]byte{0xa7}, 32)
	p, err := FromSeed(seed, Statement)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := MarshalPrivate(p)
	if err != nil {
		t.Fatal(err)
	}
	hidden := struct {
		name string
		key  Private
		at   *Private
	}{"x", p, &p}
	var out strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%o", "%b"} {
		fmt.Fprintf(&out, verb+verb+verb+verb, p, &p, hidden, []Private{p})
	}
	text, err := json.Marshal(map[string]any{"key": p, "list": []*Private{&p}})
	if err != nil {
		t.Fatal(err)
	}
	out.Write(text)
	slog.New(slog.NewJSONHandler(&out, nil)).Error("failed", "key", p, "in", hidden, "err", fmt.Errorf("with %v", p))
	slog.New(slog.NewTextHandler(&out, nil)).Error("failed", "key", p, "in", hidden)
	if !strings.Contains(out.String(), mask) {
		t.Error("nothing says that something is masked")
	}
	for name, shape := range map[string]string{
		"hex": hex.EncodeToString(seed[:4]), "large hex": strings.ToUpper(hex.EncodeToString(seed[:4])),
		"base64": base64.StdEncoding.EncodeToString(seed)[:8], "list": "167 167", "raw": string(seed[:4]),
		"go": "0xa7, 0xa7", "PEM": strings.Split(string(secret), "\n")[1][30:],
	} {
		if strings.Contains(out.String(), shape) {
			t.Errorf("the seed is printed as %s", name)
		}
	}
}

func TestPrivateKeyRoundTrip(t *testing.T) {
	t.Parallel()
	p, err := Generate(Checkpoint)
	if err != nil {
		t.Fatal(err)
	}
	text, err := MarshalPrivate(p)
	if err != nil {
		t.Fatal(err)
	}
	q, err := ParsePrivate(text, Checkpoint)
	if err != nil || !q.Public().Equal(p.Public()) || q.Use() != Checkpoint {
		t.Fatalf("%v, %v", q.Public(), err)
	}
	a, errA := p.Sign([]byte("m"))
	b, errB := q.Sign([]byte("m"))
	if errA != nil || errB != nil || !bytes.Equal(a, b) {
		t.Errorf("the two sign differently: %v, %v", errA, errB)
	}
	if other, err := Generate(Checkpoint); err != nil || other.Public().Equal(p.Public()) {
		t.Errorf("two keys are one: %v", err)
	}
	if _, err := (Private{}).Sign(nil); !KeyUntrusted.Is(err) {
		t.Errorf("the zero key signs: %v", err)
	}
	if _, err := MarshalPrivate(Private{}); !FormatInvalid.Is(err) {
		t.Errorf("the zero key is written: %v", err)
	}
	if _, err := Generate("both"); !FormatInvalid.Is(err) {
		t.Errorf("an unknown use: %v", err)
	}
	if _, err := FromSeed([]byte("short"), Checkpoint); !FormatInvalid.Is(err) {
		t.Errorf("a short seed: %v", err)
	}
}

func TestPrivateKeyHasOneForm(t *testing.T) {
	t.Parallel()
	p := private(t, 0xa7, Statement)
	text, err := MarshalPrivate(p)
	if err != nil {
		t.Fatal(err)
	}
	good := string(text)
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(ec)
	if err != nil {
		t.Fatal(err)
	}
	line := strings.Split(good, "\n")[1]
	for name, bad := range map[string]string{
		"empty": "", "no PEM": line, "text before": "key:\n" + good, "text behind": good + "\n", "twice": good + good,
		"cut off": good[:len(good)-10], "header": strings.Replace(good, "KEY-----\n", "KEY-----\nProc-Type: 4\n\n", 1),
		"carriage returns": strings.ReplaceAll(good, "\n", "\r\n"),
		"other type":       strings.ReplaceAll(good, "PRIVATE", "OPENSSH PRIVATE"),
		"broken lines":     strings.Replace(good, line, line[:30]+"\n"+line[30:], 1),
		"other algorithm":  string(pem.EncodeToMemory(&pem.Block{Type: privateType, Bytes: der})),
		"no DER":           string(pem.EncodeToMemory(&pem.Block{Type: privateType, Bytes: []byte("secret")})),
		"too large":        good + strings.Repeat("\n", maxPEM),
	} {
		_, err := ParsePrivate([]byte(bad), Statement)
		if !FormatInvalid.Is(err) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if strings.Contains(err.Error(), line[20:40]) || errors.Unwrap(err) != nil {
			t.Errorf("%s: the error repeats what it read: %v", name, err)
		}
	}
	if _, err := ParsePrivate(text, "other"); !FormatInvalid.Is(err) {
		t.Errorf("an unknown use: %v", err)
	}
}
