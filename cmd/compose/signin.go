package compose

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/sso/oidc"
	"github.com/writ-automation/writ/adapters/sso/saml"
	"github.com/writ-automation/writ/platform/egress"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/tx"
)

// Roles map an account of an outside provider to a role: the highest of the mapped groups, else the default. An empty
// default refuses the account.
type Roles struct {
	Groups  map[string]identity.Role
	Default identity.Role
}

// OIDC is an OpenID provider for sign-in; without an issuer there is none.
type OIDC struct {
	Issuer, ClientID string
	Secret           secret.Text // empty for a public client
	RedirectURL      string      // empty: below the public address
	GroupsClaim      string
	Roles            Roles
}

// SAML is a SAML 2.0 identity provider for sign-in; without metadata there is none.
type SAML struct {
	MetadataURL, MetadataFile string
	BaseURL                   string // empty: the public address
	Cert, Key                 string
	UsernameAttr, GroupsAttr  string
	Roles                     Roles
}

// oidcCallback is the path at which the provider's answer arrives.
const oidcCallback = "/auth/oidc/callback"

func (o *OIDC) on() bool { return o.Issuer != "" }

func (o *OIDC) redirect(public string) string {
	if o.RedirectURL == "" && public != "" {
		return public + oidcCallback
	}
	return o.RedirectURL
}

// claim returns the claim with the groups, empty if no group is mapped: groups then refuse no account.
func (o *OIDC) claim() string { return o.Roles.of(o.GroupsClaim) }

// validate returns an error that names the flag.
func (o *OIDC) validate(s *Settings) error {
	if err := o.Roles.validate("oidc", "oidc-issuer", o.on(), "oidc-groups-claim", o.GroupsClaim); err != nil {
		return err
	}
	if !o.on() {
		if o.ClientID != "" || o.RedirectURL != "" {
			return errors.New("oidc-issuer: is required with the other oidc flags")
		}
		return nil
	}
	if s.Open {
		return errors.New("open: disables sign-in; remove it or oidc-issuer")
	}
	if err := trusted("oidc-issuer", o.Issuer); err != nil {
		return err
	}
	if o.ClientID == "" {
		return errors.New("oidc-client-id: is required with oidc-issuer")
	}
	return o.validateRedirect(s)
}

// validateRedirect requires the address of the one route that takes the answer. Plain http to other machines is allowed
// only if their browsers may hold cookies over it.
func (o *OIDC) validateRedirect(s *Settings) error {
	redirect := o.redirect(s.public())
	if redirect == "" {
		return errors.New("oidc-redirect-url: is required where public-url is not set")
	}
	u, err := webAddress("oidc-redirect-url", redirect)
	switch {
	case err != nil:
		return err
	case !strings.HasSuffix(u.Path, oidcCallback):
		return fmt.Errorf("oidc-redirect-url: expected an address that ends in %s", oidcCallback)
	case u.Scheme != "https" && !loopback(u.Hostname()) && !s.InsecureCookies:
		return errors.New("oidc-redirect-url: https is required beyond loopback; the default is below public-url")
	}
	return nil
}

func (a *SAML) on() bool { return a.MetadataURL != "" || a.MetadataFile != "" }

func (a *SAML) base(public string) string {
	if a.BaseURL == "" {
		return public
	}
	return a.BaseURL
}

// attribute returns the attribute with the groups, empty if no group is mapped: groups then refuse no account.
func (a *SAML) attribute() string { return a.Roles.of(a.GroupsAttr) }

// validate returns an error that names the flag.
func (a *SAML) validate(s *Settings) error {
	if err := a.Roles.validate("saml", "saml-idp-metadata-url", a.on(), "saml-groups-attr", a.GroupsAttr); err != nil {
		return err
	}
	switch {
	case !a.on():
		if a.BaseURL != "" || a.Cert != "" || a.Key != "" {
			return errors.New("saml-idp-metadata-url: this flag or saml-idp-metadata-file is required with the other saml flags")
		}
		return nil
	case s.Open:
		return errors.New("open: disables sign-in; remove it, or saml-idp-metadata-url and saml-idp-metadata-file")
	case a.MetadataURL != "" && a.MetadataFile != "":
		return errors.New("saml-idp-metadata-url and saml-idp-metadata-file: set only one")
	case (a.Cert == "") != (a.Key == ""):
		return errors.New("saml-cert and saml-key: set both or none")
	case a.base(s.public()) == "":
		return errors.New("saml-base-url: is required where public-url is not set")
	}
	if a.MetadataURL != "" {
		if err := trustedFrom("saml-idp-metadata-url", a.MetadataURL); err != nil {
			return err
		}
	}
	_, err := webAddress("saml-base-url", a.base(s.public()))
	return err
}

// validate returns an error that names the flag. The protocol is the prefix of the flags, and needed the flag without
// which they have no effect.
func (r *Roles) validate(protocol, needed string, on bool, groupsFlag, groups string) error {
	switch {
	case !on && len(r.Groups) > 0:
		return fmt.Errorf("%s-role-map: has no effect without %s", protocol, needed)
	case !on && r.Default != "" && r.Default != identity.Viewer:
		return fmt.Errorf("%s-default-role: has no effect without %s", protocol, needed)
	case len(r.Groups) > 0 && groups == "":
		return fmt.Errorf("%s: is required with %s-role-map", groupsFlag, protocol)
	}
	return nil
}

// of returns the claim or attribute with the groups, which matters only if groups are mapped.
func (r *Roles) of(groups string) string {
	if len(r.Groups) == 0 {
		return ""
	}
	return groups
}

// webAddress parses an absolute address that ends with its path.
func webAddress(flag, address string) (*url.URL, error) {
	u, err := anyAddress(flag, address)
	if err == nil && (u.RawQuery != "" || u.ForceQuery) {
		return nil, fmt.Errorf("%s: expected an address without a query", flag)
	}
	return u, err
}

func anyAddress(flag, address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%s: expected an http or https address", flag)
	}
	if u.User != nil || strings.Contains(address, "#") {
		return nil, fmt.Errorf("%s: expected an address without a user and a fragment", flag)
	}
	return u, nil
}

// trusted requires an address whose answers cannot be changed on the way.
func trusted(flag, address string) error {
	if _, err := webAddress(flag, address); err != nil {
		return err
	}
	return trustedFrom(flag, address)
}

// trustedFrom is trusted for an address that may have a query.
func trustedFrom(flag, address string) error {
	u, err := anyAddress(flag, address)
	if err == nil && u.Scheme != "https" && !loopback(u.Hostname()) {
		return fmt.Errorf("%s: https is required beyond loopback", flag)
	}
	return err
}

// public returns the address that users open, without a closing slash. It is empty if it is unknown: a server that
// listens on every address cannot derive it.
func (s *Settings) public() string {
	if s.PublicURL != "" || s.TLSCert == "" {
		return strings.TrimRight(s.PublicURL, "/")
	}
	host, port, err := net.SplitHostPort(s.Addr)
	ip, noIP := netip.ParseAddr(host)
	if err != nil || host == "" || port == "0" || noIP == nil && ip.Unmap().IsUnspecified() {
		return ""
	}
	return "https://" + s.Addr
}

// providers provides the identity providers that are configured, as the sign-in routes look for them.
func providers(s *Settings) fx.Option {
	var out []fx.Option
	switch _, custom, _ := s.replacements(); { // an error ends the assembly elsewhere
	case custom != nil:
		out = append(out, fx.Provide(fx.Annotate(custom, fx.ResultTags(`name:"oidc"`))))
	case s.OIDC.on():
		out = append(out, fx.Provide(fx.Annotate(newOIDC, fx.ResultTags(`name:"oidc"`))))
	}
	if s.SAML.on() {
		out = append(out, fx.Provide(fx.Annotate(newSAML, fx.ResultTags(`name:"saml"`))))
	}
	return fx.Module("providers", out...)
}

// handshake holds the dependencies of every provider.
type handshake struct {
	fx.In
	Store    identity.HandshakeStore
	Recorder audit.Recorder
	Unit     tx.Unit
	Clock    clock.Clock
	Log      *slog.Logger
}

func newOIDC(life fx.Lifecycle, s *Settings, h handshake) (identity.Provider, error) {
	return oidc.New(oidc.Config{
		Issuer: s.OIDC.Issuer, ClientID: s.OIDC.ClientID, Secret: s.OIDC.Secret,
		RedirectURL: s.OIDC.redirect(s.public()), GroupsClaim: s.OIDC.claim(),
	}, h.Store, h.Recorder, h.Unit, h.Clock, privateNetworks(life), h.Log)
}

func newSAML(life fx.Lifecycle, s *Settings, h handshake) (identity.Provider, error) {
	return saml.New(s.samlConfig(), h.Store, h.Recorder, h.Unit, h.Clock, privateNetworks(life), h.Log)
}

func (s *Settings) samlConfig() saml.Config {
	return saml.Config{
		MetadataURL: s.SAML.MetadataURL, MetadataFile: s.SAML.MetadataFile, BaseURL: s.SAML.base(s.public()),
		CertFile: s.SAML.Cert, KeyFile: s.SAML.Key, UsernameAttr: s.SAML.UsernameAttr, GroupsAttr: s.SAML.attribute(),
	}
}

// checkSAML reads the files of the provider. The error names the flag.
func (s *Settings) checkSAML() error {
	if !s.SAML.on() {
		return nil
	}
	err := saml.Check(s.samlConfig())
	switch {
	case errors.Is(err, saml.ErrMetadataFile):
		return fmt.Errorf("saml-idp-metadata-file: %w", err)
	case err != nil:
		return fmt.Errorf("saml-cert, saml-key: %w", err)
	}
	return nil
}

// privateNetworks is a client for addresses that an operator configures, which are often in the private network.
func privateNetworks(life fx.Lifecycle) *http.Client {
	c := egress.Client(egress.Policy{Level: egress.PrivateAllowed}, egress.Options{})
	life.Append(fx.Hook{OnStop: func(context.Context) error { c.CloseIdleConnections(); return nil }})
	return c
}
