package signin

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"strconv"

	"github.com/writ-automation/writ/modules/identity/internal/kernel"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/lazyregexp"
)

// The kinds of handshakes: a program that waits for a sign-in, and a code that it may exchange.
const (
	expected = "program"
	exchange = "program_code"
)

var (
	challengeForm = lazyregexp.New(`^[A-Za-z0-9_-]{43}$`)
	stateForm     = lazyregexp.New(`^[A-Za-z0-9_-]{16,128}$`)
	verifierForm  = lazyregexp.New(`^[A-Za-z0-9._~-]{43,128}$`)
)

// Programs hands sign-ins over to programs. Until a code is exchanged there is no session, so that the database holds
// no secret of one.
type Programs struct {
	kernel.Kernel
	store      identity.HandshakeStore
	federation identity.Federation
	limiter    identity.SignInLimiter
}

var _ identity.ProgramSignIn = (*Programs)(nil)

// NewPrograms makes a Programs.
func NewPrograms(
	k kernel.Kernel, s identity.HandshakeStore, f identity.Federation, l identity.SignInLimiter,
) *Programs {
	return &Programs{Kernel: k, store: s, federation: f, limiter: l}
}

// key is the hash under which a value of a kind is stored. A state is also the key of its provider's handshake.
func key(kind, value string) [32]byte { return sha256.Sum256([]byte(kind + "\x00" + value)) }

func (p *Programs) Expect(ctx context.Context, state string, l identity.Loopback) error {
	switch {
	case l.Port == 0:
		return fault.BadField("cli", "expected a port, from 1 to 65535")
	case !challengeForm.Get().MatchString(l.Challenge):
		return fault.BadField("challenge", "expected the S256 challenge of RFC 7636, 43 characters of base64url")
	case !stateForm.Get().MatchString(l.State):
		return fault.BadField("state", "expected 16 to 128 letters, digits, - and _")
	case state == "":
		return identity.BadSignIn.New("this provider does not sign in programs")
	}
	return p.save(ctx, expected, state, l)
}

// signedIn is what a code stands for.
type signedIn struct {
	Challenge string
	Who       identity.External
}

func (p *Programs) Return(ctx context.Context, state string, e identity.External) (address string, err error) {
	var l identity.Loopback
	if err := p.take(ctx, expected, state, &l); identity.HandshakeNotFound.Is(err) {
		return "", nil
	} else if err != nil {
		return "", err
	}
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	code := base64.RawURLEncoding.EncodeToString(b[:])
	if err := p.save(ctx, exchange, code, signedIn{Challenge: l.Challenge, Who: e}); err != nil {
		return "", err
	}
	u := url.URL{
		Scheme: "http", Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(int(l.Port))), Path: "/",
		RawQuery: url.Values{"code": {code}, "state": {l.State}}.Encode(),
	}
	return u.String(), nil
}

// Codes are taken before the verifier is compared, so that a code is tried once. A refusal is recorded if the code was
// one: codes are limited by sign-ins, so that forged ones cannot fill the trail.
func (p *Programs) Exchange(ctx context.Context, code, verifier string) (identity.Session, error) {
	if err := p.limiter.Begin(ctx); err != nil {
		return identity.Session{}, err
	}
	var s signedIn
	err := p.take(ctx, exchange, code, &s)
	if identity.HandshakeNotFound.Is(err) {
		p.Log.WarnContext(ctx, refused, "reason", identity.BadSignIn.Name, "cause", "the code is unknown, used or expired",
			"address", actor.From(ctx).IP)
		return identity.Session{}, identity.BadSignIn.New("the code is unknown, used or expired: sign in again")
	}
	if err != nil {
		return identity.Session{}, err
	}
	sum := sha256.Sum256([]byte(verifier))
	have := base64.RawURLEncoding.EncodeToString(sum[:])
	if !verifierForm.Get().MatchString(verifier) || subtle.ConstantTimeCompare([]byte(have), []byte(s.Challenge)) != 1 {
		p.Log.WarnContext(ctx, refused, "provider", s.Who.Link.Protocol, "reason", identity.BadSignIn.Name,
			"cause", "the verifier is not that of the program that began", "address", actor.From(ctx).IP)
		return identity.Session{}, audit.Refuse(ctx, p.Unit, p.Recorder,
			audit.RefusedSignIn(string(s.Who.Link.Protocol), identity.BadSignIn.Name),
			identity.BadSignIn.New("the verifier is not that of the program that began: sign in again"))
	}
	return p.federation.Admit(ctx, s.Who)
}

func (p *Programs) save(ctx context.Context, kind, value string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode a sign-in: %w", err)
	}
	ttl := identity.HandshakeTTL
	if kind == exchange {
		ttl = identity.CodeTTL
	}
	return p.Unit.Do(ctx, func(ctx context.Context) error {
		return p.store.SaveHandshake(ctx, key(kind, value), kind, data, ttl)
	})
}

// take uses up what save stored. Errors: HandshakeNotFound.
func (p *Programs) take(ctx context.Context, kind, value string, v any) error {
	var data []byte
	err := p.Unit.Do(ctx, func(ctx context.Context) (err error) {
		data, err = p.store.TakeHandshake(ctx, key(kind, value), kind)
		return err
	})
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("decode a sign-in: %w", err)
	}
	return nil
}
