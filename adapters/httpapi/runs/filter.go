package runs

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/near"
	"github.com/writ-automation/writ/ports/runs"
)

// Bounds of a list's query.
const (
	defaultRows = 200
	maxRows     = 1000
	maxQuery    = 1000
	maxTerms    = 32
)

// ListInput narrows and pages the run list.
type ListInput struct {
	Limit  httpapi.Count `query:"limit" doc:"Rows of a page: 200 unless given, at most 1000."`
	Offset httpapi.Count `query:"offset"`
	Cursor string        `query:"cursor" doc:"The next_cursor of the page before; stays stable while runs arrive."`
	Status []string      `query:"status,explode" doc:"Repeated, or a list with commas."`
	Tool   string        `query:"tool" pattern:"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$" patternDescription:"the name of a tool"`
	Order  string        `query:"order" enum:"newest,oldest" doc:"newest if absent."`
	Task   string        `query:"task" maxLength:"1000" doc:"Runs in which a task of this name ran."`
	After  string        `query:"after" doc:"Created at or after this instant, RFC 3339."`
	Before string        `query:"before" doc:"Created before this instant, RFC 3339."`
	Q      string        `query:"q" doc:"Words, and the terms status: tool: source: actor: host: label:k=v change: template: queue:. template: takes an id or a name. Quotes hold a value with spaces, and words that look like a term."`
}

// filter reads the query. An invalid value is an Invalid fault that names its parameter.
func (in *ListInput) filter() (runs.Filter, error) {
	f := runs.Filter{
		Tool: in.Tool, Task: in.Task, Oldest: in.Order == "oldest", Limit: in.Limit.Clamp(defaultRows, maxRows),
		Offset: in.Offset.Int(), Cursor: in.Cursor,
	}
	var err error
	if f.Statuses, err = statuses("status", in.Status); err != nil {
		return f, err
	}
	if f.After, err = instant("after", in.After); err != nil {
		return f, err
	}
	if f.Before, err = instant("before", in.Before); err != nil {
		return f, err
	}
	return f, search(&f, in.Q)
}

func statuses(where string, values []string) ([]runs.Status, error) {
	var out []runs.Status
	for _, list := range values {
		for _, v := range strings.Split(list, ",") {
			s := runs.Status(strings.TrimSpace(v))
			if !s.Valid() {
				return nil, fault.NoneOf(where, s, runs.Statuses()...)
			}
			if !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
	}
	return out, nil
}

var nameForm = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

func name(where, v string) (string, error) {
	if v != "" && !nameForm.MatchString(v) {
		return "", fault.BadField(where, "is not a name")
	}
	return v, nil
}

func instant(where, v string) (time.Time, error) {
	if v == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339Nano, v)
	if err != nil {
		return time.Time{}, fault.BadField(where, "is not an RFC 3339 instant")
	}
	return t.UTC(), nil
}

// search reads q into the filter.
func search(f *runs.Filter, q string) error {
	if len(q) > maxQuery {
		return fault.BadField("q", "is longer than %d bytes", maxQuery)
	}
	parts, err := terms(q)
	if err != nil {
		return err
	}
	if len(parts) > maxTerms {
		return fault.BadField("q", "holds more than %d terms", maxTerms)
	}
	for _, p := range parts {
		if err := p.into(f); err != nil {
			return err
		}
	}
	return nil
}

// term is one piece of q: a word without a key, or a key with its value.
type term struct{ key, value string }

// keys are the terms that q knows.
func keys() []string {
	return []string{"status", "tool", "source", "actor", "host", "label", "change", "template", "queue"}
}

// keyForm is what a term begins with. Anything else before a colon is part of a word: a time, a drive, an image with a
// version. A URL is a word too.
var keyForm = lazyregexp.New(`^[a-z_]+:($|[^/]|/[^/]|/$)`)

// terms splits q at white space outside of quotes. A quoted phrase consists of words, even if it contains colons.
func terms(q string) ([]term, error) {
	var out []term
	var b strings.Builder
	var wrong error
	quoted, literal := false, false
	flush := func() {
		more, err := split(b.String(), literal)
		out, wrong = append(out, more...), cmp.Or(wrong, err)
		b.Reset()
		literal = false
	}
	for _, r := range q {
		switch {
		case r == '"':
			if !quoted && b.Len() == 0 {
				literal = true
			}
			quoted = !quoted
		case !quoted && (r == ' ' || r == '\t' || r == '\n' || r == '\r'):
			flush()
		default:
			b.WriteRune(r)
		}
	}
	if quoted {
		return nil, fault.BadField("q", "has a quote without its end")
	}
	flush()
	return out, wrong
}

// split returns the term that s is, or its words. Something like a term that does not exist is an Invalid fault.
func split(s string, literal bool) ([]term, error) {
	if !literal && keyForm.MatchString(s) {
		k, v, _ := strings.Cut(s, ":")
		if !slices.Contains(keys(), k) {
			return nil, unknownKey(k)
		}
		return []term{{key: k, value: v}}, nil
	}
	var out []term
	for _, w := range strings.Fields(s) {
		out = append(out, term{value: w})
	}
	return out, nil
}

func unknownKey(k string) error {
	meant := ""
	for _, known := range keys() {
		if near.Edits([]rune(k), []rune(known), 3) < 3 {
			meant = " Did you mean " + known + ":?"
			break
		}
	}
	return fault.BadField("q", "%q is no term.%s Terms are %s:. A word with a colon needs quotes.", k+":", meant,
		strings.Join(keys(), ":, "))
}

// into adds the term to the filter. A second, different value of a field is an error.
func (t term) into(f *runs.Filter) error {
	where := "q"
	if t.key == "" {
		f.Terms = append(f.Terms, t.value)
		return nil
	}
	where = "q." + t.key
	if t.value == "" {
		return fault.BadField(where, "has no value")
	}
	switch t.key {
	case "status":
		if f.Statuses != nil {
			return fault.BadField(where, "is given twice; separate several with commas")
		}
		var err error
		f.Statuses, err = statuses(where, []string{t.value})
		return err
	case "source":
		return sources(f, where, t.value)
	case "label":
		return label(f, where, t.value)
	case "tool":
		if _, err := name(where, t.value); err != nil {
			return err
		}
		return once(&f.Tool, where, t.value)
	case "actor":
		return once(&f.Actor, where, t.value)
	case "host":
		return once(&f.Host, where, t.value)
	case "change":
		return once(&f.Change, where, t.value)
	case "template":
		if f.Templates != nil && f.Templates[0] != t.value {
			return fault.BadField(where, "is given twice")
		}
		f.Templates = []string{t.value}
		return nil
	default:
		return once(&f.Queue, where, t.value)
	}
}

func once(field *string, where, v string) error {
	if *field != "" && *field != v {
		return fault.BadField(where, "is given twice")
	}
	*field = v
	return nil
}

func sources(f *runs.Filter, where, list string) error {
	if f.Sources != nil {
		return fault.BadField(where, "is given twice; separate several with commas")
	}
	all := []runs.Source{
		runs.FromAPI, runs.FromTemplate, runs.FromSchedule, runs.FromTrigger, runs.FromRerun, runs.FromRetry,
		runs.FromRelaunch, runs.FromReconcile, runs.FromProposal, runs.FromImport,
	}
	for _, v := range strings.Split(list, ",") {
		s := runs.Source(strings.TrimSpace(v))
		if !slices.Contains(all, s) {
			return fault.NoneOf(where, s, all...)
		}
		f.Sources = append(f.Sources, s)
	}
	return nil
}

func label(f *runs.Filter, where, v string) error {
	k, value, ok := strings.Cut(v, "=")
	if !ok || k == "" {
		return fault.BadField(where, "is not of the form label:key=value")
	}
	if old, exists := f.Labels[k]; exists && old != value {
		return fault.BadField(where, "gives one label two values")
	}
	if f.Labels == nil {
		f.Labels = make(map[string]string)
	}
	f.Labels[k] = value
	return nil
}
