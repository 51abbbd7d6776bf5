package saml

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/tx"
)

// kind is the kind of this protocol's handshakes.
const kind = "saml"

const (
	maxResponse = 256 << 10 // decoded
	maxRelay    = 128
)

var (
	_ identity.Provider = (*Provider)(nil)
	_ identity.Metadata = (*Provider)(nil)
)

// Provider signs in with one SAML identity provider.
type Provider struct {
	sp       serviceProvider
	store    identity.HandshakeStore
	recorder audit.Recorder
	unit     tx.Unit
	clock    clock.Clock
	source   *source
}

// The answer is a form that the provider's site posts by the browser, hence CrossSite. The handshake contains the hash
// of the binding followed by the request's id.
func (p *Provider) Begin(ctx context.Context) (identity.Challenge, error) {
	idp, err := p.source.current(ctx)
	if err != nil {
		return identity.Challenge{}, err
	}
	relay, binding, request := random(), random(), "id-"+rand.Text()
	target, err := p.sp.redirect(idp.sso, request, relay, p.clock.Now())
	if err != nil {
		return identity.Challenge{}, fmt.Errorf("make a saml request: %w", err)
	}
	bindingHash := sha256.Sum256([]byte(binding))
	err = p.unit.Do(ctx, func(ctx context.Context) error {
		return p.store.SaveHandshake(ctx, sha256.Sum256([]byte(relay)), kind, append(bindingHash[:], request...),
			identity.HandshakeTTL)
	})
	if err != nil {
		return identity.Challenge{}, fmt.Errorf("keep a saml request: %w", err)
	}
	return identity.Challenge{URL: target, State: relay, Binding: binding, CrossSite: true}, nil
}

// An answer uses up the request of its RelayState, even if it is refused; the refusal is then recorded, and the fault
// is Unrecorded if that fails. The number of requests is limited, so that forged answers cannot fill the trail.
func (p *Provider) Complete(
	ctx context.Context, answer url.Values, binding string, unbound bool,
) (identity.External, error) {
	e, used, err := p.complete(ctx, answer, browserBinding{binding: binding, unbound: unbound})
	var why *refusal
	if errors.As(err, &why) {
		err = identity.BadSignIn.New("the identity provider's answer was not accepted").Because(err)
		if used {
			err = audit.Refuse(ctx, p.unit, p.recorder, audit.RefusedSignIn(kind, identity.BadSignIn.Name), err)
		}
	}
	if err != nil {
		return identity.External{}, err
	}
	return e, nil
}

// browserBinding is the browser's proof that it started the sign-in.
type browserBinding struct {
	binding string
	unbound bool // its cookie could not be set
}

// check compares the binding with its hash. Without this check, an attacker could make a victim's browser post the
// attacker's answer, and the victim would work in the attacker's account.
func (h browserBinding) check(bindingHash []byte) error {
	have := sha256.Sum256([]byte(h.binding))
	switch {
	case h.unbound:
		return nil
	case h.binding == "":
		return refuse("the browser brought no binding")
	case subtle.ConstantTimeCompare(have[:], bindingHash) != 1:
		return refuse("the binding is not that of the browser that began")
	default:
		return nil
	}
}

// complete also reports whether the answer used up a request.
func (p *Provider) complete(
	ctx context.Context, answer url.Values, h browserBinding,
) (who identity.External, used bool, err error) {
	raw, err := decode(answer)
	if err != nil {
		return who, false, err
	}
	relay, err := only(answer, "RelayState")
	if err != nil {
		return who, false, err
	}
	if len(relay) > maxRelay {
		return who, false, refuse("the RelayState is too long")
	}
	idp, err := p.source.current(ctx)
	if err != nil {
		return who, false, err
	}
	kept, err := p.take(ctx, relay)
	if err != nil {
		return who, false, err
	}
	request, err := h.request(kept)
	if err != nil {
		return who, true, err
	}
	who, err = p.validate(ctx, idp, raw, request)
	return who, true, err
}

// validate verifies a response to a request.
func (p *Provider) validate(ctx context.Context, idp *issuer, raw []byte, request string) (identity.External, error) {
	var none identity.External
	c, err := p.sp.verify(raw, idp, request, p.clock.Now())
	if errors.Is(err, errUnknownKey) {
		if next := p.source.rotated(ctx, idp); next != nil {
			c, err = p.sp.verify(raw, next, request, p.clock.Now())
		}
	}
	if err != nil {
		return none, err
	}
	if err := p.rejectReplay(ctx, c); err != nil {
		return none, err
	}
	return c.external, nil
}

// take uses up a request and returns its stored data.
func (p *Provider) take(ctx context.Context, relay string) (data []byte, err error) {
	err = p.unit.Do(ctx, func(ctx context.Context) (err error) {
		data, err = p.store.TakeHandshake(ctx, sha256.Sum256([]byte(relay)), kind)
		return err
	})
	if identity.HandshakeNotFound.Is(err) {
		return nil, refuse("the RelayState is unknown, used or expired")
	}
	if err != nil {
		return nil, fmt.Errorf("take a saml request: %w", err)
	}
	return data, nil
}

// request returns the id of a stored request if the browser started it.
func (h browserBinding) request(kept []byte) (string, error) {
	if len(kept) <= sha256.Size {
		return "", refuse("the RelayState is that of a request without a binding")
	}
	return string(kept[sha256.Size:]), h.check(kept[:sha256.Size])
}

// rejectReplay refuses an assertion that was accepted before. Assertions are remembered until they expire.
func (p *Provider) rejectReplay(ctx context.Context, c *claims) error {
	hash := sha256.Sum256([]byte("saml assertion\x00" + c.external.Link.Issuer + "\x00" + c.assertionID))
	ttl := max(c.until.Sub(p.clock.Now()), 0) + 2*skew
	var fresh bool
	err := p.unit.Do(ctx, func(ctx context.Context) (err error) {
		fresh, err = p.store.MarkSeen(ctx, hash, ttl)
		return err
	})
	if err != nil {
		return fmt.Errorf("witness a saml assertion: %w", err)
	}
	if !fresh {
		return refuse("the assertion was used before")
	}
	return nil
}

// decode returns the response of an answer.
func decode(answer url.Values) ([]byte, error) {
	text, err := only(answer, "SAMLResponse")
	if err != nil {
		return nil, err
	}
	if len(text) > maxResponse*3/2 {
		return nil, refuse("the response is too large")
	}
	raw, err := base64.StdEncoding.DecodeString(strip(text))
	if err != nil {
		return nil, refuse("the response is no base64")
	}
	if len(raw) > maxResponse {
		return nil, refuse("the response is too large")
	}
	return raw, nil
}

// only returns the single value of a parameter.
func only(answer url.Values, name string) (string, error) {
	if v := answer[name]; len(v) == 1 && v[0] != "" {
		return v[0], nil
	}
	return "", refuse("the answer needs exactly one %s", name)
}

// strip removes white space.
func strip(s string) string { return strings.Join(strings.Fields(s), "") }

// random returns 256 random bits as text that needs no escaping.
func random() string {
	b := make([]byte, 32)
	rand.Read(b) // never fails: crypto/rand ends the process instead
	return base64.RawURLEncoding.EncodeToString(b)
}

// refusal is the reason why an answer is not accepted. It is logged and contains only short names from the answer.
type refusal struct {
	text  string
	cause error
}

func refuse(format string, args ...any) error { return &refusal{text: fmt.Sprintf(format, args...)} }

func (r *refusal) Error() string {
	if r.cause != nil {
		return r.text + ": " + r.cause.Error()
	}
	return r.text
}

// Unwrap returns the cause.
func (r *refusal) Unwrap() error { return r.cause }

// errUnknownKey is the cause of a refused signature that matches no known key.
var errUnknownKey = errors.New("the signature fits no key of the provider's metadata")

// skew is the allowed difference to the provider's clock.
const skew = time.Minute
