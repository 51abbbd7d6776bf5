package cli

import (
	"bytes"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/writ-automation/writ/cmd/compose"
	"github.com/writ-automation/writ/ports/identity"
)

// signInOf applies a command line and an environment.
func signInOf(t *testing.T, environ []string, flags ...string) (compose.Settings, error) {
	t.Helper()
	fs, f := serveFlagSet()
	if err := fs.Parse(flags); err != nil {
		t.Fatalf("%v: %v", flags, err)
	}
	w := environment{out: &bytes.Buffer{}, err: &bytes.Buffer{}, environ: environ}
	if err := f.load(fs, w); err != nil {
		return compose.Settings{}, err
	}
	err := f.signIn.complete(&f.Settings, w)
	return f.Settings, err
}

func provided(protocol string) []string {
	if protocol == "oidc" {
		return []string{"--oidc-issuer", "https://id.example.com", "--oidc-client-id", "writ"}
	}
	return []string{"--saml-idp-metadata-url", "https://id.example.com/metadata"}
}

func rolesOf(s compose.Settings, protocol string) compose.Roles {
	if protocol == "oidc" {
		return s.OIDC.Roles
	}
	return s.SAML.Roles
}

// TestRoleMaps reads mappings, of groups with any sign in them.
func TestRoleMaps(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"oidc", "saml"} {
		for pair, want := range map[string]map[string]identity.Role{
			"ops=admin":                        {"ops": identity.Admin},
			"/platform-admins=operator":        {"/platform-admins": identity.Operator},
			"CN=ops,OU=x=admin":                {"CN=ops,OU=x": identity.Admin},
			"CN=admin,OU=x,DC=example=viewer":  {"CN=admin,OU=x,DC=example": identity.Viewer},
			"cn=viewer, ou=admin ,dc=x=viewer": {"cn=viewer, ou=admin ,dc=x": identity.Viewer},
			"a,b=admin":                        {"a,b": identity.Admin},
			"a=b,c=admin":                      {"a=b,c": identity.Admin},
			"a=administrators,b=admin":         {"a=administrators,b": identity.Admin},
			"4c1f0000-0000-0000-0000-0=viewer": {"4c1f0000-0000-0000-0000-0": identity.Viewer},
			"with spaces in between=admin":     {"with spaces in between": identity.Admin},
			"Ops=admin":                        {"Ops": identity.Admin},
		} {
			s, err := signInOf(t, nil, append(provided(protocol), "--"+protocol+"-role-map", pair)...)
			if err != nil || !maps.Equal(rolesOf(s, protocol).Groups, want) || rolesOf(s, protocol).Default != identity.Viewer {
				t.Errorf("%s %q: %+v %v", protocol, pair, rolesOf(s, protocol), err)
			}
		}
		s, err := signInOf(t, nil, append(provided(protocol), "--"+protocol+"-role-map", "a=admin", "--"+protocol+"-role-map",
			"b=viewer",
			"--"+protocol+"-default-role", "none")...)
		if err != nil || len(rolesOf(s, protocol).Groups) != 2 || rolesOf(s, protocol).Default != "" {
			t.Errorf("%s: %+v %v", protocol, rolesOf(s, protocol), err)
		}
		// Commas separate the list in a variable, so that it cannot map a group with a comma.
		variable := "WRIT_" + strings.ToUpper(protocol) + "_ROLE_MAP="
		s, err = signInOf(t, []string{variable + "a=admin,b=viewer"}, provided(protocol)...)
		if want := map[string]identity.Role{"a": identity.Admin, "b": identity.Viewer}; err != nil ||
			!maps.Equal(rolesOf(s, protocol).Groups, want) {
			t.Errorf("%s: %+v %v", protocol, rolesOf(s, protocol), err)
		}
		if _, err := signInOf(t, []string{variable + "CN=ops,OU=x=admin"}, provided(protocol)...); err == nil {
			t.Errorf("%s: half a name is taken for a mapping", protocol)
		}
	}
}

// TestSignInFlagsRefused names the flag.
func TestSignInFlagsRefused(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"oidc", "saml"} {
		for _, c := range []struct {
			flag   string
			values []string
		}{
			{"-role-map", []string{"a=admin,b=viewer"}}, {"-role-map", []string{"a=viewer,b=operator,c=admin"}},
			{"-role-map", []string{"a=admin, b=viewer"}}, {"-role-map", []string{"a=operator ,b=viewer"}},
			{"-role-map", []string{"a=admin;b=viewer"}},
			{"-role-map", []string{"CN=ops,OU=x=admin,b=viewer"}}, {"-role-map", []string{"a=admin,CN=ops,OU=x=viewer"}},
			{"-role-map", []string{"a"}}, {"-role-map", []string{"=admin"}}, {"-role-map", []string{"a="}},
			{"-role-map", []string{"a=root"}},
			{"-role-map", []string{"a=Admin"}}, {"-role-map", []string{"a=none"}}, {"-role-map", []string{"a=admin "}},
			{"-role-map", []string{""}},
			{"-role-map", []string{"a=admin", "a=viewer"}}, {"-default-role", []string{"root"}}, {"-default-role", []string{""}},
		} {
			flags := provided(protocol)
			for _, v := range c.values {
				flags = append(flags, "--"+protocol+c.flag, v)
			}
			if _, err := signInOf(t, nil, flags...); err == nil || !strings.HasPrefix(err.Error(), protocol+c.flag+": ") {
				t.Errorf("%v: %v", flags, err)
			}
		}
		if _, err := signInOf(t, nil, "--"+protocol+"-default-role", "none"); err == nil ||
			!strings.HasPrefix(err.Error(), protocol+"-default-role: ") {
			t.Errorf("%s without a provider: %v", protocol, err)
		}
	}
	var usage usageError
	if _, err := signInOf(t, nil); err != nil || errors.As(err, &usage) {
		t.Errorf("no flags: %v", err)
	}
}

// TestProviderFlags checks the setting of every flag; the secret comes from the environment.
func TestProviderFlags(t *testing.T) {
	t.Parallel()
	s, err := signInOf(t, []string{oidcSecretEnv + "=c4nary"},
		"--oidc-issuer", "a", "--oidc-client-id", "b", "--oidc-redirect-url", "c", "--oidc-groups-claim", "d",
		"--saml-idp-metadata-url", "e", "--saml-idp-metadata-file", "f", "--saml-base-url", "g/", "--saml-cert", "h",
		"--saml-key", "i",
		"--saml-username-attr", "j", "--saml-groups-attr", "k")
	if err != nil {
		t.Fatal(err)
	}
	o, a := s.OIDC, s.SAML
	if o.Issuer+o.ClientID+o.RedirectURL+o.GroupsClaim != "abcd" || o.Secret.Reveal() != "c4nary" ||
		a.MetadataURL+a.MetadataFile+a.BaseURL+a.Cert+a.Key+a.UsernameAttr+a.GroupsAttr != "efghijk" {
		t.Errorf("%+v %+v", o, a)
	}
	none, err := signInOf(t, nil)
	if err != nil || none.OIDC.GroupsClaim != "groups" || none.SAML.GroupsAttr != "groups" ||
		none.OIDC.Roles.Default != identity.Viewer {
		t.Errorf("%+v %v", none, err)
	}
}
