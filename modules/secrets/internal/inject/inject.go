package inject

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

// EnvName matches the names of environment variables.
var EnvName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,254}$`)

// ownPrefix begins the variables that say how a run is executed; no credential sets one by its secret.
const ownPrefix = "WRIT_"

// Opened is a credential whose secrets are at hand. It prints nothing of them.
type Opened struct {
	secrets.Credential
	Type   secrets.Type // of a custom one
	Secret secrets.Values
}

// part is what is being made of one credential.
type part struct {
	Opened
	out secrets.Injection
}

// Of returns what a credential puts into a run. Its files lie in a directory that is named by the credential's id, so
// that files of several credentials never meet. Members that are not set set nothing. The error goes on from "the
// credential ...: ", holds nothing secret, and tells what is wrong with a secret that was stored or fetched.
func Of(o Opened, keys secrets.KeyReader) (secrets.Injection, error) {
	p := &part{Opened: o, out: secrets.Injection{Env: map[string]secret.Text{}, ExtraVars: map[string]any{}}}
	for _, name := range slices.Sorted(maps.Keys(o.Secret)) {
		if strings.ContainsRune(o.Secret[name].Reveal(), 0) {
			return secrets.Injection{}, fmt.Errorf("%s holds a NUL character", name)
		}
	}
	p.hideSecrets()
	if err := p.fill(keys); err != nil {
		return secrets.Injection{}, err
	}
	return p.out, nil
}

func (p *part) fill(keys secrets.KeyReader) error {
	switch p.Kind {
	case secrets.SSHKey:
		return p.sshKey(keys)
	case secrets.SSHPassword:
		p.out.Login.User, p.out.Login.Password = p.setting("username"), p.Secret["password"]
	case secrets.VaultPassword:
		id := p.setting("vault_id")
		if id == "" {
			id = DefaultVault
		}
		p.out.Login.Vaults = []secrets.Vault{{ID: id, Password: p.Secret["password"]}}
	case secrets.BecomePassword:
		p.out.Login.BecomePassword = p.Secret["password"]
	case secrets.Become:
		p.out.Login.BecomeMethod, p.out.Login.BecomeUser = p.setting("method"), p.setting("username")
		p.out.Login.BecomePassword = p.Secret["password"]
	case secrets.Network:
		p.network()
	case secrets.Env:
		return p.variables()
	case secrets.Token:
		return p.token()
	case secrets.Custom:
		return p.custom()
	default:
		return p.account()
	}
	return nil
}

// account makes what kinds of accounts somewhere else put into a run.
func (p *part) account() error {
	switch p.Kind {
	case secrets.Registry:
		return p.registry()
	case secrets.AWS:
		p.aws()
	case secrets.Azure:
		p.azure()
	case secrets.GCP:
		p.gcp()
	case secrets.VMware:
		p.vmware()
	case secrets.OpenStack:
		p.openStack()
	default:
		return fmt.Errorf("the kind %q is unknown", p.Kind)
	}
	return nil
}

// DefaultVault is the vault id of a vault password that names none.
const DefaultVault = "default"

func (p *part) sshKey(keys secrets.KeyReader) error {
	private, passphrase := p.Secret["private_key"], p.Secret["passphrase"]
	key, err := keys.Unlock(private, passphrase)
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Kind == fault.Invalid {
		return errors.New(f.Message)
	}
	if err != nil {
		return fmt.Errorf("read a private key: %w", err)
	}
	p.out.Keys = []secrets.Key{key}
	p.hide(key.PrivateKey)
	p.out.Login.User = p.setting("username")
	return nil
}

// setting returns a setting that is a text; empty where it is not set.
func (p *part) setting(name string) string {
	s, _ := p.Settings[name].(string)
	return s
}

// env sets variables to a text, none where it is empty.
func (p *part) env(value secret.Text, names ...string) {
	if value == "" {
		return
	}
	for _, name := range names {
		p.out.Env[name] = value
	}
}

// show sets variables to a setting.
func (p *part) show(setting string, names ...string) {
	p.env(secret.Text(p.setting(setting)), names...)
}

// file adds a file and returns its name.
func (p *part) file(name string, content secret.Text) string {
	full := p.directory() + name
	p.out.Files = append(p.out.Files, secrets.File{Name: full, Content: content})
	return full
}

// directory is where the files of the credential lie, with a slash at its end.
func (p *part) directory() string { return p.ID + "/" }

// hide adds texts that are masked, each once.
func (p *part) hide(texts ...secret.Text) {
	for _, t := range texts {
		if t != "" && !slices.Contains(p.out.Hide, t) {
			p.out.Hide = append(p.out.Hide, t)
		}
	}
}

// variable says why nothing may set a variable by a secret.
func variable(name, value string) error {
	switch {
	case !EnvName.MatchString(name):
		return errors.New("a name in it is not one of an environment variable")
	case strings.HasPrefix(name, ownPrefix):
		return errors.New("a name in it begins with " + ownPrefix + ", which the executor sets")
	case strings.ContainsRune(value, 0):
		return errors.New("a value in it holds a NUL character")
	}
	return nil
}
