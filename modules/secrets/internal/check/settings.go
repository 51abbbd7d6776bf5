package check

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/secrets"
)

var (
	becomeMethod = lazyregexp.New(`^[a-z0-9_.]{1,100}$`)
	networkOS    = lazyregexp.New(`^[A-Za-z0-9_.]{1,100}$`)
	// vaultID is a label for a command line of Ansible, where an @ follows it.
	vaultID = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$`)
	// host is the address of a server, as a name or a number, with an optional port or path of a registry.
	host = lazyregexp.New(`^[A-Za-z0-9\[][A-Za-z0-9._:/\[\]-]{0,254}$`)
)

// member returns a member of a list by its name.
func member(list []secrets.Member, name string) (secrets.Member, bool) {
	i := slices.IndexFunc(list, func(m secrets.Member) bool { return m.Name == name })
	if i < 0 {
		return secrets.Member{}, false
	}
	return list[i], true
}

// Settings returns the settings of a credential of a built-in kind in their stored form, without empty ones. Invalid
// faults name settings.<member>.
func Settings(kind secrets.Kind, settings map[string]any) (map[string]any, error) {
	members, out := kind.Members(), map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		at, v := "settings."+name, settings[name]
		m, ok := member(members, name)
		switch {
		case !ok || m.Secret:
			return nil, fault.BadField(at, "is no setting of the kind %s", kind)
		case v == nil:
			continue
		case m.Type == secrets.Bool:
			if _, ok := v.(bool); !ok {
				return nil, fault.BadField(at, "expected boolean")
			}
			out[name] = v
			continue
		}
		s, ok := v.(string)
		if !ok {
			return nil, fault.BadField(at, "expected string")
		}
		if s == "" {
			continue
		}
		if err := setting(at, name, s); err != nil {
			return nil, err
		}
		out[name] = s
	}
	if len(out) == 0 {
		return nil, nil
	}
	return out, nil
}

// setting validates a text for its use.
func setting(at, name, s string) error {
	switch {
	case !object.Line(s, maxSetting):
		return fault.BadField(at, "expected at most %d characters on one line", maxSetting)
	case strings.HasPrefix(s, "-"):
		return fault.BadField(at, "must not begin with a dash")
	case strings.TrimSpace(s) != s:
		return fault.BadField(at, "must not begin or end with a space")
	}
	switch name {
	case "method":
		return matching(at, s, becomeMethod, "the name of a become plugin")
	case "network_os":
		return matching(at, s, networkOS, "the name of a platform")
	case "vault_id":
		return matching(at, s, vaultID, "a vault id of letters, digits, dots, dashes and underscores")
	case "server":
		if strings.Contains(s, "://") {
			return fault.BadField(at, "expected the address of a server, without a scheme")
		}
		return matching(at, s, host, "the address of a server, without a scheme")
	case "env_name":
		return EnvName(at, s)
	case "auth_url":
		return address(at, s)
	default:
		return nil
	}
}

func matching(at, s string, form *lazyregexp.Regexp, what string) error {
	if !form.MatchString(s) {
		return fault.BadField(at, "expected %s", what)
	}
	return nil
}

// address requires the address of a web service. It refuses a user name and a password, since addresses are shown.
func address(at, s string) error {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return fault.BadField(at, "expected an http or https address")
	case u.User != nil:
		return fault.BadField(at, "must not hold a user name or a password")
	default:
		return nil
	}
}
