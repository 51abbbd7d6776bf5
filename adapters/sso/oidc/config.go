package oidc

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"github.com/writ-automation/writ/platform/egress"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/tx"
)

// Config describes the provider and the registration of this client.
type Config struct {
	// Issuer is exactly the provider's issuer identifier. Plain http is allowed only on a loopback address, because an
	// attacker who can change the answers controls the identities.
	Issuer      string
	ClientID    string
	Secret      secret.Text // empty for a public client
	RedirectURL string      // of this server's callback, as registered
	// GroupsClaim is the claim with the groups; empty reads none. If no claim has that exact name, dots separate the
	// members of a path: "realm_access.roles".
	GroupsClaim string
	// Scopes are requested in addition to openid. The default is openid, profile and email, and groups if GroupsClaim
	// is set and the provider supports that scope.
	Scopes []string
}

// The limits of requests to a provider.
const (
	exchangeTimeout = 15 * time.Second // for one exchange, unless the client has its own timeout
	maxAnswer       = 1 << 20          // bytes of one answer
)

func (c Config) check() error {
	issuer, err := endpoint("issuer", c.Issuer)
	if err != nil {
		return err
	}
	if err := trusted("issuer", issuer); err != nil {
		return err
	}
	if issuer.RawQuery != "" || issuer.ForceQuery {
		return errors.New("oidc: the issuer is an address without a query")
	}
	if c.ClientID == "" {
		return errors.New("oidc: the client id is missing")
	}
	_, err = endpoint("redirect url", c.RedirectURL)
	return err
}

// endpoint parses an absolute http or https address without user and fragment.
func endpoint(what, address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.Fragment != "" {
		return nil, fmt.Errorf("oidc: the %s is no http or https address", what)
	}
	return u, nil
}

// trusted refuses plain http except to this machine.
func trusted(what string, u *url.URL) error {
	if u.Scheme == "https" || u.Hostname() == "localhost" {
		return nil
	}
	if a, err := netip.ParseAddr(u.Hostname()); err != nil || !a.Unmap().IsLoopback() {
		return fmt.Errorf("oidc: the %s needs https beyond loopback", what)
	}
	return nil
}

// New creates a Provider. It makes no request: the provider's description is fetched when it is needed. The default
// for a nil client reaches private networks, but no link-local or metadata address.
func New(
	cfg Config, store identity.HandshakeStore, recorder audit.Recorder, unit tx.Unit, clock clock.Clock,
	client *http.Client,
	log *slog.Logger,
) (*Provider, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if recorder == nil {
		return nil, errors.New("oidc: a recorder is required")
	}
	if client == nil {
		client = egress.Client(egress.Policy{Level: egress.PrivateAllowed},
			egress.Options{Timeout: exchangeTimeout, MaxAnswer: maxAnswer})
	}
	cfg.Scopes = slices.Clone(cfg.Scopes)
	return &Provider{
		cfg: cfg, store: store, recorder: recorder, unit: unit, clock: clock, client: boundedClient(client),
		found: &discovery{cfg: cfg, clock: clock, client: boundedClient(client), log: log},
	}, nil
}

// boundedClient returns a client with the same transport and limits on time and size. It keeps no cookies, sends
// neither secret nor token to the target of a redirect, and follows no redirect to plain http beyond loopback.
func boundedClient(client *http.Client) *http.Client {
	c := *client
	if c.Transport == nil {
		c.Transport = http.DefaultTransport
	}
	c.Transport = egress.Capped(c.Transport, maxAnswer)
	if c.Timeout <= 0 {
		c.Timeout = exchangeTimeout
	}
	c.Jar = nil
	c.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		switch {
		case via[0].Method != http.MethodGet || via[0].Header.Get("Authorization") != "":
			return http.ErrUseLastResponse
		case trusted("redirect", req.URL) != nil:
			return trusted("redirect", req.URL)
		case client.CheckRedirect != nil:
			return client.CheckRedirect(req, via)
		case len(via) > egress.MaxRedirects:
			return errors.New("too many redirects")
		default:
			return nil
		}
	}
	return &c
}
