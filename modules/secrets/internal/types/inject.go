package types

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-automation/writ/modules/secrets/internal/check"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secrets"
)

// names are the names that the templates of a type may use.
type names struct {
	fields []secrets.Field
	files  map[string]string // nil if the paths of files are not known
}

// injectors validates what a type adds to a run.
func injectors(t secrets.Type) error {
	in := t.Inject
	for member, n := range map[string]int{"env": len(in.Env), "extra_vars": len(in.ExtraVars), "files": len(in.Files)} {
		if n > maxInjected {
			return fault.BadField("inject."+member, "has more than %d members", maxInjected)
		}
	}
	all := names{t.Fields, in.Files}
	for _, name := range slices.Sorted(maps.Keys(in.Env)) {
		at := "inject.env." + name
		if err := check.EnvName(at, name); err != nil {
			return err
		}
		if err := all.template(at, in.Env[name]); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(in.Files)) {
		at := "inject.files." + name
		if !check.FileName(name) {
			return fault.BadField(at, "is no plain name of a file")
		}
		if err := (names{fields: t.Fields}).template(at, in.Files[name]); err != nil {
			return err
		}
	}
	if text, err := json.Marshal(in.ExtraVars); err != nil || len(text) > check.MaxSecret {
		return fault.BadField("inject.extra_vars", "has to have at most %d bytes as JSON", check.MaxSecret)
	}
	for _, name := range slices.Sorted(maps.Keys(in.ExtraVars)) {
		at := "inject.extra_vars." + name
		if !check.Identifier(name) || runs.ReservedMember(name) {
			return fault.BadField(at, "is not the name of a variable")
		}
		if err := all.tree(at, in.ExtraVars[name]); err != nil {
			return err
		}
	}
	return nil
}

// tree validates the strings of a JSON value. Names of members are not templates.
func (n names) tree(at string, v any) error {
	switch v := v.(type) {
	case string:
		return n.template(at, v)
	case []any:
		for i, x := range v {
			if err := n.tree(fmt.Sprintf("%s[%d]", at, i), x); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if runs.ReservedMember(name) {
				return fault.BadField(at, "the name %.64q is reserved for Ansible's marks of values", name)
			}
			if err := n.tree(at+"."+name, v[name]); err != nil {
				return err
			}
		}
	}
	return nil
}

// template validates a text. Text outside of placeholders is literal, except for two opening braces, which indicate a
// mistyped placeholder. Two closing braces end every JSON document of two levels and are literal.
func (n names) template(at, text string) error {
	if err := check.Multiline(at, text); err != nil {
		return err
	}
	for _, found := range secrets.Placeholder.Get().FindAllStringSubmatch(text, -1) {
		if err := n.known(at, found[1]); err != nil {
			return err
		}
	}
	if strings.Contains(secrets.Placeholder.Get().ReplaceAllLiteralString(text, " "), "{{") {
		return fault.BadField(at, "has {{ without the name of a field and }}")
	}
	return nil
}

func (n names) known(at, name string) error {
	file, dotted := strings.CutPrefix(name, filesName+".")
	switch {
	case dotted && n.files == nil:
		return fault.BadField(at, "names a file, whose path is for variables alone")
	case dotted:
		if _, ok := n.files[file]; !ok {
			return fault.BadField(at, "names %q, which is no file of inject.files", name)
		}
	case !slices.ContainsFunc(n.fields, func(f secrets.Field) bool { return f.Name == name }):
		return fault.BadField(at, "names %q, which is no field of the type", name)
	}
	return nil
}
