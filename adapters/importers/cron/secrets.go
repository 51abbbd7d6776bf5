package cron

import (
	"slices"
	"strings"

	"github.com/writ-automation/writ/adapters/importers/draft"
	"github.com/writ-automation/writ/ports/importer"
	"github.com/writ-automation/writ/ports/reserved"
	"github.com/writ-automation/writ/ports/runs"
)

// looksSecret reports whether a variable holds a secret, by its name or its value.
func looksSecret(name, value string) bool {
	if value == "" || harmless(value) {
		return false
	}
	return runs.LooksSecret(name) || holdsSecret(value)
}

// holdsSecret reports whether a text holds what looks like a secret.
func holdsSecret(text string) bool { return len(find(text)) > 0 }

// hide replaces the secrets of a command by variables that credentials set.
func (s *script) hide(text string) string {
	var b strings.Builder
	end := 0
	for _, p := range find(text) {
		value := text[p.from:p.to]
		env := "SECRET_" + strings.Trim(reserved.Upper(p.name), "_")
		for base, n := env, 2; s.given[env] != "" && s.given[env] != value; n++ {
			env = base + "_" + itoa(n)
		}
		s.credential(env, value, s.object.Name+": "+strings.TrimPrefix(env, "SECRET_"))
		draft.Need(s.object, "command", "a secret in the command is left out: enter it in the credential that sets $%s, and "+
			"check the quotes around it", env)
		b.WriteString(text[end:p.from])
		if value[0] == '"' || value[0] == '\'' {
			b.WriteString(`"${` + env + `}"`)
		} else {
			b.WriteString(`${` + env + `}`)
		}
		end = p.to
	}
	return b.String() + text[end:]
}

// credential gives the template the credential of a secret, which sets a variable.
func (s *script) credential(env, value, name string) {
	if s.given == nil {
		s.given = map[string]string{}
	}
	s.given[env] = value
	r := s.reader
	if r.credentials == nil {
		r.credentials = map[secret]string{}
	}
	key := secret{env, value}
	as, ok := r.credentials[key]
	if !ok {
		if r.file != "." && r.file != "/" {
			name = r.file + ": " + name
		}
		as = r.draft.Name(importer.Credential, name)
		r.credentials[key] = as
		o := importer.Object{Kind: importer.Credential, Name: as, Ref: s.object.Ref,
			Spec: &importer.CredentialSpec{Kind: "token", Settings: map[string]any{"env_name": env}}}
		draft.Need(&o, "secret", "the secret has to be entered: it is not taken from the crontab")
		draft.Map(&o, "The credential sets $%s.", env)
		r.draft.Add(o)
	}
	if !slices.Contains(s.spec.Credentials, as) {
		s.spec.Credentials = append(s.spec.Credentials, as)
	}
}
