package semaphore

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/writ-automation/writ/adapters/importers/draft"
	"github.com/writ-automation/writ/ports/importer"
	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/reserved"
	"github.com/writ-automation/writ/ports/runs"
)

// Bounds of texts, those of the server.
const (
	maxShort = 100
	maxName  = 255
	maxPath  = 4096
	maxPart  = 64 << 10
)

// record is an object of a backup. It knows which members were read, so that the others can be reported.
type record struct {
	ref    string
	values map[string]any
	taken  map[string]bool
}

func newRecord(ref string, v any) *record {
	values, _ := v.(map[string]any)
	return &record{ref: ref, values: values, taken: map[string]bool{"id": true, "project_id": true, "name": true}}
}

func (r *record) take(name string) any {
	r.taken[name] = true
	return r.values[name]
}

func (r *record) text(name string) string { return text(r.take(name)) }

func (r *record) line(name string) string { return strings.TrimSpace(r.text(name)) }

func (r *record) flag(name string) bool { return r.text(name) == "true" }

func (r *record) number(name string) int {
	n, _ := strconv.Atoi(r.text(name))
	return n
}

func (r *record) list(name string) []any {
	v := r.take(name)
	if s, ok := v.(string); ok { // old backups have the list as its text
		v = parsed(s)
	}
	list, _ := v.([]any)
	return list
}

// rest warns of the members that were not read and are set.
func (r *record) rest(o *importer.Object, prefix string) {
	for _, name := range slices.Sorted(maps.Keys(r.values)) {
		if !r.taken[name] && !blank(r.values[name]) {
			draft.Warn(o, prefix+reserved.Shown(name), "This setting has no place here and is not kept.")
		}
	}
}

// text returns a scalar as text.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	default:
		return ""
	}
}

// blank reports whether a value is what a member has that nobody set.
func blank(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case []any:
		return len(v) == 0
	case map[string]any:
		return !slices.ContainsFunc(slices.Collect(maps.Values(v)), func(v any) bool { return !blank(v) })
	default:
		return slices.Contains([]string{"", "false", "0", "{}", "[]", "null"}, strings.TrimSpace(text(v)))
	}
}

func short(s string, limit int) string {
	s = strings.TrimSpace(strings.ReplaceAll(s, "\x00", ""))
	if utf8.RuneCountInString(s) > limit {
		s = string([]rune(s)[:limit])
	}
	return s
}

func oneLine(s string, limit int) bool { return object.Line(s, limit) && len(s) <= limit }

var (
	// userInfo matches an address with a password.
	userInfo = lazyregexp.New(`[A-Za-z][A-Za-z0-9+.-]*://[^/\s@]*:[^/\s]*@`)
	scp      = lazyregexp.New(
		`^([A-Za-z0-9_.~][A-Za-z0-9_.~+%-]{0,127})@([^@:/\[\]\s]+|\[[0-9A-Fa-f:.]+\]):([^:\s].*)$`)
)

// secret reports whether the value of a name is a secret, by the name or the value.
func secret(name, value string) bool {
	if strings.TrimSpace(value) == "" {
		return false
	}
	return runs.LooksSecret(name) || userInfo.MatchString(value) || strings.Contains(value, "$ANSIBLE_VAULT;") ||
		strings.Contains(value, "PRIVATE KEY")
}

// reference is a text that is one expression without a literal text, which holds no secret itself.
var reference = lazyregexp.New(`^\s*\{\{[^'"{}]*\}\}\s*$`)

const maxDepth = 60

// clean returns a value without its secrets and without what the server refuses, and whether anything of it is kept.
func clean(o *importer.Object, at string, v any, hidden bool, depth int) (any, bool) {
	if depth > maxDepth {
		draft.Need(o, at, "The value is nested too deeply and is left out.")
		return nil, false
	}
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			path := reserved.Path(at, "."+reserved.Shown(name))
			if name == "" || len(name) > maxName || strings.ContainsRune(name, 0) || runs.ReservedMember(name) {
				draft.Need(o, path, "The server does not take a variable of this name, which is left out.")
				continue
			}
			if kept, ok := clean(o, path, v[name], hidden || runs.LooksSecret(name), depth+1); ok {
				out[name] = kept
			}
		}
		return out, true
	case []any:
		out := make([]any, 0, len(v))
		for _, value := range v {
			if kept, ok := clean(o, at, value, hidden, depth+1); ok {
				out = append(out, kept)
			}
		}
		return out, true
	case bool, nil:
		return v, true
	}
	s := text(v)
	switch {
	case hidden && s != "" && !reference.MatchString(s), secret("", s):
		draft.Need(o, at, "A secret is left out; keep it in a credential.")
		return nil, false
	case strings.ContainsRune(s, 0):
		draft.Need(o, at, "A text with a NUL character is left out.")
		return nil, false
	}
	return v, true
}

// address returns an address that the server takes, without its password, or why it takes none.
func address(s string) (out string, hidden bool, reason string) {
	const most = 2000
	switch {
	case s == "":
		return "", false, "The repository has no address."
	case !oneLine(s, most) || strings.HasPrefix(s, "-"):
		return "", false, "The address is not one line of text."
	case scp.MatchString(s):
		return s, false, ""
	case !strings.Contains(s, "://"), strings.HasPrefix(s, "file:"):
		return "", false, "The repository is a path of the machine there; a project has an address that executors reach."
	}
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Hostname() == "":
		return "", false, "The address is not valid."
	case !slices.Contains([]string{"https", "ssh", "git"}, u.Scheme):
		return "", false, "The server takes addresses with https, ssh and git, and this one has another scheme."
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return "", false, "The address has a query or a fragment, which the server does not take."
	}
	if u.User != nil {
		_, hidden = u.User.Password()
		switch name := u.User.Username(); {
		case u.Scheme != "ssh":
			hidden, u.User = true, nil
		case name == "":
			u.User = nil
		default:
			u.User = url.User(name)
		}
	}
	return u.String(), hidden, ""
}
