package manifest

import (
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/runs"
)

var maskedAddress = lazyregexp.New(`^[a-z][a-z0-9+.-]*://[^/?#]*/?\*\*\*$`)

// Change is a member that differs.
type Change struct {
	Member string
	// Lines are the lines of a diff: each begins with "- " for the old text, "+ " for the new text, and two blanks for
	// context. Secrets are masked in them.
	Lines []string
}

// Compare lists the changes of an update. Both arguments are members of documents with resolved references.
func Compare(k Kind, stored, wanted map[string]any) []Change {
	stored, wanted = Normal(k, stored), Normal(k, wanted)
	var out []Change
	members := k.of(wanted)
	for i := range members {
		m := &members[i]
		was, will := stored[m.name], wanted[m.name]
		if same(was, will) || m.retained && will == nil || m.retained && was == nil && will == "" {
			continue
		}
		out = append(out, Change{Member: m.name, Lines: difference(m, was, will)})
	}
	return out
}

// hiddenValue replaces a value that a diff may not show.
const hiddenValue = "  (a secret value)"

func difference(m *member, was, will any) []string {
	a, b := lines(m, was), lines(m, will)
	x, _ := was.(string)
	y, _ := will.(string)
	if strings.Contains(x+y, "\n") && !m.secret {
		a, b = ending(a, x), ending(b, y)
	}
	if slices.Equal(a, b) {
		return []string{hiddenValue}
	}
	return diff(a, b)
}

// ending distinguishes a text without a final line break from one with it.
func ending(lines []string, s string) []string {
	if s == "" || strings.HasSuffix(s, "\n") {
		return lines
	}
	return append(lines, `\ no line break at the end`)
}

// lines renders a value for a diff: a text as its lines, all else as YAML.
func lines(m *member, v any) []string {
	if v == nil {
		return nil
	}
	v = maskSecrets(m, v)
	s, ok := v.(string)
	if !ok {
		raw, err := encodeValue(m, v)
		if err != nil {
			return []string{"(cannot be shown)"}
		}
		s = string(raw)
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

// maskSecrets masks secrets, by the member and by the names of variables.
func maskSecrets(m *member, v any) any {
	switch x := v.(type) {
	case string:
		if m.secret {
			return mask(x)
		}
	case []any:
		return each(v, func(item any) any { return maskSecrets(m, item) })
	case map[string]any:
		out := make(map[string]any, len(x))
		for k, w := range x {
			switch i := slices.IndexFunc(m.fields, func(f member) bool { return f.name == k }); {
			case i >= 0:
				out[k] = maskSecrets(&m.fields[i], w)
			case (m.shape == object || m.shape == pairs) && runs.LooksSecret(k):
				out[k] = stars
			default:
				out[k] = maskSecrets(&member{shape: m.shape, secret: m.secret}, w)
			}
		}
		return out
	}
	return v
}

// mask replaces a text by stars, but keeps scheme and host of an address.
func mask(s string) string {
	if scheme, rest, ok := strings.Cut(s, "://"); ok && scheme != "" && len(scheme) < 10 {
		host, _, _ := strings.Cut(rest, "/")
		if _, after, has := strings.Cut(host, "@"); has {
			host = after
		}
		return scheme + "://" + host + "/" + stars
	}
	return stars
}
