package execution

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

// RelaySecrets is an Injection in its form for the worker. It contains secrets in the clear: it is made right before
// it is sent, and never stored.
type RelaySecrets struct {
	Env       map[string]string          `json:"env,omitempty"`
	ExtraVars map[string]json.RawMessage `json:"extra_vars,omitempty"`
	Files     []RelayFile                `json:"files,omitempty"`
	Keys      []RelayKey                 `json:"keys,omitempty"`
	Login     RelayLogin                 `json:"login,omitzero"`
	Hide      []string                   `json:"hide,omitempty"`
}

// RelayFile is a file of a credential.
type RelayFile struct {
	Name    string `json:"name"`
	Content []byte `json:"content"`
}

// RelayKey is a private key.
type RelayKey struct {
	PrivateKey string `json:"private_key"`
	Comment    string `json:"comment,omitempty"`
}

// RelayLogin holds the login of a playbook on its hosts.
type RelayLogin struct {
	User           string       `json:"user,omitempty"`
	Password       string       `json:"password,omitempty"`
	BecomeMethod   string       `json:"become_method,omitempty"`
	BecomeUser     string       `json:"become_user,omitempty"`
	BecomePassword string       `json:"become_password,omitempty"`
	Vaults         []RelayVault `json:"vaults,omitempty"`
}

// RelayVault is a password of Ansible Vault.
type RelayVault struct {
	ID       string `json:"id"`
	Password string `json:"password"`
}

// NewRelaySecrets reveals an injection for its worker.
func NewRelaySecrets(in *secrets.Injection) (*RelaySecrets, error) {
	out := &RelaySecrets{Login: RelayLogin{
		User: in.Login.User, Password: in.Login.Password.Reveal(), BecomeMethod: in.Login.BecomeMethod,
		BecomeUser: in.Login.BecomeUser, BecomePassword: in.Login.BecomePassword.Reveal(),
	}}
	for _, v := range in.Login.Vaults {
		out.Login.Vaults = append(out.Login.Vaults, RelayVault{ID: v.ID, Password: v.Password.Reveal()})
	}
	if len(in.Env) > 0 {
		out.Env = make(map[string]string, len(in.Env))
	}
	for k, v := range in.Env {
		out.Env[k] = v.Reveal()
	}
	if len(in.ExtraVars) > 0 {
		out.ExtraVars = make(map[string]json.RawMessage, len(in.ExtraVars))
	}
	for k, v := range in.ExtraVars {
		raw, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("the variable %s of a credential: %T cannot be sent", k, v)
		}
		out.ExtraVars[k] = raw
	}
	for _, f := range in.Files {
		out.Files = append(out.Files, RelayFile{Name: f.Name, Content: []byte(f.Content.Reveal())})
	}
	for _, k := range in.Keys {
		out.Keys = append(out.Keys, RelayKey{PrivateKey: k.PrivateKey.Reveal(), Comment: k.Comment})
	}
	for _, h := range in.Hide {
		out.Hide = append(out.Hide, h.Reveal())
	}
	return out, nil
}

// Injection returns the injection of a body. Numbers keep their digits.
func (s *RelaySecrets) Injection() (secrets.Injection, error) {
	if s == nil {
		return secrets.Injection{}, nil
	}
	out := secrets.Injection{Login: secrets.Login{
		User: s.Login.User, Password: secret.Text(s.Login.Password), BecomeMethod: s.Login.BecomeMethod,
		BecomeUser: s.Login.BecomeUser, BecomePassword: secret.Text(s.Login.BecomePassword),
	}}
	for _, v := range s.Login.Vaults {
		out.Login.Vaults = append(out.Login.Vaults, secrets.Vault{ID: v.ID, Password: secret.Text(v.Password)})
	}
	if len(s.Env) > 0 {
		out.Env = make(map[string]secret.Text, len(s.Env))
	}
	for k, v := range s.Env {
		out.Env[k] = secret.Text(v)
	}
	if len(s.ExtraVars) > 0 {
		out.ExtraVars = make(map[string]any, len(s.ExtraVars))
	}
	for k, raw := range s.ExtraVars {
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber()
		var v any
		if err := dec.Decode(&v); err != nil {
			return secrets.Injection{}, fmt.Errorf("the variable %s of a credential is no JSON", k)
		}
		out.ExtraVars[k] = v
	}
	for _, f := range s.Files {
		out.Files = append(out.Files, secrets.File{Name: f.Name, Content: secret.Text(f.Content)})
	}
	for _, k := range s.Keys {
		out.Keys = append(out.Keys, secrets.Key{PrivateKey: secret.Text(k.PrivateKey), Comment: k.Comment})
	}
	for _, h := range s.Hide {
		out.Hide = append(out.Hide, secret.Text(h))
	}
	return out, nil
}
