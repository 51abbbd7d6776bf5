package oidc

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/tx"
)

// kind is the kind of this protocol's handshakes.
const kind = "oidc"

// The labels separate the values that are derived from one binding.
const (
	nonceLabel    = "writ oidc nonce"
	verifierLabel = "writ oidc code verifier"
)

// Provider is one OpenID Connect provider. It is safe for concurrent use.
type Provider struct {
	cfg      Config
	store    identity.HandshakeStore
	recorder audit.Recorder
	unit     tx.Unit
	clock    clock.Clock
	client   *http.Client
	found    *discovery
}

var _ identity.Provider = (*Provider)(nil)

// Errors: Unavailable if the provider's description cannot be read.
func (p *Provider) Begin(ctx context.Context) (identity.Challenge, error) {
	d, err := p.found.get(ctx)
	if err != nil {
		return identity.Challenge{}, err
	}
	state, binding := random(), random()
	bindingHash := sha256.Sum256([]byte(binding))
	err = p.unit.Do(ctx, func(ctx context.Context) error {
		return p.store.SaveHandshake(ctx, sha256.Sum256([]byte(state)), kind, bindingHash[:], identity.HandshakeTTL)
	})
	if err != nil {
		return identity.Challenge{}, err
	}
	address := p.oauth(d, d.styles[0]).AuthCodeURL(state,
		oidc.Nonce(derive(binding, nonceLabel)), oauth2.S256ChallengeOption(derive(binding, verifierLabel)))
	return identity.Challenge{URL: address, State: state, Binding: binding}, nil
}

// The first call with a code uses up the handshake, whatever its result is; a refusal is then recorded, and the fault
// is Unrecorded if that fails. The number of handshakes is limited, so that forged answers cannot fill the trail. The
// binding is required even if unbound is set, because nonce and verifier are derived from it.
func (p *Provider) Complete(ctx context.Context, answer url.Values, binding string, _ bool) (identity.External, error) {
	d, err := p.found.get(ctx)
	if err != nil {
		return identity.External{}, err
	}
	if err := p.checkAnswer(d, answer); err != nil {
		return identity.External{}, err
	}
	bindingHash, err := p.take(ctx, answer.Get("state"))
	if err != nil {
		return identity.External{}, err
	}
	who, err := p.validate(ctx, d, answer.Get("code"), binding, bindingHash)
	if identity.BadSignIn.Is(err) {
		return identity.External{}, audit.Refuse(ctx, p.unit, p.recorder,
			audit.RefusedSignIn(kind, identity.BadSignIn.Name), err)
	}
	return who, err
}

// validate exchanges the code and verifies the ID token.
func (p *Provider) validate(
	ctx context.Context, d *described, code, binding string, bindingHash []byte,
) (identity.External, error) {
	if err := bound(binding, bindingHash); err != nil {
		return identity.External{}, err
	}
	token, err := p.exchange(ctx, d, code, derive(binding, verifierLabel))
	if err != nil {
		return identity.External{}, err
	}
	who, err := p.verify(ctx, d, token, derive(binding, nonceLabel))
	if err != nil {
		return identity.External{}, err
	}
	return p.external(ctx, d, token, who)
}

// checkAnswer checks the parameters of the callback before the handshake is used up.
func (p *Provider) checkAnswer(d *described, answer url.Values) error {
	for _, name := range []string{"state", "code", "iss", "error"} {
		if len(answer[name]) > 1 {
			return refused("the answer has several parameters %s", name)
		}
	}
	if iss := answer.Get("iss"); iss != p.cfg.Issuer && (answer.Has("iss") || d.names) {
		if iss == "" {
			return refused("the answer names no issuer, and this provider's answers do")
		}
		return refused("the answer is that of another issuer (mix-up)")
	}
	if answer.Has("error") {
		return refused("the provider answered with %s", errorCode(answer.Get("error")))
	}
	switch {
	case answer.Get("state") == "":
		return refused("the answer has no state")
	case answer.Get("code") == "":
		return refused("the answer has no code")
	}
	return nil
}

// take uses up the handshake and returns the hash of its binding.
func (p *Provider) take(ctx context.Context, state string) (bindingHash []byte, err error) {
	err = p.unit.Do(ctx, func(ctx context.Context) (err error) {
		bindingHash, err = p.store.TakeHandshake(ctx, sha256.Sum256([]byte(state)), kind)
		return err
	})
	if identity.HandshakeNotFound.Is(err) {
		return nil, refused("the state is unknown, expired or used")
	}
	return bindingHash, err
}

// bound checks the binding against its hash.
func bound(binding string, bindingHash []byte) error {
	if binding == "" {
		return refused("the browser brought no binding")
	}
	have := sha256.Sum256([]byte(binding))
	if subtle.ConstantTimeCompare(have[:], bindingHash) != 1 {
		return refused("the binding is not that of the browser that began")
	}
	return nil
}

// oauth returns the client's configuration for the library.
func (p *Provider) oauth(d *described, style oauth2.AuthStyle) *oauth2.Config {
	e := d.endpoint
	e.AuthStyle = style
	return &oauth2.Config{
		ClientID: p.cfg.ClientID, ClientSecret: p.cfg.Secret.Reveal(), Endpoint: e, RedirectURL: p.cfg.RedirectURL,
		Scopes: p.scopes(d),
	}
}

func (p *Provider) scopes(d *described) []string {
	if len(p.cfg.Scopes) > 0 {
		others := slices.DeleteFunc(slices.Clone(p.cfg.Scopes), func(s string) bool { return s == oidc.ScopeOpenID })
		return append([]string{oidc.ScopeOpenID}, others...)
	}
	scopes := []string{oidc.ScopeOpenID, oidc.ScopeProfile, oidc.ScopeEmail}
	if p.cfg.GroupsClaim != "" && slices.Contains(d.scopes, "groups") {
		scopes = append(scopes, "groups")
	}
	return scopes
}

// random returns 256 random bits as text.
func random() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// derive derives a value for one purpose from the binding. It has 43 characters, as PKCE requires.
func derive(binding, label string) string {
	h := hmac.New(sha256.New, []byte(binding))
	h.Write([]byte(label))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}
