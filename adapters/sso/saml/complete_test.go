package saml

import (
	"context"
	"crypto"
	"errors"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	dsig "github.com/russellhaering/goxmldsig"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
)

// refused expects a refusal whose message contains no details and whose cause contains the defect.
func refused(t *testing.T, b *bench, got identity.External, err error, cause string) {
	t.Helper()
	if diff := cmp.Diff(identity.External{}, got); diff != "" {
		t.Errorf("somebody was let in: %s", diff)
	}
	var f *fault.Error
	if !errors.As(err, &f) || !identity.BadSignIn.Is(err) {
		t.Fatalf("%v is no BadSignIn", err)
	}
	if f.Message != "the identity provider's answer was not accepted" || len(f.Fields) != 0 || len(f.Detail) != 0 {
		t.Errorf("the fault tells %q %v %v", f.Message, f.Fields, f.Detail)
	}
	if f.Cause == nil || !strings.Contains(f.Cause.Error(), cause) {
		t.Errorf("the cause is %v, expected %q", f.Cause, cause)
	}
	for _, secret := range []string{"alice", "admin", "ops"} {
		if strings.Contains(f.Error(), secret) || strings.Contains(b.log.String(), secret) {
			t.Errorf("%q is told: %v", secret, f)
		}
	}
}

func alice() identity.External {
	return identity.External{
		Link: identity.Link{Protocol: identity.SAML, Issuer: idpName, Subject: "alice"}, Username: "alice",
		Groups: []string{"ops", "dev"},
	}
}

func TestGoodAnswers(t *testing.T) {
	t.Parallel()
	named := alice()
	named.Username = "alice.a"
	transient := named
	transient.Link.Subject = "attribute:uid=alice.a"
	mail := alice()
	mail.Link.Subject, mail.Username = "alice@example.com", "alice@example.com"
	odd := alice()
	odd.Link.Subject, odd.Username = "Attribute:uid=alice.a", "Attribute:uid=alice.a"
	bare := alice()
	bare.Groups = nil
	uid := func(c *Config) { c.UsernameAttr = "uid" }
	sha512 := method{signature: dsig.RSASHA512SignatureMethod, digest: nsEncryption + "sha512", hash: crypto.SHA512}
	for name, tc := range map[string]struct {
		letter letter
		change func(*Config)
		want   identity.External
	}{
		"plain":               {want: alice()},
		"response signed too": {letter: letter{signResponse: true}, want: alice()},
		"SHA-512":             {letter: letter{how: sha512}, want: alice()},
		"inclusive prefixes":  {letter: letter{how: method{prefixes: "xs saml"}, attributes: typed}, want: alice()},
		"user name attribute": {change: uid, want: named},
		"transient":           {letter: letter{format: transientFormat}, change: uid, want: transient},
		"address": {letter: letter{nameID: "alice@example.com",
			format: "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress"}, want: mail},
		"CDATA":       {letter: letter{nameID: "<![CDATA[alice]]>"}, want: alice()},
		"many groups": {letter: letter{attributes: strings.Repeat(typed, 500)}, want: alice()},
		"no groups":   {letter: letter{attributes: "<saml:Attribute Name='x'/>"}, want: bare},
		"slow clock":  {letter: letter{notBefore: start().Add(59 * time.Second)}, want: alice()},
		"fast clock": {letter: letter{notOnOrAfter: start().Add(-59 * time.Second),
			confirm: start().Add(-59 * time.Second)}, want: alice()},
		"nearly an attribute": {letter: letter{nameID: "Attribute:uid=alice.a"}, want: odd},
		"one time use":        {letter: letter{audience: letter{}.fill().audience + "<saml:OneTimeUse/>"}, want: alice()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, func(c *Config) {
				if tc.change != nil {
					tc.change(c)
				}
			})
			var relay string
			tc.letter.request, relay = b.begin(t)
			got, err := b.answered(t, answer(write(t, tc.letter.build(t)), relay))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestOneOfMany completes one answer fifty times at once.
func TestOneOfMany(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	request, relay := b.begin(t)
	form := answer(write(t, letter{request: request}.build(t)), relay)
	var in, out atomic.Int64
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			e, err := b.answered(t, form)
			switch {
			case err == nil && e.Link.Subject == "alice":
				in.Add(1)
			case identity.BadSignIn.Is(err) && e.Username == "":
				out.Add(1)
			}
		})
	}
	wg.Wait()
	if in.Load() != 1 || out.Load() != 49 {
		t.Errorf("%d were let in and %d refused", in.Load(), out.Load())
	}
}

// TestReplays repeats the same answer, the same assertion for a request of the same id, an answer with another flow's
// RelayState, and one that is too late.
// Keeps T29.
func TestReplays(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	request, relay := b.begin(t)
	doc := write(t, letter{request: request}.build(t))
	if _, err := b.answered(t, answer(doc, relay)); err != nil {
		t.Fatal(err)
	}
	got, err := b.answered(t, answer(doc, relay))
	refused(t, b, got, err, "RelayState is unknown, used or expired")

	// The same request id with a second RelayState: only the assertion's id detects the replay.
	again := random()
	if err := b.fake.Do(t.Context(), saveRequest(b.fake, again, kind, request)); err != nil {
		t.Fatal(err)
	}
	got, err = b.answered(t, answer(doc, again))
	refused(t, b, got, err, "the assertion was used before")

	// A RelayState of another flow, which is used up.
	first, _ := b.begin(t)
	_, second := b.begin(t)
	doc = write(t, letter{request: first, assertionID: "_2"}.build(t))
	got, err = b.answered(t, answer(doc, second))
	refused(t, b, got, err, "the response answers another request")
	got, err = b.answered(t, answer(doc, second))
	refused(t, b, got, err, "RelayState is unknown")

	// A handshake of another protocol.
	foreign := random()
	if err := b.fake.Do(t.Context(), saveRequest(b.fake, foreign, "oidc", request)); err != nil {
		t.Fatal(err)
	}
	got, err = b.answered(t, answer(doc, foreign))
	refused(t, b, got, err, "RelayState is unknown")

	// Later than the limit of a sign-in.
	request, relay = b.begin(t)
	b.clock.turn(identity.HandshakeTTL)
	doc = write(t, letter{request: request, assertionID: "_3", confirm: start().Add(time.Hour),
		notOnOrAfter: start().Add(time.Hour)}.build(t))
	got, err = b.answered(t, answer(doc, relay))
	refused(t, b, got, err, "RelayState is unknown")
}

// TestReplayRecordOutlivesTheAssertion: an assertion is remembered as long as it would be accepted.
func TestReplayRecordOutlivesTheAssertion(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	request, relay := b.begin(t)
	l := letter{request: request, confirm: start().Add(time.Hour), notOnOrAfter: start().Add(time.Hour)}
	doc := write(t, l.build(t))
	if _, err := b.answered(t, answer(doc, relay)); err != nil {
		t.Fatal(err)
	}
	for _, at := range []time.Duration{30 * time.Minute, 60*time.Minute + 59*time.Second, 61 * time.Minute} {
		b.clock.turn(start().Add(at).Sub(b.clock.Now()))
		again := random()
		if err := b.fake.Do(t.Context(), saveRequest(b.fake, again, kind, request)); err != nil {
			t.Fatal(err)
		}
		cause := "the assertion was used before"
		if at == 61*time.Minute {
			cause = "expired at"
		}
		got, err := b.answered(t, answer(doc, again))
		refused(t, b, got, err, cause)
	}
}

// typed is an attribute as other libraries write it, with a prefix that only a value uses.
const typed = `<saml:Attribute Name="groups"><saml:AttributeValue xmlns:xs="http://www.w3.org/2001/XMLSchema"` +
	` xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="xs:string">ops</saml:AttributeValue>` +
	`<saml:AttributeValue>dev</saml:AttributeValue></saml:Attribute>`

// TestStoreIsDown: the store's error is returned, and is no refusal of the answer.
func TestStoreIsDown(t *testing.T) {
	t.Parallel()
	for calls, what := range []string{"save", "take", "witness"} {
		b := newBench(t)
		unit := &failing{fakeStore: b.fake}
		unit.left.Store(int64(calls))
		b.unit = unit
		c, err := b.Begin(t.Context())
		if err == nil {
			u, _ := url.Parse(c.URL)
			relay := u.Query().Get("RelayState")
			root, parseErr := parse(inflate(t, u.Query().Get("SAMLRequest")), messageBounds())
			if parseErr != nil {
				t.Fatal(parseErr)
			}
			var got identity.External
			got, err = b.Complete(t.Context(), answer(write(t, letter{request: attr(root, "ID")}.build(t)), relay),
				c.Binding, false)
			if got.Username != "" {
				t.Errorf("%s: somebody was let in", what)
			}
		}
		if !fault.Is(err, fault.Unavailable) || identity.BadSignIn.Is(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// failing is a unit that fails after some calls.
type failing struct {
	*fakeStore
	left atomic.Int64
}

func (f *failing) Do(ctx context.Context, fn func(ctx context.Context) error) error {
	if f.left.Add(-1) < 0 {
		return fault.Wrap(fault.Unavailable, errors.New("no connection"), "the database does not answer")
	}
	return f.fakeStore.Do(ctx, fn)
}
