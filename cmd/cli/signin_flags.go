package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/writ-automation/writ/cmd/compose"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/secret"
)

// oidcSecretEnv is the variable of the client's secret. There is no flag, since other users of the machine can read
// flags.
const oidcSecretEnv = "WRIT_OIDC_CLIENT_SECRET"

// signInFlags are the flags of outside identity providers, beside their settings.
type signInFlags struct{ oidcRoles, samlRoles roleFlags }

// roleFlags map groups of the provider to roles.
type roleFlags struct {
	byGroup  []string
	fallback string
}

func (f *roleFlags) register(fs *pflag.FlagSet, protocol string) {
	fs.StringArrayVar(&f.byGroup, protocol+"-role-map", nil,
		"`group=role`: role of the members of a group (repeatable; the highest counts)")
	fs.StringVar(&f.fallback, protocol+"-default-role", string(identity.Viewer),
		"`role` of accounts without a mapped group; none refuses the sign-in")
}

func (f *signInFlags) register(fs *pflag.FlagSet, o *compose.OIDC, a *compose.SAML) {
	fs.StringVar(&o.Issuer, "oidc-issuer", "", "`address` of the OpenID provider; enables sign-in with it")
	fs.StringVar(&o.ClientID, "oidc-client-id", "",
		"`id` of this client at the provider (its secret: "+oidcSecretEnv+")")
	fs.StringVar(&o.RedirectURL, "oidc-redirect-url", "",
		"`address` that the provider redirects to (default /auth/oidc/callback below --public-url)")
	fs.StringVar(&o.GroupsClaim, "oidc-groups-claim", "groups", "`claim` that lists the groups of an account")
	f.oidcRoles.register(fs, "oidc")
	fs.StringVar(&a.MetadataURL, "saml-idp-metadata-url", "",
		"`address` of the SAML provider's metadata; enables sign-in with it")
	fs.StringVar(&a.MetadataFile, "saml-idp-metadata-file", "", "`file` with the SAML provider's metadata")
	fs.StringVar(&a.BaseURL, "saml-base-url", "", "`address` of this server for the provider (default --public-url)")
	fs.StringVar(&a.Cert, "saml-cert", "", "certificate `file` for signed requests")
	fs.StringVar(&a.Key, "saml-key", "", "private key `file` of that certificate")
	fs.StringVar(&a.UsernameAttr, "saml-username-attr", "", "`attribute` that names the account (default the subject)")
	fs.StringVar(&a.GroupsAttr, "saml-groups-attr", "groups", "`attribute` that lists the groups of an account")
	f.samlRoles.register(fs, "saml")
}

// complete sets the secret and the roles.
func (f *signInFlags) complete(s *compose.Settings, w environment) (err error) {
	if s.OIDC.Roles, err = f.oidcRoles.roles("oidc"); err != nil {
		return err
	}
	if s.SAML.Roles, err = f.samlRoles.roles("saml"); err != nil {
		return err
	}
	// A policy for accounts without a group needs a provider: its flag is missing or misspelt.
	switch {
	case s.OIDC.Roles.Default == "" && s.OIDC.Issuer == "":
		return errors.New("oidc-default-role: has no effect without oidc-issuer")
	case s.SAML.Roles.Default == "" && s.SAML.MetadataURL == "" && s.SAML.MetadataFile == "":
		return errors.New("saml-default-role: has no effect without saml-idp-metadata-url")
	}
	s.OIDC.Secret, s.SAML.BaseURL = secret.Text(w.env(oidcSecretEnv)), strings.TrimRight(s.SAML.BaseURL, "/")
	return nil
}

func (f *roleFlags) roles(protocol string) (compose.Roles, error) {
	out := compose.Roles{Groups: map[string]identity.Role{}}
	if f.fallback != "none" {
		out.Default = identity.Role(f.fallback)
		if !out.Default.Valid() {
			return out, fmt.Errorf("%s-default-role: expected viewer, operator, admin or none", protocol)
		}
	}
	for _, pair := range f.byGroup {
		// A group may contain the sign, a role does not.
		at := strings.LastIndexByte(pair, '=')
		if at <= 0 || !identity.Role(pair[at+1:]).Valid() {
			return out, fmt.Errorf("%s-role-map: expected group=viewer, group=operator or group=admin", protocol)
		}
		group, role := pair[:at], identity.Role(pair[at+1:])
		if several(group) {
			return out, fmt.Errorf("%s-role-map: one value contains several mappings; repeat the flag for each group", protocol)
		}
		if _, twice := out.Groups[group]; twice {
			return out, fmt.Errorf("%s-role-map: a group is mapped twice", protocol)
		}
		out.Groups[group] = role
	}
	return out, nil
}

// inner finds a possible mapping in front of another one.
var inner = lazyregexp.New(`([^,;\s]+)=(?:viewer|operator|admin)\s*[,;]`)

// several reports whether a group contains more than one mapping, such as "a=admin,b" in "a=admin,b=viewer": as one
// group it would match no account. The parts of a directory name such as "CN=admin,OU=x" are no mappings.
func several(group string) bool {
	return slices.ContainsFunc(inner.Get().FindAllStringSubmatch(group, -1), func(found []string) bool {
		return !slices.Contains([]string{"cn", "ou", "o", "dc", "uid"}, strings.ToLower(found[1]))
	})
}
