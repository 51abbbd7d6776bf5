package oidc

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/plaintext"
)

// How long a provider's description is used. Keys are fetched again with it, so a revoked key is trusted for at most
// fresh; an unknown key is fetched at once.
const (
	fresh      = 10 * time.Minute
	usable     = time.Hour       // while fetching a new one fails
	retryPause = 2 * time.Second // before the next request to a provider that did not answer
)

// described is the checked description of a provider.
type described struct {
	endpoint   oauth2.Endpoint
	styles     []oauth2.AuthStyle // how to authenticate at the token endpoint, in the order of preference
	style      atomic.Int32       // the one that worked
	userInfo   string
	keys       oidc.KeySet
	algorithms []string
	scopes     []string
	names      bool // answers contain their issuer (RFC 9207)
}

// document is a provider's published description.
type document struct {
	Authorization string   `json:"authorization_endpoint"`
	Token         string   `json:"token_endpoint"`
	UserInfo      string   `json:"userinfo_endpoint"`
	Keys          string   `json:"jwks_uri"`
	Algorithms    []string `json:"id_token_signing_alg_values_supported"`
	Scopes        []string `json:"scopes_supported"`
	Methods       []string `json:"token_endpoint_auth_methods_supported"`
	Names         bool     `json:"authorization_response_iss_parameter_supported"`
}

// discovery fetches the description, once for all waiting callers, and caches it.
type discovery struct {
	cfg    Config
	clock  clock.Clock
	client *http.Client
	log    *slog.Logger

	mu       sync.Mutex
	cached   *described
	cachedAt time.Time
	err      error
	errAt    time.Time
	pending  chan struct{} // closed by the fetch in progress
}

// get returns the description. Its error is an Unavailable fault.
func (d *discovery) get(ctx context.Context) (*described, error) {
	d.mu.Lock()
	now := d.clock.Now()
	if d.cached != nil && within(now, d.cachedAt, fresh) {
		defer d.mu.Unlock()
		return d.cached, nil
	}
	if d.pending == nil && !(d.err != nil && within(now, d.errAt, retryPause)) {
		d.pending = make(chan struct{})
		go d.fetch(context.WithoutCancel(ctx), d.pending)
	}
	pending := d.pending
	d.mu.Unlock()
	if pending != nil {
		select {
		case <-pending:
		case <-ctx.Done():
			return nil, unavailable("waiting for the provider's description: %w", ctx.Err())
		}
	}
	return d.last()
}

// last returns the result of the last fetch, or the cached description of an earlier one.
func (d *discovery) last() (*described, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cached != nil && (d.err == nil || within(d.clock.Now(), d.cachedAt, usable)) {
		return d.cached, nil
	}
	return nil, d.err
}

func within(now, since time.Time, d time.Duration) bool {
	age := now.Sub(since)
	return age >= 0 && age < d
}

func (d *discovery) fetch(ctx context.Context, done chan<- struct{}) {
	got, err := describe(ctx, d.client, d.cfg)
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.clock.Now()
	switch {
	case err != nil:
		d.log.WarnContext(ctx, "the OpenID Connect provider's description was not read",
			slog.String("issuer", d.cfg.Issuer), slog.String("cause", err.Error()))
		d.err, d.errAt = unavailable("the provider's description: %w", err), now
	default:
		if d.err != nil || d.cached == nil {
			d.log.InfoContext(ctx, "the OpenID Connect provider answers", slog.String("issuer", d.cfg.Issuer))
		}
		d.cached, d.cachedAt, d.err = got, now, nil
	}
	d.pending = nil
	close(done)
}

// describe fetches and checks the description. The key set outlives the request and keeps none of its values.
func describe(ctx context.Context, client *http.Client, cfg Config) (*described, error) {
	p, err := oidc.NewProvider(oidc.ClientContext(ctx, client), cfg.Issuer) // checks that the issuer is the same
	if err != nil {
		return nil, clip(err)
	}
	var doc document
	if err := p.Claims(&doc); err != nil {
		return nil, clip(err)
	}
	if err := doc.checkEndpoints(cfg.Issuer); err != nil {
		return nil, err
	}
	algorithms := doc.accepted()
	if len(algorithms) == 0 {
		return nil, fmt.Errorf("it signs with %s, none of which is accepted",
			plaintext.Line(strings.Join(doc.Algorithms, ", "), maxCause))
	}
	return &described{
		endpoint: oauth2.Endpoint{AuthURL: doc.Authorization, TokenURL: doc.Token},
		styles:   doc.styles(cfg.Secret != ""), userInfo: doc.UserInfo,
		keys:       oidc.NewRemoteKeySet(oidc.ClientContext(context.Background(), client), doc.Keys),
		algorithms: algorithms, scopes: doc.Scopes, names: doc.Names,
	}, nil
}

// checkEndpoints requires usable addresses: with TLS if the issuer has TLS, and with TLS or on loopback if the issuer
// is on loopback.
func (doc document) checkEndpoints(issuer string) error {
	for what, address := range map[string]string{
		"authorization endpoint": doc.Authorization, "token endpoint": doc.Token, "key set": doc.Keys,
		"userinfo endpoint": doc.UserInfo,
	} {
		if address == "" && what == "userinfo endpoint" {
			continue
		}
		u, err := endpoint(what, address)
		if err != nil {
			return err
		}
		if strings.HasPrefix(issuer, "https:") && u.Scheme != "https" {
			return fmt.Errorf("oidc: the %s is without TLS, and the issuer is not", what)
		}
		if err := trusted(what, u); err != nil {
			return err
		}
	}
	return nil
}

// accepted returns the advertised algorithms with a public key. The default is the algorithm that every provider must
// support.
func (doc document) accepted() []string {
	if len(doc.Algorithms) == 0 {
		return []string{oidc.RS256}
	}
	var out []string
	for _, a := range []string{
		oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512,
		oidc.EdDSA,
	} {
		if slices.Contains(doc.Algorithms, a) {
			out = append(out, a)
		}
	}
	return out
}

// styles returns the ways to authenticate the client, in the order of the attempts.
func (doc document) styles(secret bool) []oauth2.AuthStyle {
	if !secret {
		return []oauth2.AuthStyle{oauth2.AuthStyleInParams}
	}
	basic, post := slices.Contains(doc.Methods, "client_secret_basic"), slices.Contains(doc.Methods, "client_secret_post")
	switch {
	case post && !basic:
		return []oauth2.AuthStyle{oauth2.AuthStyleInParams}
	case basic && !post:
		return []oauth2.AuthStyle{oauth2.AuthStyleInHeader}
	default:
		return []oauth2.AuthStyle{oauth2.AuthStyleInHeader, oauth2.AuthStyleInParams}
	}
}
