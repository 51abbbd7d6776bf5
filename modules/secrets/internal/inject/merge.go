package inject

import (
	"maps"
	"reflect"
	"slices"

	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

// Part is what one credential adds to a run.
type Part struct {
	ID        string // of the credential
	Injection secrets.Injection
}

// merger records which credential set each value.
type merger struct {
	out    secrets.Injection
	setBy  map[string]string // the credential that set each name
	vaults map[string]secret.Text
}

// Merge combines what several credentials add to a run. Equal values agree. Otherwise it returns Clash, which names
// both credentials and what they set, and no value.
func Merge(parts []Part) (secrets.Injection, error) {
	m := &merger{
		out:    secrets.Injection{Env: map[string]secret.Text{}, ExtraVars: map[string]any{}},
		setBy:  map[string]string{},
		vaults: map[string]secret.Text{},
	}
	for _, p := range parts {
		if err := m.add(p); err != nil {
			return secrets.Injection{}, err
		}
	}
	return m.out, nil
}

func (m *merger) add(p Part) error {
	for _, name := range slices.Sorted(maps.Keys(p.Injection.Env)) {
		value := p.Injection.Env[name]
		was, set := m.out.Env[name]
		if err := m.set("the environment variable "+name, p.ID, set && was != value); err != nil {
			return err
		}
		m.out.Env[name] = value
	}
	for _, name := range slices.Sorted(maps.Keys(p.Injection.ExtraVars)) {
		value := p.Injection.ExtraVars[name]
		was, set := m.out.ExtraVars[name]
		if err := m.set("the variable "+name, p.ID, set && !reflect.DeepEqual(was, value)); err != nil {
			return err
		}
		m.out.ExtraVars[name] = value
	}
	if err := m.login(p.ID, p.Injection.Login); err != nil {
		return err
	}
	m.out.Files = append(m.out.Files, p.Injection.Files...)
	for _, key := range p.Injection.Keys {
		if !slices.ContainsFunc(m.out.Keys, func(k secrets.Key) bool { return k.PrivateKey == key.PrivateKey }) {
			m.out.Keys = append(m.out.Keys, key)
		}
	}
	for _, text := range p.Injection.Hide {
		if !slices.Contains(m.out.Hide, text) {
			m.out.Hide = append(m.out.Hide, text)
		}
	}
	return nil
}

// set records the credential that sets a name first, and refuses another value.
func (m *merger) set(what, id string, differs bool) error {
	if differs {
		return secrets.Clash.New("the credentials %s and %s cannot be used together: both set %s", m.setBy[what], id, what)
	}
	if m.setBy[what] == "" {
		m.setBy[what] = id
	}
	return nil
}

func (m *merger) login(id string, l secrets.Login) error {
	to := &m.out.Login
	if err := setText(m, id, "the user", &to.User, l.User); err != nil {
		return err
	}
	if err := setText(m, id, "the password of the connection", &to.Password, l.Password); err != nil {
		return err
	}
	if err := setText(m, id, "the method of become", &to.BecomeMethod, l.BecomeMethod); err != nil {
		return err
	}
	if err := setText(m, id, "the user of become", &to.BecomeUser, l.BecomeUser); err != nil {
		return err
	}
	if err := setText(m, id, "the password of become", &to.BecomePassword, l.BecomePassword); err != nil {
		return err
	}
	for _, v := range l.Vaults {
		was, set := m.vaults[v.ID]
		if err := m.set("the vault id "+v.ID, id, set && was != v.Password); err != nil {
			return err
		}
		if !set {
			m.vaults[v.ID] = v.Password
			to.Vaults = append(to.Vaults, v)
		}
	}
	return nil
}

func setText[T ~string](m *merger, id, what string, to *T, value T) error {
	if value == "" {
		return nil
	}
	if err := m.set(what, id, *to != "" && *to != value); err != nil {
		return err
	}
	*to = value
	return nil
}
