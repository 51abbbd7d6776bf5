package awx

import (
	"maps"
	"slices"
	"strings"

	"github.com/writ-automation/writ/adapters/importers/draft"
	"github.com/writ-automation/writ/ports/importer"
	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/reserved"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secrets"
)

var (
	identifier = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]{0,99}$`)
	fileName   = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$`)
	envName    = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]{0,254}$`)
	// raw and spaced are how exports that were prepared for a playbook write braces.
	raw    = lazyregexp.New(`\{%\s*(end)?raw\s*%\}`)
	spaced = lazyregexp.New(`\{\s+\{`)
	// filePath is a reference to the path of a file of the product.
	filePath = lazyregexp.New(`\{\{\s*tower\.filename(?:\.([A-Za-z0-9_.-]+))?\s*\}\}`)
)

// Bounds of a credential type, those of the server.
const (
	maxFields   = 50
	maxChoices  = 200
	maxLabel    = 200
	maxInjected = 100
	onlyFile    = "file" // the name of the file of a type that has one
)

func (x *reader) credentialType(e *entry, r *record) {
	o := x.put(e, importer.CredentialType)
	r.described(o)
	inputs := r.child("inputs")
	required := map[string]bool{}
	for _, name := range inputs.list("required") {
		required[text(name)] = true
	}
	for i, v := range inputs.list("fields") {
		f := newRecord("", v)
		if i == maxFields {
			draft.Need(o, "inputs.fields", "Only %d fields are kept.", maxFields)
			break
		}
		field(o, e, f, required)
		f.rest(o, "inputs.fields."+reserved.Shown(f.text("id"))+".")
	}
	if len(e.fields) == 0 {
		lose(o, "A credential type needs fields, and this one has none that the server takes.")
		return
	}
	spec := importer.CredentialTypeSpec{Fields: e.fields}
	injectors(o, e, &spec.Inject, r.child("injectors"))
	draft.Map(o, "The inputs became fields, and the injectors what a credential adds to a run.")
	o.Spec = &spec
	inputs.rest(o, "inputs.")
	r.skip("kind")
	r.rest(o, "")
}

// field adds a field of a type.
func field(o *importer.Object, e *entry, f *record, required map[string]bool) {
	at := "inputs.fields." + reserved.Shown(f.text("id"))
	out := importer.TypeField{Name: f.text("id"), Label: f.line("label"), Type: "text", Secret: f.flag("secret"),
		Required: required[f.text("id")]}
	if !identifier.MatchString(out.Name) || out.Name == "files" ||
		slices.ContainsFunc(e.fields, func(x importer.TypeField) bool { return x.Name == out.Name }) {
		draft.Need(o, at, "The name of the field is none that the server takes, so the field is left out.")
		return
	}
	if !object.Line(out.Label, maxLabel) {
		draft.Warn(o, at+".label", "The label is not one line of at most %d characters and is not kept.", maxLabel)
		out.Label = ""
	}
	for _, c := range f.list("choices") {
		s := text(c)
		if s == "" || !object.Line(s, maxLabel) || slices.Contains(out.Choices, s) || len(out.Choices) == maxChoices {
			draft.Warn(o, at+".choices", "A choice is not kept, because the server does not take it.")
			continue
		}
		out.Choices = append(out.Choices, s)
	}
	switch multiline := f.flag("multiline"); {
	case f.text("type") == "boolean":
		out.Type, out.Choices = "bool", nil
	case len(out.Choices) > 0:
		out.Type = "choice"
	case multiline || f.text("format") == "ssh_private_key":
		out.Type = "multiline"
	}
	f.skip("type", "format", "ask_at_runtime")
	if f.line("help_text") != "" {
		draft.Warn(o, at+".help_text", "The help of the field is not kept.")
	}
	switch v := f.take("default"); {
	case blank(v):
	case out.Secret:
		draft.Need(o, at+".default", "The default of a secret is left out.")
	case out.Type == "bool":
		out.Default = truth(v)
	case out.Type == "choice" && !slices.Contains(out.Choices, text(v)), !object.Line(text(v), maxPart):
		draft.Need(o, at+".default", "The default is none that the server takes, and is left out.")
	default:
		out.Default = text(v)
	}
	if out.Required && !out.Secret && out.Default == nil {
		out.Required = false
		draft.Warn(o, at, "The field is not required, since a credential of an export may lack its value.")
	}
	e.fields = append(e.fields, out)
}

// injectors sets what credentials of a type add to runs.
func injectors(o *importer.Object, e *entry, out *importer.TypeInject, r *record) {
	files := r.child("file")
	for _, name := range slices.Sorted(maps.Keys(files.values)) {
		at, own := "injectors.file."+reserved.Shown(name), onlyFile
		if _, after, ok := strings.Cut(name, "."); ok {
			own = after
		}
		s, ok := translate(o, at, e, nil, text(files.take(name)))
		if !fileName.MatchString(own) || !ok || len(out.Files) == maxInjected {
			draft.Need(o, at, "The file is left out, because the server does not take its name or its template.")
			continue
		}
		put(&out.Files, own, s)
	}
	env := r.child("env")
	for _, name := range slices.Sorted(maps.Keys(env.values)) {
		at := "injectors.env." + reserved.Shown(name)
		s, ok := translate(o, at, e, out.Files, text(env.take(name)))
		if !envName.MatchString(name) || strings.HasPrefix(name, "WRIT_") || !ok || len(out.Env) == maxInjected ||
			slices.Contains([]string{"PATH", "LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT"}, name) {
			draft.Need(o, at, "The variable is left out, because the server does not take its name or its template.")
			continue
		}
		put(&out.Env, name, s)
	}
	vars := r.child("extra_vars")
	for _, name := range slices.Sorted(maps.Keys(vars.values)) {
		at := "injectors.extra_vars." + reserved.Shown(name)
		v, ok := tree(o, at, e, out.Files, vars.take(name), 0)
		if !identifier.MatchString(name) || runs.ReservedMember(name) || !ok || len(out.ExtraVars) == maxInjected {
			draft.Need(o, at, "The variable is left out, because the server does not take its name or its template.")
			continue
		}
		put(&out.ExtraVars, name, v)
	}
	r.rest(o, "injectors.")
}

func put[V any](m *map[string]V, name string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[name] = v
}

// tree translates the texts of a value.
func tree(o *importer.Object, at string, e *entry, files map[string]string, v any, depth int) (any, bool) {
	switch v := v.(type) {
	case string:
		return translate(o, at, e, files, v)
	case []any:
		out, all := make([]any, len(v)), depth < maxDepth
		for i := range v {
			if all {
				out[i], all = tree(o, at, e, files, v[i], depth+1)
			}
		}
		return out, all
	case map[string]any:
		out, all := make(map[string]any, len(v)), depth < maxDepth
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if all = all && !runs.ReservedMember(name); all {
				out[name], all = tree(o, at, e, files, v[name], depth+1)
			}
		}
		return out, all
	default:
		return v, true
	}
}

// translate translates a template, and reports whether it names only fields and files.
func translate(o *importer.Object, at string, e *entry, files map[string]string, s string) (string, bool) {
	if raw.MatchString(s) {
		s = spaced.Get().ReplaceAllLiteralString(raw.Get().ReplaceAllLiteralString(s, ""), "{{")
		draft.Map(o, "The marks for raw text around %s are left out.", at)
	}
	s = filePath.Get().ReplaceAllStringFunc(s, func(found string) string {
		name := onlyFile
		if m := filePath.Get().FindStringSubmatch(found); m[1] != "" {
			name = m[1]
		}
		return "{{files." + name + "}}"
	})
	if len(s) > maxPart || strings.ContainsRune(s, 0) || strings.Contains(s, "{%") || hidden(s) {
		return "", false
	}
	for _, m := range secrets.Placeholder.Get().FindAllStringSubmatch(s, -1) {
		name, file := strings.CutPrefix(m[1], "files.")
		if _, ok := files[name]; file && !ok {
			return "", false
		}
		if !file && !slices.ContainsFunc(e.fields, func(f importer.TypeField) bool { return f.Name == name }) {
			return "", false
		}
	}
	return s, !strings.Contains(secrets.Placeholder.Get().ReplaceAllLiteralString(s, " "), "{{")
}
