package inject

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

// hideSecrets hides every secret value, and the secrets inside of documents. It does not hide switches: that would
// remove the words true and false from the output of the run.
func (p *part) hideSecrets() {
	switches := map[string]bool{}
	for _, f := range p.Type.Fields {
		switches[f.Name] = p.Kind == secrets.Custom && f.Type == secrets.Bool
	}
	for _, name := range slices.Sorted(maps.Keys(p.Secret)) {
		if switches[name] {
			continue
		}
		p.hide(p.Secret[name])
		p.hideInside(p.Secret[name])
	}
}

// hideInside hides the texts of a JSON document whose names indicate a secret, such as the private key of a service
// account.
func (p *part) hideInside(text secret.Text) {
	trimmed := strings.TrimSpace(text.Reveal())
	if !strings.HasPrefix(trimmed, "{") {
		return
	}
	var doc map[string]any
	if json.Unmarshal([]byte(trimmed), &doc) == nil {
		p.hideMembers(doc)
	}
}

func (p *part) hideMembers(value any) {
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if s, ok := v[name].(string); ok && soundsSecret(name) {
				p.hide(secret.Text(s))
			}
			p.hideMembers(v[name])
		}
	case []any:
		for _, e := range v {
			p.hideMembers(e)
		}
	}
}

// soundsSecret excludes addresses and types of secrets, such as token_uri and token_type.
func soundsSecret(name string) bool {
	name = strings.ToLower(name)
	for _, plain := range []string{"_uri", "_url", "_type"} {
		if strings.HasSuffix(name, plain) {
			return false
		}
	}
	for _, marker := range []string{"key", "secret", "token", "password", "passphrase"} {
		if strings.Contains(name, marker) {
			return true
		}
	}
	return false
}
