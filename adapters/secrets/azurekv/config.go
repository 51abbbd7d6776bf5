package azurekv

import (
	"net/netip"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/writ-automation/writ/platform/egress"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/lazyregexp"
)

// The addresses of the public cloud.
const (
	publicLogin = "https://login.microsoftonline.com"
	publicVault = "https://{vault}.vault.azure.net"
	publicScope = "https://vault.azure.net/.default"
)

// maxText bounds a member of a config, in bytes.
const maxText = 8 << 10

// Config of the engine. Empty addresses are those of the public cloud.
type Config struct {
	// Policy decides which addresses may be dialled; egress.PrivateAllowed reaches private endpoints.
	Policy egress.Policy
	// Options are those of the connections. An answer is at most 1 MiB, whatever they contain.
	Options egress.Options
	// Login is the base address of the token endpoints, to which the tenant is added.
	Login string
	// Vault is the base address of a vault; {vault} is replaced by the name in the config. If it is plain http, configs
	// may name vaults with plain http too.
	Vault string
	// Scope is the scope of the tokens.
	Scope string
}

// These are the forms of names at Azure.
var (
	vaultName  = lazyregexp.New(`^[A-Za-z][A-Za-z0-9-]{1,22}[A-Za-z0-9]$`)
	secretName = lazyregexp.New(`^[A-Za-z0-9-]{1,127}$`)
	tenantID   = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9.-]{0,252}$`)
)

// source is a config that was checked.
type source struct {
	base                   string // of the vault, without a slash at the end
	secret                 string
	tenant, client, secure string
}

func bad(field, message string) error { return &extension.ConfigError{Field: field, Message: message} }

// text reads a member that is one line of text.
func text(config map[string]any, name string) (string, error) {
	v, ok := config[name].(string)
	switch {
	case config[name] == nil || ok && v == "":
		return "", bad(name, "is required")
	case !ok:
		return "", bad(name, "has to be a text")
	case len(v) > maxText || !utf8.ValidString(v) || strings.ContainsFunc(v, unicode.IsControl):
		return "", bad(name, "has to be one line of text")
	}
	return v, nil
}

// parse checks a config.
func (c Config) parse(config map[string]any) (source, error) {
	var out source
	var vault string
	for _, m := range []struct {
		name string
		to   *string
	}{{"vault", &vault}, {"secret", &out.secret}, {"tenant_id", &out.tenant}, {"client_id", &out.client},
		{"client_secret", &out.secure}} {
		var err error
		if *m.to, err = text(config, m.name); err != nil {
			return source{}, err
		}
	}
	switch {
	case !secretName.MatchString(out.secret):
		return source{}, bad("secret", "has to be a name of letters, digits and hyphens")
	case !tenantID.MatchString(out.tenant):
		return source{}, bad("tenant_id", "has to be the id or the domain of a tenant")
	}
	var err error
	out.base, err = c.base(vault)
	return out, err
}

// base returns the address of a vault. An IP address is checked against the policy at once, a name when it is dialled.
func (c Config) base(vault string) (string, error) {
	if vaultName.MatchString(vault) {
		return strings.ReplaceAll(c.Vault, "{vault}", vault), nil
	}
	u, err := url.Parse(vault)
	switch {
	case err != nil || egress.CheckURL(u) != nil || u.Scheme != "https" && !strings.HasPrefix(c.Vault, "http:"):
		return "", bad("vault", "has to be the name of a vault or its https address")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.Trim(u.Path, "/") != "":
		return "", bad("vault", "has to be an address without credentials, path, query and fragment")
	}
	if a, err := netip.ParseAddr(u.Hostname()); err == nil && c.Policy.Check(a) != nil {
		return "", bad("vault", "is an address that the server may not connect to")
	}
	return u.Scheme + "://" + u.Host, nil
}
