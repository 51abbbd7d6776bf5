package objects

import (
	"slices"
	"strings"

	"github.com/writ-automation/writ/adapters/web/shell"
)

// field is a field of a form with the widget that shows it.
type field struct {
	shell.FieldSpec
	Member string
	// Widget is picks, suggest, zone, cron, fixed, steps, or empty for what FieldSpec describes.
	Widget  string
	Values  []string // of picks
	Suggest []shell.Choice
	Fires   *fires      // of cron
	Steps   *stepsField // of steps
}

// set reports whether the field has a value that is not that of an empty form.
func (f field) set() bool { return len(f.Values) > 0 || f.Value != "" && f.Value != "false" }

// group is a part of a form.
type group struct {
	Name         string
	Folded, Open bool
	Fields       []field
}

// builder makes the fields of a form.
type builder struct {
	r     *shell.Request
	doc   *document
	kind  *kind
	table table
	// stored is the record, or what a new one begins with. Fresh is the form of a new record.
	stored map[string]any
	fresh  bool
	lists  map[string]*choiceList
}

// groups returns the fields of the body in the groups of the table. Members without a group are in the last one.
func (b *builder) groups(body *schema) []group {
	fields := b.fields(body, "", b.stored)
	var out []group
	if b.kind.Name == "credentials" {
		fields, out = b.credential(fields)
	}
	take := func(member string) (f field, ok bool) {
		i := slices.IndexFunc(fields, func(f field) bool { return f.Member == member })
		if i < 0 {
			return f, false
		}
		f = fields[i]
		fields = slices.Delete(fields, i, i+1)
		return f, true
	}
	var listed []group
	for _, g := range b.table.Groups {
		made := group{Name: g.Name, Folded: g.Folded}
		for _, m := range g.Members {
			if f, ok := take(m); ok {
				made.Fields = append(made.Fields, f)
			}
		}
		if len(made.Fields) > 0 {
			listed = append(listed, made)
		}
	}
	if len(listed) > 0 {
		out = append(append(listed[:1:1], out...), listed[1:]...)
	}
	if len(fields) > 0 {
		out = append(out, group{Name: moreGroup, Fields: fields})
	}
	refused := b.r.Refused(b.operation()) != nil
	for i := range out {
		out[i].Open = refused || slices.ContainsFunc(out[i].Fields, field.set)
	}
	return out
}

func (b *builder) operation() string {
	if b.fresh {
		return b.kind.Create.ID
	}
	return b.kind.Update.ID
}

// fields returns a field for each member that a caller sets. The members of an object that the table expands have
// fields of their own.
func (b *builder) fields(s *schema, prefix string, stored map[string]any) (out []field) {
	for _, name := range s.names() {
		m := b.doc.resolve(s.Properties[name])
		if m == nil || m.ReadOnly || s.Properties[name].ReadOnly {
			continue
		}
		path := prefix + name
		if slices.Contains(b.table.Expand, path) && len(m.Properties) > 0 {
			inner, _ := stored[name].(map[string]any)
			out = append(out, b.fields(m, path+".", inner)...)
			continue
		}
		out = append(out, b.field(path, m, stored[name], slices.Contains(s.Required, name)))
	}
	return out
}

// words returns how a member is worded.
func (b *builder) words(path string) memberSpec {
	w, ok := b.table.Members[path]
	base := common()[path]
	if !ok {
		w = base
	}
	for _, x := range []struct{ to, from *string }{
		{&w.Label, &base.Label}, {&w.Help, &base.Help}, {&w.Widget, &base.Widget}, {&w.Refers, &base.Refers},
		{&w.Default, &base.Default},
	} {
		if *x.to == "" {
			*x.to = *x.from
		}
	}
	if w.Label == "" {
		w.Label = shell.Words(path[strings.LastIndex(path, ".")+1:])
	}
	return w
}

// field returns the field of a member.
func (b *builder) field(path string, s *schema, stored any, required bool) field {
	w := b.words(path)
	f := field{Member: path, FieldSpec: shell.FieldSpec{
		Name: path, Label: w.Label, Help: helpOf(w, s), Required: required, Value: textOf(stored),
	}}
	if b.fresh && stored == nil {
		f.Value = w.Default
	}
	if path == "kind" && !b.fresh {
		f.Widget = "fixed"
		return f
	}
	switch s.Type {
	case "boolean":
		f.Name, f.Kind = path+":bool", "check"
	case "integer", "number":
		f.Name, f.Mode = path+":int", "numeric"
		if s.Type == "number" {
			f.Name, f.Mode = path+":number", "decimal"
		}
	case "string":
		b.text(&f, w, s)
	case "array":
		b.list(&f, w, s, stored)
	default:
		b.object(&f, w, stored)
	}
	return f
}

// text makes the field of a text.
func (b *builder) text(f *field, w memberSpec, s *schema) {
	if w.Keep && !b.fresh {
		f.Name = f.Member + ":text"
	}
	switch {
	case w.Widget == "password" || s.Format == "password" && f.Value == "":
		f.Kind, f.Value, f.Complete = "password", "", "new-password"
		if !b.fresh {
			f.Help = strings.TrimSpace(keepsText + " " + f.Help)
		}
	case len(s.Enum) > 0:
		f.Kind, f.Choices = "select", noneFirst(f.Required, w.None)
		for _, c := range s.choices() {
			f.Choices = append(f.Choices, shell.Choice{Value: c, Label: shell.Words(c)})
		}
	case w.Refers == "queues" || w.Widget == "tool":
		f.Widget, f.Suggest = "suggest", b.suggestions(w)
	case w.Refers != "":
		b.refer(f, w)
	case w.Widget == "area" || w.Widget == "code":
		f.Kind, f.Lines, f.Mono = "area", w.Lines, w.Widget == "code"
	case w.Widget != "":
		f.Widget = w.Widget
	}
	if f.Widget == "cron" {
		b.cron(f)
	}
}

// list makes the field of a list.
func (b *builder) list(f *field, w memberSpec, s *schema, stored any) {
	items := b.doc.resolve(s.Items)
	several := ":many"
	if s.MinItems > 0 {
		several = ":some"
	}
	switch {
	case w.Widget == "steps" && items != nil:
		b.steps(f, w, s, stored)
	case items == nil || items.Type != "string":
		b.object(f, w, stored)
	case len(items.Enum) > 0:
		f.Name, f.Widget, f.Values, f.Value = f.Member+several, "picks", textsOf(stored), ""
		for _, c := range items.choices() {
			f.Choices = append(f.Choices, shell.Choice{Value: c, Label: shell.Words(c)})
		}
	case w.Refers != "" && b.listOf(w.Refers).complete:
		f.Name, f.Widget, f.Values, f.Value = f.Member+several, "picks", textsOf(stored), ""
		f.Choices = withMissing(b.listOf(w.Refers).rows, f.Values...)
	default:
		f.Name, f.Kind = f.Member+":lines", "area"
		if w.Keep && !b.fresh {
			f.Name = f.Member + ":set"
		}
		if f.Help == "" {
			f.Help = linesHelp
		}
	}
}

// object makes the field of a nested value: JSON, or lines of name=value.
func (b *builder) object(f *field, w memberSpec, stored any) {
	f.Kind, f.Mono, f.Lines = "area", true, w.Lines
	if text, ok := pairsOf(stored); ok && w.Widget == "pairs" {
		f.Name, f.Value = f.Member+":pairs", text
		return
	}
	f.Name, f.Value = f.Member+":json", jsonOf(stored)
	if list, ok := stored.([]any); ok && len(list) == 0 && w.Keep {
		f.Value = "[]"
	}
	f.Help = strings.TrimSpace(f.Help + " " + jsonHelp)
}

func noneFirst(required bool, none string) []shell.Choice {
	switch {
	case required:
		return []shell.Choice{{Label: chooseText}}
	case none == "":
		none = noneText
	}
	return []shell.Choice{{Label: none}}
}

// helpOf returns what is under a field: the words of the table or those of the API, and the bounds of a number.
func helpOf(w memberSpec, s *schema) string {
	help := w.Help
	if help == "" {
		help = s.Description
	}
	if s.Minimum != nil && s.Maximum != nil && *s.Maximum < mostShown {
		help = strings.TrimSpace(help + " " + boundsText(int64(*s.Minimum), int64(*s.Maximum)))
	}
	return help
}

// mostShown is the largest upper bound that is worth a sentence.
const mostShown = 1_000_000
