package inject

import (
	"errors"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

// files begins a placeholder that stands for the path of a file.
const files = "files."

var (
	fileName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,200}$`)
	// fileAsName matches the names of files that are also variables with their paths.
	fileAsName = regexp.MustCompile(`^[A-Z_][A-Z0-9_]*$`)
)

// custom fills the templates of a type. Each text is gone through once: what a value holds is never a template.
func (p *part) custom() error {
	values, switches := p.fields()
	plain := func(text string) string { return replace(text, values, nil) }
	paths := map[string]string{}
	inject := p.Type.Inject
	for _, name := range slices.Sorted(maps.Keys(inject.Files)) {
		if !fileName.MatchString(name) || name == "." || name == ".." {
			return errors.New("its type names a file as no file is named")
		}
		paths[name] = secret.FileMark(p.file(name, secret.Text(plain(inject.Files[name]))))
	}
	for name := range p.Type.Inject.Env {
		p.out.Env[name] = secret.Text(replace(inject.Env[name], values, paths))
	}
	p.tell(paths)
	for name := range inject.ExtraVars {
		p.out.ExtraVars[name] = render(inject.ExtraVars[name], values, switches, paths)
	}
	return nil
}

// tell says in variables where the files are. What the type sets itself stays, and of two names that become one the
// first.
func (p *part) tell(paths map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(paths)) {
		names := []string{secrets.FileVariable + upper(name)}
		if fileAsName.MatchString(name) && !strings.HasPrefix(name, ownPrefix) {
			names = append(names, name)
		}
		for _, n := range names {
			if _, set := p.out.Env[n]; !set {
				p.out.Env[n] = secret.Text(paths[name])
			}
		}
	}
}

// fields returns the texts of all fields, and of the switches among them what they are. A field that is not set has
// its default, a text without one is empty, and a switch without one is off and, as a text, empty.
func (p *part) fields() (values map[string]string, switches map[string]bool) {
	values, switches = map[string]string{}, map[string]bool{}
	for _, f := range p.Type.Fields {
		var value any = f.Default
		if set, ok := p.Fields[f.Name]; ok && !f.Secret {
			value = set
		}
		if text, ok := p.Secret[f.Name]; ok && f.Secret {
			value = text.Reveal()
		}
		switch v := value.(type) {
		case bool:
			values[f.Name] = strconv.FormatBool(v)
		case string:
			values[f.Name] = v
		default:
			values[f.Name] = ""
		}
		if f.Type == secrets.Bool {
			switches[f.Name] = values[f.Name] == "true"
		}
	}
	return values, switches
}

// render fills every text of a value. A text that is nothing but the placeholder of a switch becomes a boolean.
func render(value any, values map[string]string, switches map[string]bool, paths map[string]string) any {
	switch v := value.(type) {
	case string:
		if m := secrets.Placeholder.FindStringSubmatch(v); m != nil && m[0] == v {
			if on, ok := switches[m[1]]; ok {
				return on
			}
		}
		return replace(v, values, paths)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = render(e, values, switches, paths)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, e := range v {
			out[name] = render(e, values, switches, paths)
		}
		return out
	default:
		return value
	}
}

// replace puts values in the places of their placeholders. A placeholder of what does not exist becomes nothing.
func replace(text string, values, paths map[string]string) string {
	return secrets.Placeholder.ReplaceAllStringFunc(text, func(found string) string {
		name := secrets.Placeholder.FindStringSubmatch(found)[1]
		if file, ok := strings.CutPrefix(name, files); ok {
			return paths[file]
		}
		return values[name]
	})
}

// upper makes a name one of a variable: capitals, digits, and underscores for everything else.
func upper(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		default:
			return '_'
		}
	}, name)
}
