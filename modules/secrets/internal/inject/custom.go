package inject

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/reserved"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

// files is the prefix of placeholders for paths of files.
const files = "files."

var (
	fileName = lazyregexp.New(`^[A-Za-z0-9_.-]{1,200}$`)
	// fileAsName matches the names of files that are also variables with their paths.
	fileAsName = lazyregexp.New(`^[A-Z_][A-Z0-9_]*$`)
)

// custom fills the templates of a type. It expands each text once: values are never templates.
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

// tell sets variables to the paths of the files. It overrides no variable of the type. If two names map to one
// variable, the first wins.
func (p *part) tell(paths map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(paths)) {
		names := []string{secrets.FileVariable + reserved.Upper(name)}
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

// fields returns the texts of all fields, and the values of switches. A field that is not set has its default; a text
// without a default is empty, a switch without one is off and, as a text, empty.
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

// replace replaces placeholders by values. A placeholder of an unknown name becomes empty.
func replace(text string, values, paths map[string]string) string {
	return secrets.Placeholder.Get().ReplaceAllStringFunc(text, func(found string) string {
		name := secrets.Placeholder.FindStringSubmatch(found)[1]
		if file, ok := strings.CutPrefix(name, files); ok {
			return paths[file]
		}
		return values[name]
	})
}
