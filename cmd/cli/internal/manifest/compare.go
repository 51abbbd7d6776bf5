package manifest

import (
	"regexp"
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/runs"
)

var maskedAddress = regexp.MustCompile(`^[a-z][a-z0-9+.-]*://[^/?#]*/?\*\*\*$`)

// Change is a member that differs.
type Change struct {
	Member string
	// Lines tell how: each begins with "- " for what is, "+ " for what will be, and two blanks for what is around it.
	// Secrets are masked in them.
	Lines []string
}

// Compare tells what an update changes. Both are members as documents have them, with references resolved.
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

// hiddenValue is what a diff says where it may not show what changes.
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

// ending tells a text that does not end with a line break from one that does.
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

// maskSecrets masks what is secret, by the member and by the names of variables.
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

// mask shows of an address where it leads, and nothing of any other text.
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
