package manifest

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// rules checks and completes what the members of a kind need together.
func (d *decoder) rules(n, spec *yaml.Node) {
	switch {
	case d.doc.Kind == Credential && spec != nil:
		d.clearSecrets(spec)
	case d.doc.Kind == Grant && n.Kind == yaml.MappingNode:
		for _, name := range []string{"subject", "object", "level"} {
			if d.doc.Spec[name] == nil {
				d.wrong(n, "spec."+name, "is missing")
			}
		}
		d.doc.Identify()
	}
	if _, filled := d.doc.Spec["content"]; filled && d.doc.Kind == Inventory && d.doc.Spec["format"] == nil {
		d.doc.Spec["format"] = "ini"
	}
}

// once checks the last value of a set: it names an object that no other one names.
func (d *decoder) once(n *yaml.Node, at string, out []any) {
	last := len(out) - 1
	switch name := setKey(out[last]); {
	case name == "":
		d.wrong(n, at, "names nobody")
	case slices.ContainsFunc(out[:last], func(v any) bool { return setKey(v) == name }):
		d.wrong(n, at, "names %s twice", name)
	}
}

// subject reads an object of one of several kinds: KIND:NAME.
func (d *decoder) subject(among []string, n *yaml.Node, at string) any {
	word, name, _ := strings.Cut(d.text(n, at), ":")
	for _, kind := range among {
		if word == noun(kind) && name != "" {
			return Ref{Key: Key{Kind: kind, Name: name}, Bare: true}
		}
	}
	var forms []string
	for _, kind := range among {
		forms = append(forms, noun(kind)+":NAME")
	}
	d.wrong(n, at, "must be one of %s", strings.Join(forms, ", "))
	return nil
}
