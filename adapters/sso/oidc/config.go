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

// Config names the provider and this side's registration there.
type Config struct {
	// Issuer is exactly what the provider calls itself; plain http only on a loopback address, because whoever can
	// change the answers says who somebody is.
	Issuer      string
	ClientID    string
	Secret      secret.Text // empty for a public client
	RedirectURL string      // of this side's callback, as it is registered
	// GroupsClaim is the claim that lists groups; empty reads none. Where no claim has that very name, dots lead
	// into objects: "realm_access.roles".
	GroupsClaim string
	// Scopes are asked for as they stand, with openid in front. None are openid, profile and email, and groups where
	// GroupsClaim is set and the provider says that it knows that scope.
	Scopes []string
}

// The bounds of what is asked of a provider.
const (
	exchangeTimeout = 15 * time.Second // for one exchange, where the client has no timeout of its own
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

// trusted refuses plain http but to this machine.
func trusted(what string, u *url.URL) error {
	if u.Scheme == "https" || u.Hostname() == "localhost" {
		return nil
	}
	if a, err := netip.ParseAddr(u.Hostname()); err != nil || !a.Unmap().IsLoopback() {
		return fmt.Errorf("oidc: the %s needs https beyond loopback", what)
	}
	return nil
}

// New makes a Provider. It asks nobody: the provider's description is fetched once it is needed. A nil client is one
// that reaches private networks, but no link-local or metadata address.
func New(
	cfg Config, store identity.HandshakeStore, recorder audit.Recorder, unit tx.Unit, clock clock.Clock, client *http.Client,
	log *slog.Logger,
) (*Provider, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if recorder == nil {
		return nil, errors.New("oidc: a recorder is required")
	}
	if client == nil {
		client = egress.Client(egress.Policy{Level: egress.PrivateAllowed}, egress.Options{Timeout: exchangeTimeout, MaxAnswer: maxAnswer})
	}
	cfg.Scopes = slices.Clone(cfg.Scopes)
	return &Provider{
		cfg: cfg, store: store, recorder: recorder, unit: unit, clock: clock, client: boundedClient(client),
		found: &discovery{cfg: cfg, clock: clock, client: boundedClient(client), log: log},
	}, nil
}

// boundedClient returns a client of the same transport that bounds each exchange in time and size, keeps no cookies,
// takes neither secret nor token anywhere by a redirect, and follows none to where there is no TLS beyond loopback.
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
