package vault

import (
	"net/netip"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/writ-automation/writ/platform/egress"
	"github.com/writ-automation/writ/ports/extension"
)

// maxText bounds a member of a config, in bytes.
const maxText = 8 << 10

// source is a config that was checked.
type source struct {
	base      string // of the server, without a slash at the end
	path      string // below /v1/, escaped
	field     string
	namespace string
	versioned bool // of a KV engine: version 2

	token            string
	roleID, secretID string // if there is no token
}

func bad(field, message string) error { return &extension.ConfigError{Field: field, Message: message} }

// fields returns the config fields of both engines.
func fields(more ...extension.ConfigField) []extension.ConfigField {
	return append([]extension.ConfigField{
		{Name: "address", Required: true}, {Name: "path", Required: true}, {Name: "field"}, {Name: "namespace"},
		{Name: "token", Secret: true}, {Name: "role_id"}, {Name: "secret_id", Secret: true},
	}, more...)
}

// text returns a member that is one line of text, or "" if the config does not have it.
func text(config map[string]any, name string) (string, error) {
	v, ok := config[name]
	if !ok || v == nil {
		return "", nil
	}
	s, ok := v.(string)
	switch {
	case !ok:
		return "", bad(name, "has to be a text")
	case len(s) > maxText:
		return "", bad(name, "is too long")
	case !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl):
		return "", bad(name, "has to be one line of text")
	}
	return s, nil
}

// parse checks a config.
func (c Config) parse(config map[string]any) (source, error) {
	var out source
	var address, path string
	for _, m := range []struct {
		name string
		to   *string
	}{
		{"address", &address}, {"path", &path}, {"field", &out.field}, {"namespace", &out.namespace},
		{"token", &out.token}, {"role_id", &out.roleID}, {"secret_id", &out.secretID},
	} {
		var err error
		if *m.to, err = text(config, m.name); err != nil {
			return source{}, err
		}
	}
	var err error
	if out.base, err = c.base(address); err != nil {
		return source{}, err
	}
	if out.path, err = escaped(path); err != nil {
		return source{}, err
	}
	out.namespace = strings.Trim(out.namespace, "/")
	if strings.ContainsFunc(out.namespace, func(r rune) bool { return r > unicode.MaxASCII }) {
		return source{}, bad("namespace", "has to be of ASCII characters")
	}
	return out, out.checkLogin()
}

// checkLogin requires exactly one kind of login.
func (s source) checkLogin() error {
	switch {
	case s.token != "" && (s.roleID != "" || s.secretID != ""):
		return bad("token", "cannot be given together with role_id and secret_id")
	case s.token != "":
		if strings.ContainsFunc(s.token, func(r rune) bool { return r <= ' ' || r > unicode.MaxASCII }) {
			return bad("token", "is not a token of Vault")
		}
	case s.roleID == "" && s.secretID == "":
		return bad("token", "is required, or role_id and secret_id are")
	case s.roleID == "":
		return bad("role_id", "is required with secret_id")
	case s.secretID == "":
		return bad("secret_id", "is required with role_id")
	}
	return nil
}

// base checks the address of a server. An IP address is checked against the policy at once, a name when it is dialled.
func (c Config) base(address string) (string, error) {
	if address == "" {
		return "", bad("address", "is required")
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || egress.CheckURL(u) != nil:
		return "", bad("address", "has to be an http or https address")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "", bad("address", "has to be without credentials, query and fragment")
	}
	if a, err := netip.ParseAddr(u.Hostname()); err == nil && c.Policy.Check(a) != nil {
		return "", bad("address", "is an address that the server may not connect to")
	}
	return strings.TrimRight(u.String(), "/"), nil
}

// escaped checks a path below /v1/ and escapes it for a URL.
func escaped(path string) (string, error) {
	path = strings.Trim(path, "/")
	if path == "" {
		return "", bad("path", "is required")
	}
	parts := strings.Split(path, "/")
	for i, p := range parts {
		if p == "" || p == "." || p == ".." {
			return "", bad("path", "has to be of names with slashes between them")
		}
		parts[i] = url.PathEscape(p)
	}
	return strings.Join(parts, "/"), nil
}

// version reads the version of a KV engine. The default is 2.
func version(config map[string]any) (int, error) {
	switch config["kv_version"] {
	case nil, "", 2, 2.0, "2":
		return 2, nil
	case 1, 1.0, "1":
		return 1, nil
	default:
		return 0, bad("kv_version", "has to be 1 or 2")
	}
}

// versionedPath inserts "data" after the first part of a path: version 2 of the API reads secret/app at
// secret/data/app. A path that has "data" between two parts already is returned unchanged. An engine whose mount has
// slashes needs that form.
func versionedPath(path string) (string, error) {
	parts := strings.Split(path, "/")
	if len(parts) < 2 {
		return "", bad("path", "has to name the engine's mount and a secret in it")
	}
	for _, p := range parts[1 : len(parts)-1] {
		if p == "data" {
			return path, nil
		}
	}
	return parts[0] + "/data/" + strings.Join(parts[1:], "/"), nil
}
