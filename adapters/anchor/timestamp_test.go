package anchor_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"io"
	"math/big"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/anchor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
)

const note = "audit.example.org/in_test/e1\n3\nAhyHHnoGsro177QKmYxm/Z+UJdIVcfSTNuGRiXxvkoI=\n\n" +
	"— audit.example.org/in_test/e1 " +
	"wvf4gPYwDYJ9N1+JtbzMhvhJI1+GqrdVyp4sG14EcXvbV6K12oMJROqwIZ3p0wwbZATQipxIci1VSCeajMkTV8z27Ak=\n"

func stamp(t *testing.T, url string, o anchor.Options) ([]byte, error) {
	t.Helper()
	s, err := anchor.NewTimeStamper(url, o)
	if err != nil {
		t.Fatal(err)
	}
	return s.Stamp(t.Context(), []byte(note))
}

// TestStampVerifiesElsewhere gets a token from OpenSSL's authority and verifies the stored token with OpenSSL.
func TestStampVerifiesElsewhere(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	s := serve(t, a.honest(t))
	one, err := stamp(t, s.URL+"/tsr?account=c4nary", home())
	if err != nil {
		t.Fatal(err)
	}
	two, err := stamp(t, s.URL, home())
	if err != nil || bytes.Equal(one, two) {
		t.Fatalf("a second stamp: %v", err)
	}
	write(t, a.at("note"), note)
	write(t, a.at("other"), note+"\n")
	if err := os.WriteFile(a.at("kept.tsr"), one, 0o600); err != nil {
		t.Fatal(err)
	}
	if out := a.openssl(t, "ts", "-verify", "-data", a.at("note"), "-in", a.at("kept.tsr"), "-CAfile",
		a.at("ca.pem")); !strings.Contains(out, "Verification: OK") {
		t.Errorf("openssl says %s", out)
	}
	text := a.openssl(t, "ts", "-reply", "-in", a.at("kept.tsr"), "-text")
	if !strings.Contains(text, "Granted") || !strings.Contains(text, "Nonce: 0x") {
		t.Errorf("openssl reads %s", text)
	}
}

func TestStampRefusesWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	none := func(*query) {}
	for name, c := range map[string]struct {
		h    http.HandlerFunc
		says string
	}{
		"rejected": {a.forged(t, "sha512", none), "refused to stamp: status 2"},
		"other nonce": {a.forged(t, "sha256", func(q *query) {
			q.Nonce = new(big.Int).Add(q.Nonce, big.NewInt(1))
		}), "no token that fits"},
		"no nonce":     {a.forged(t, "sha256", func(q *query) { q.Nonce = nil }), "no token that fits"},
		"other bytes":  {a.forged(t, "sha256", func(q *query) { q.Imprint.Hashed[31] ^= 1 }), "no token that fits"},
		"cut":          {a.spoiled(t, func(b []byte) []byte { return b[:len(b)-1] }), "no token that fits"},
		"more":         {a.spoiled(t, func(b []byte) []byte { return append(b, 0) }), "no token that fits"},
		"only granted": {a.spoiled(t, func([]byte) []byte { return unhex(t, "30053003020100") }), "no token that fits"},
		"a type that is no token": {a.spoiled(t, func(b []byte) []byte {
			return bytes.Replace(b, unhex(t, "06092a864886f70d010702"), unhex(t, "06092a864886f70d010701"), 1)
		}), "no token that fits"},
		"what is no time stamp": {a.spoiled(t, func(b []byte) []byte {
			return bytes.Replace(b, unhex(t, "060b2a864886f70d0109100104"), unhex(t, "060b2a864886f70d0109100105"), 1)
		}), "no token that fits"},
		"nothing": {func(http.ResponseWriter, *http.Request) {}, "no token that fits"},
		"garbage": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "<html>")
		}, "no token that fits"},
		"deep": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(bytes.Repeat([]byte{0x30, 0x80}, 9000))
		}, "no token that fits"},
		"huge": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(make([]byte, 64<<10+1))
		}, "more than 65536 bytes"},
		"status": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }, "status 418"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := stamp(t, serve(t, c.h).URL+"/?account=c4nary", home())
			if got != nil || !audit.AnchorFailed.Is(err) || !strings.Contains(err.Error(), c.says) ||
				strings.Contains(err.Error(), "c4nary") {
				t.Errorf("%d bytes, %v", len(got), err)
			}
		})
	}
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Error(err)
	}
	return b
}

func TestStampStaysWhereItIsSent(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	other := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("another server was asked") })
	for _, status := range []int{http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect,
		http.StatusPermanentRedirect} {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, status) })
		if _, err := stamp(t, s.URL, home()); !audit.AnchorFailed.Is(err) {
			t.Errorf("%d: %v", status, err)
		}
	}
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/tsr" {
			http.Redirect(w, r, "/tsr", http.StatusPermanentRedirect)
			return
		}
		a.honest(t)(w, r)
	})
	if _, err := stamp(t, s.URL, home()); err != nil {
		t.Errorf("a redirect to the same server: %v", err)
	}
	if _, err := stamp(t, other.URL, anchor.Options{}); !audit.AnchorFailed.Is(err) ||
		!strings.Contains(err.Error(), "not allowed") {
		t.Errorf("an address that nobody allowed: %v", err)
	}
}

func TestStampEnds(t *testing.T) {
	t.Parallel()
	slow := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		<-r.Context().Done()
	})
	o := home()
	o.Timeout = 50 * time.Millisecond
	if _, err := stamp(t, slow.URL, o); !audit.AnchorFailed.Is(err) {
		t.Errorf("a slow authority: %v", err)
	}
	s, err := anchor.NewTimeStamper(slow.URL, home())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Stamp(ctx, []byte(note)); !audit.AnchorFailed.Is(err) {
		t.Errorf("nobody waits any more: %v", err)
	}
}

func TestStamperHasAnAddress(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "tsa.example", "ftp://tsa.example", "file:///etc/passwd", "http://0x7f.1/",
		"https://a b/?c4nary", "https://tsa.example/#c4nary"} {
		if s, err := anchor.NewTimeStamper(address, anchor.Options{}); s != nil || !fault.Is(err, fault.Invalid) ||
			strings.Contains(err.Error(), "c4nary") {
			t.Errorf("%q: %v", address, err)
		}
	}
	s, err := anchor.NewTimeStamper("https://me:c4nary@tsa.example:8443/c4nary?c4nary", anchor.Options{})
	if err != nil || s.Name() != "https://tsa.example:8443" {
		t.Errorf("%v %v", s, err)
	}
}
