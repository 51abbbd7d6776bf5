package saml

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/beevik/etree"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
)

// signInWith completes a sign-in with an answer that a key signed.
func (b *bench) signInWith(t *testing.T, key *identityKey, id string) error {
	t.Helper()
	request, relay := b.begin(t)
	end := b.clock.Now().Add(5 * time.Minute)
	l := letter{request: request, key: key, assertionID: id, notOnOrAfter: end, confirm: end}
	_, err := b.answered(t, answer(write(t, l.build(t)), relay))
	return err
}

// TestRotation changes the provider's key: the first answer with the new one causes a read of the metadata, at most
// once a minute, and the old key is refused from then on.
func TestRotation(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if err := b.signInWith(t, idpKey(), "_1"); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if err := b.signInWith(t, wrongKey(), "_w"); !identity.BadSignIn.Is(err) {
			t.Fatalf("%d: %v", i, err)
		}
	}
	if n := b.idp.reads.Load(); n != 2 {
		t.Errorf("the metadata was read %d times, expected twice", n)
	}
	b.idp.key.Store(nextKey())
	if err := b.signInWith(t, nextKey(), "_2"); !identity.BadSignIn.Is(err) {
		t.Errorf("within the minute: %v", err)
	}
	b.clock.turn(rotationPause)
	if err := b.signInWith(t, nextKey(), "_3"); err != nil {
		t.Error(err)
	}
	if err := b.signInWith(t, idpKey(), "_4"); !identity.BadSignIn.Is(err) ||
		!strings.Contains(err.Error(), "fits no key") {
		t.Errorf("the old key: %v", err)
	}
	if n := b.idp.reads.Load(); n != 3 {
		t.Errorf("the metadata was read %d times, expected three times", n)
	}
}

// TestEveryHour reads the metadata again after an hour, uses the cached one if the provider is down then, and retries
// at most once a minute.
func TestEveryHour(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.begin(t)
	b.clock.turn(metadataAge - time.Second)
	b.begin(t)
	if n := b.idp.reads.Load(); n != 1 {
		t.Errorf("read %d times within the hour", n)
	}
	b.idp.status.Store(http.StatusBadGateway)
	b.clock.turn(time.Second)
	b.begin(t)
	b.begin(t)
	if n := b.idp.reads.Load(); n != 2 {
		t.Errorf("read %d times, the last in vain", n)
	}
	if !strings.Contains(b.log.String(), "saml metadata cannot be read") ||
		!strings.Contains(b.log.String(), "known=true") {
		t.Errorf("logged: %s", b.log)
	}
	b.idp.status.Store(http.StatusOK)
	b.clock.turn(rotationPause)
	b.begin(t)
	b.begin(t)
	if n := b.idp.reads.Load(); n != 3 {
		t.Errorf("read %d times", n)
	}
}

// TestDown starts sign-ins at a provider that is down: Unavailable, with one attempt in five seconds, and no request
// is used up.
func TestDown(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.idp.status.Store(http.StatusServiceUnavailable)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			c, err := b.Begin(t.Context())
			if !fault.Is(err, fault.Unavailable) || c.URL != "" {
				t.Errorf("%v %v", c, err)
			}
		})
	}
	wg.Wait()
	got, err := b.answered(t, answer([]byte("<a/>"), "x"))
	if !fault.Is(err, fault.Unavailable) || got.Username != "" {
		t.Errorf("%v %v", got, err)
	}
	if n := b.idp.reads.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
	b.idp.prolog.Store(new("<!DOCTYPE a>"))
	b.idp.status.Store(http.StatusOK)
	b.clock.turn(failurePause)
	got, err = b.answered(t, answer([]byte("<a/>"), "x"))
	if !fault.Is(err, fault.Unavailable) || identity.BadSignIn.Is(err) || got.Username != "" ||
		!strings.Contains(err.Error(), "a document type") {
		t.Errorf("with defective metadata: %v %v", got, err)
	}
	b.idp.prolog.Store(nil)
	b.clock.turn(failurePause)
	if _, err := b.Begin(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestWaiting: a caller that waits for another one's read returns when its context ends.
func TestWaiting(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.source.readLock <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Begin(ctx); !fault.Is(err, fault.Unavailable) {
		t.Error(err)
	}
	if p := b.source.rotated(ctx, nil); p != nil {
		t.Errorf("%v", p)
	}
}

// TestValidUntil: expired metadata is not used.
func TestValidUntil(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	file := filepath.Join(t.TempDir(), "idp.xml")
	b.source.url, b.source.file = "", file
	until := strings.Replace(string(describeIDP(idpKey())), "entityID", `validUntil="`+start().Add(30*time.Minute).
		Format(time.RFC3339)+`" entityID`, 1)
	if err := os.WriteFile(file, []byte(until), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := b.signInWith(t, idpKey(), "_1"); err != nil {
		t.Fatal(err)
	}
	b.clock.turn(30 * time.Minute)
	if _, err := b.Begin(t.Context()); !fault.Is(err, fault.Unavailable) ||
		!strings.Contains(err.Error(), "not valid any more") {
		t.Error(err)
	}
}

// TestEndsOfTheParts reads the validUntil of every ancestor of the provider's description; the first one counts.
func TestEndsOfTheParts(t *testing.T) {
	t.Parallel()
	good := string(describeIDP(idpKey()))
	early, late := start().Add(time.Hour), start().Add(2*time.Hour)
	at := func(end time.Time) string { return ` validUntil="` + end.Format(time.RFC3339) + `"` }
	build := func(entities, entity, role string) string {
		doc := strings.Replace(strings.Replace(good, "<EntityDescriptor", "<EntityDescriptor"+entity, 1), "<IDPSSODescriptor",
			"<IDPSSODescriptor"+role, 1)
		return `<EntitiesDescriptor xmlns="` + nsMetadata + `"` + entities + `>` + doc +
			`<EntityDescriptor entityID="sp"` + at(start()) + `><SPSSODescriptor/></EntityDescriptor></EntitiesDescriptor>`
	}
	for name, tc := range map[string]struct {
		doc  string
		want time.Time
	}{
		"none":           {build("", "", ""), time.Time{}},
		"entities":       {build(at(early), "", ""), early},
		"entity":         {build("", at(early), ""), early},
		"role":           {build("", "", at(early)), early},
		"entities first": {build(at(early), at(late), at(late)), early},
		"entity first":   {build(at(late), at(early), at(late)), early},
		"role first":     {build(at(late), at(late), at(early)), early},
		"entity alone":   {strings.Replace(good, "<EntityDescriptor", "<EntityDescriptor"+at(early), 1), early},
		"role alone":     {strings.Replace(good, "<IDPSSODescriptor", "<IDPSSODescriptor"+at(early), 1), early},
		"without zone":   {build(` validUntil="2026-03-01T13:00:00"`, "", ""), early},
		"in another space": {build(strings.Replace(at(early), "validUntil", `xmlns:x="urn:x" x:validUntil`, 1), "", ""),
			time.Time{}},
	} {
		p, err := parseMetadata([]byte(tc.doc))
		if err != nil || !p.validUntil.Equal(tc.want) || p.valid(early) != tc.want.IsZero() {
			t.Errorf("%s: %v, expected %v", name, err, tc.want)
		}
	}
	for _, doc := range []string{build(` validUntil="later"`, "", ""), build("", "", ` validUntil="later"`)} {
		if p, err := parseMetadata([]byte(doc)); err == nil {
			t.Errorf("an end that is no time: %+v", p)
		}
	}
}

// TestMetadataExpires: metadata that cannot be read again is used for a day.
func TestMetadataExpires(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if err := b.signInWith(t, idpKey(), "_1"); err != nil {
		t.Fatal(err)
	}
	b.idp.status.Store(http.StatusBadGateway)
	b.clock.turn(metadataMaxAge - time.Second)
	if err := b.signInWith(t, idpKey(), "_2"); err != nil {
		t.Fatal(err)
	}
	b.clock.turn(time.Second)
	if c, err := b.Begin(t.Context()); !fault.Is(err, fault.Unavailable) || !strings.Contains(err.Error(), "502") ||
		c.URL != "" {
		t.Errorf("%+v %v", c, err)
	}
	b.idp.status.Store(http.StatusOK)
	b.clock.turn(failurePause)
	if err := b.signInWith(t, idpKey(), "_3"); err != nil {
		t.Error(err)
	}
	// A server without sign-ins for days reads again.
	b.clock.turn(3 * metadataMaxAge)
	if err := b.signInWith(t, idpKey(), "_4"); err != nil {
		t.Error(err)
	}
}

// TestMetadataDefects refuses metadata without an unambiguous provider and keys.
// Keeps T13.
func TestMetadataDefects(t *testing.T) {
	t.Parallel()
	good := string(describeIDP(idpKey()))
	entities := func(s string) string {
		return `<EntitiesDescriptor xmlns="` + nsMetadata + `">` + s + `</EntitiesDescriptor>`
	}
	signed := element(t, strings.Replace(good, "entityID", `ID="_m" entityID`, 1))
	signed.InsertChild(signed.Child[0], etree.NewText(" "))
	signed = method{}.sign(t, signed, idpKey().key)
	weak := newKey(1024, start(), start().AddDate(1, 0, 0))
	for name, tc := range map[string]struct{ doc, cause string }{
		"good":           {good, ""},
		"with a comment": {"<!-- ours -->" + good, ""},
		"one of several": {entities(good + `<EntityDescriptor entityID="sp"><SPSSODescriptor/></EntityDescriptor>`), ""},
		"two keys":       {string(describeIDP(idpKey(), nextKey())), ""},
		"signed":         {string(write(t, signed)), ""},
		"document type":  {"<!DOCTYPE a>" + good, "a document type"},
		"billion laughs": {laughs(), "a document type"},
		"two providers":  {entities(good + good), "exactly one identity provider"},
		"no provider":    {entities(""), "exactly one identity provider"},
		"no name":        {strings.Replace(good, idpName, "", 1), "exactly one identity provider"},
		"no redirect":    {strings.Replace(good, "HTTP-Redirect", "HTTP-POST", 1), "takes no requests by redirect"},
		"script": {strings.Replace(good, "https://idp.example.com/sso", "javascript:alert", 1),
			"invalid url scheme"},
		"plain http": {strings.Replace(good, "https://idp.example.com/sso", "http://idp.example.com/sso", 1),
			"https is required"},
		"a path": {strings.Replace(good, "https://idp.example.com/sso", "/sso", 1), "invalid url scheme"},
		"credentials": {strings.Replace(good, "https://idp.example.com/sso", "https://a:b@idp.example.com/sso", 1),
			"expected an http or https address"},
		"no end":          {strings.Replace(good, "entityID", `validUntil="later" entityID`, 1), "later"},
		"no key":          {string(describeIDP()), "no signing certificate"},
		"weak key":        {string(describeIDP(weak)), "no signing certificate"},
		"encryption only": {strings.Replace(good, `"signing"`, `"encryption"`, 1), "no signing certificate"},
		"broken key":      {strings.Replace(good, "<X509Certificate>MII", "<X509Certificate>%%%", 1), "no base64"},
		"no certificate":  {strings.Replace(good, "<X509Certificate>MII", "<X509Certificate>AAAA", 1), "certificate"},
		"web page":        {"<html><body>sign in first</body></html>", "exactly one identity provider"},
		"text":            {"hello", "no XML"},
		"large":           {strings.Repeat(" ", maxMetadata) + good, "too large"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, err := bounded(bytes.NewReader([]byte(tc.doc)))
			var p *issuer
			if err == nil {
				p, err = parseMetadata(b)
			}
			if tc.cause == "" {
				if err != nil || p.entityID != idpName || len(p.certs) == 0 || p.sso != "https://idp.example.com/sso?tenant=1" {
					t.Errorf("%v %v", p, err)
				}
			} else if err == nil || !strings.Contains(err.Error(), tc.cause) {
				t.Errorf("%v, expected %q", err, tc.cause)
			}
		})
	}
}

// TestMetadataOverPlainHTTP: redirects to plain http are not followed, because an attacker could choose the keys.
func TestMetadataOverPlainHTTP(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	elsewhere := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		w.Write(describeIDP(idpKey()))
		resp := w.Result()
		resp.Request = r.Clone(r.Context())
		resp.Request.URL.Scheme, resp.Request.URL.Host = "http", "idp.example.com"
		return resp, nil
	})}
	b.source.client = elsewhere
	if _, err := b.Begin(t.Context()); !fault.Is(err, fault.Unavailable) ||
		!strings.Contains(err.Error(), "https is required") {
		t.Error(err)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestExpiredCertificate: no certificate is used beyond its end.
func TestExpiredCertificate(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.idp.key.Store(certify(idpKey().key, start().AddDate(-2, 0, 0), start().AddDate(0, 0, -1)))
	err := b.signInWith(t, idpKey(), "_1")
	if !identity.BadSignIn.Is(err) || !strings.Contains(err.Error(), "no certificate that is valid now") {
		t.Error(err)
	}
}
