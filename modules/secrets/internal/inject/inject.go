package inject

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

// EnvName matches the names of environment variables.
var EnvName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]{0,254}$`)

// ownPrefix is the prefix of variables that control the execution of a run; no credential sets one.
const ownPrefix = "WRIT_"

// Opened is a credential with its opened secrets. It prints nothing of them.
type Opened struct {
	secrets.Credential
	Type   secrets.Type // of a custom type
	Secret secrets.Values
}

// Version tells apart the revisions of the credential and of its custom type, also where another type replaces it. It
// is the revision of the credential while its type was not changed.
func (o Opened) Version() int64 { return o.Credential.Revision + max(o.Type.Revision-1, 0)<<32 }

// part collects the injection of one credential.
type part struct {
	Opened
	out secrets.Injection
}

// Of returns what a credential adds to a run. Its files are in a directory named by the credential's id, so that files
// of two credentials never collide. Members without a value add nothing. The error continues "the credential ...: ",
// contains no secret, and describes what is wrong with a stored or fetched secret.
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

// Secrets returns what Of hides, as far as it follows from the stored secrets without reading a private key.
func Secrets(o Opened) []secret.Text {
	p := &part{Opened: o, out: secrets.Injection{Env: map[string]secret.Text{}, ExtraVars: map[string]any{}}}
	p.hideSecrets()
	if o.Kind != secrets.SSHKey {
		_ = p.fill(nil) // a secret that cannot be used is a fault of the run
	}
	return p.out.Hide
}

func (p *part) fill(keys secrets.KeyReader) error {
	switch p.Kind {
	case secrets.SSHKey:
		return p.sshKey(keys)
	case secrets.SSHPassword:
		p.out.Login.User, p.out.Login.Password = p.setting("username"), p.Secret["password"]
	case secrets.VaultPassword:
		id := cmp.Or(p.setting("vault_id"), DefaultVault)
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

// account adds what the kinds for accounts of other services require.
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

// DefaultVault is the vault id of a vault password without one.
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

// setting returns a text setting, or "" if it is not set.
func (p *part) setting(name string) string {
	s, _ := p.Settings[name].(string)
	return s
}

// env sets variables to a text unless it is empty.
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

// directory is the directory of the credential's files, with a trailing slash.
func (p *part) directory() string { return p.ID + "/" }

// hide adds texts that are masked, each once.
func (p *part) hide(texts ...secret.Text) {
	for _, t := range texts {
		if t != "" && !slices.Contains(p.out.Hide, t) {
			p.out.Hide = append(p.out.Hide, t)
		}
	}
}

// variable explains why no secret may set a variable.
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
