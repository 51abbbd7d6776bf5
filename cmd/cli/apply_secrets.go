package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/writ-automation/writ/cmd/cli/internal/manifest"
	"github.com/writ-automation/writ/ports/secrets"
)

// maxSecretFile bounds the file of a secret, as the server bounds a request.
const maxSecretFile = 1 << 20

// givenSecret is a value of --secret: CREDENTIAL.MEMBER=@FILE or CREDENTIAL.MEMBER=env:VARIABLE.
type givenSecret struct {
	credential, member string
	value              string
}

// readSecrets reads the values of --secret. No message contains a value.
func readSecrets(w environment, flags []string) ([]*givenSecret, error) {
	var out []*givenSecret
	for _, f := range flags {
		at := max(strings.LastIndex(f, "=@"), strings.LastIndex(f, "=env:"))
		if at < 0 {
			return nil, usagef("--secret: expected CREDENTIAL.MEMBER=@FILE or CREDENTIAL.MEMBER=env:VARIABLE, " +
				"since others can read a command line")
		}
		left, right := f[:at], f[at+1:]
		g := &givenSecret{}
		dot := strings.LastIndexByte(left, '.')
		if rest, ok := strings.CutSuffix(left[:max(dot, 0)], ".source"); ok {
			g.credential, g.member = rest, "source."+left[dot+1:]
		} else if dot > 0 {
			g.credential, g.member = left[:dot], left[dot+1:]
		}
		if g.credential == "" || g.member == "" {
			return nil, usagef("--secret %s: expected CREDENTIAL.MEMBER before the =", left)
		}
		if variable, ok := strings.CutPrefix(right, "env:"); ok {
			if g.value = w.env(variable); g.value == "" {
				return nil, fmt.Errorf("--secret %s: the environment has no %s", left, variable)
			}
		} else {
			raw, err := readBounded(right[1:])
			if err != nil {
				return nil, fmt.Errorf("--secret %s: %w", left, err)
			}
			g.value = raw
		}
		out = append(out, g)
	}
	return out, nil
}

func readBounded(name string) (string, error) {
	f, err := os.Open(name) //nolint:gosec // the user names the file
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	raw, err := io.ReadAll(io.LimitReader(f, maxSecretFile+1))
	if err == nil && len(raw) > maxSecretFile {
		err = fmt.Errorf("%s is larger than %d MiB", name, maxSecretFile>>20)
	}
	return string(raw), err
}

// secretsOf returns the secret members that requests for documents need, by their paths in the body.
func secretsOf(docs []*manifest.Document, given []*givenSecret) (map[*manifest.Document]map[string]any, error) {
	out := make(map[*manifest.Document]map[string]any)
	for _, g := range given {
		var found *manifest.Document
		for _, d := range docs {
			if d.Kind != manifest.Credential || g.credential != d.Name && g.credential != d.Org+"/"+d.Name {
				continue
			}
			if found != nil {
				return nil, fmt.Errorf("--secret: several organizations have a credential %q: name one as ORG/NAME", g.credential)
			}
			found = d
		}
		if found == nil {
			return nil, fmt.Errorf("--secret: the files have no credential %q", g.credential)
		}
		v, err := g.typed(found)
		if err != nil {
			return nil, err
		}
		if out[found] == nil {
			out[found] = map[string]any{}
		}
		out[found][g.member] = v
	}
	return out, nil
}

// typed returns the value as the API takes it. A text of one line loses the line break at its end.
func (g *givenSecret) typed(d *manifest.Document) (any, error) {
	if strings.HasPrefix(g.member, "source.") {
		if source, _ := d.Spec["source"].(map[string]any); source == nil {
			return nil, fmt.Errorf("--secret: %s has no source", d.Key)
		}
	}
	kind, _ := d.Spec["kind"].(string)
	members := secrets.Kind(kind).Members()
	i := slices.IndexFunc(members, func(m secrets.Member) bool { return m.Name == g.member && m.Secret })
	if i >= 0 && members[i].Type == secrets.Object {
		var o map[string]any
		if json.Unmarshal([]byte(g.value), &o) != nil {
			return nil, fmt.Errorf("--secret %s.%s: must be a JSON object", g.credential, g.member)
		}
		return o, nil
	}
	if line, ok := strings.CutSuffix(g.value, "\n"); ok && !strings.Contains(line, "\n") {
		return strings.TrimSuffix(line, "\r"), nil
	}
	return g.value, nil
}

// addSecret adds the secrets of the command line to a request for a credential.
func (s *planStep) addSecret(body map[string]any) {
	sealed := make(map[string]any)
	for name, v := range s.secret {
		member, ofSource := strings.CutPrefix(name, "source.")
		if !ofSource {
			sealed[name] = v
			continue
		}
		source, _ := body["source"].(map[string]any)
		config, _ := source["config"].(map[string]any)
		if config = maps.Clone(config); config == nil {
			config = make(map[string]any)
		}
		config[member] = v
		source["config"] = config
	}
	if len(sealed) > 0 {
		body["secret"] = sealed
	}
}

// fills reports whether a stored credential gets the secret of the command line: if it has none. A stored one stays,
// for nobody can tell whether it is the same.
func (p *plan) fills(s *planStep, secret map[string]any) bool {
	has, _ := s.was.row["has_secret"].(bool)
	if len(secret) > 0 && has {
		p.keep = append(p.keep, s.key)
	}
	return len(secret) > 0 && !has
}

// noteSecret notes that a credential has no secret after the step.
func (s *planStep) noteSecret() {
	if s.key.Kind != manifest.Credential || len(s.secret) > 0 || s.doc.Spec["source"] != nil {
		return
	}
	if s.was != nil {
		if has, _ := s.was.row["has_secret"].(bool); has {
			return
		}
	}
	member := "MEMBER"
	kind, _ := s.doc.Spec["kind"].(string)
	for _, m := range secrets.Kind(kind).Members() {
		if m.Secret && m.Required {
			member = m.Name
		}
	}
	s.notes = append(s.notes, fmt.Sprintf(
		"it needs its secret: --secret '%s.%s=@FILE'; runs that use it are refused until then", s.key.Name, member))
}

// lacking lists the new credentials whose source cannot be stored without a secret that nobody gave.
func (h *serverObjects) lacking(
	docs []*manifest.Document, given map[*manifest.Document]map[string]any,
) manifest.Problems {
	var out manifest.Problems
	for _, d := range docs {
		source, _ := d.Spec["source"].(map[string]any)
		engine, _ := source["engine"].(string)
		logins := manifest.SourceLogins(engine)
		if d.Kind != manifest.Credential || h.objects[d.Key] != nil || len(logins) == 0 ||
			slices.ContainsFunc(logins, func(name string) bool { return given[d]["source."+name] != nil }) {
			continue
		}
		var ways []string
		for _, name := range logins {
			ways = append(ways, fmt.Sprintf("--secret '%s.source.%s=@FILE'", d.Name, name))
		}
		out = append(out, d.Problem("spec.source", "a new credential needs the login of its source: %s",
			strings.Join(ways, " or ")))
	}
	return out
}

// clearFields lists the secret fields of custom types that files contain.
func (h *serverObjects) clearFields(docs []*manifest.Document) manifest.Problems {
	types := make(map[manifest.Key][]any)
	for k, o := range h.objects {
		if k.Kind == manifest.CredentialType {
			types[k], _ = o.row["fields"].([]any)
		}
	}
	for _, d := range docs {
		if d.Kind == manifest.CredentialType {
			types[d.Key], _ = d.Spec["fields"].([]any)
		}
	}
	var out manifest.Problems
	for _, d := range docs {
		if of, ok := d.Spec["type"].(manifest.Ref); ok && d.Kind == manifest.Credential {
			out = append(out, manifest.ClearFields(d, types[of.Key])...)
		}
	}
	return out
}
