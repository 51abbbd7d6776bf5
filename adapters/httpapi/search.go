package httpapi

import (
	"cmp"
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/near"
	"github.com/writ-automation/writ/ports/runs"
)

// Bounds of a search.
const (
	maxQuery = 1000
	maxTerms = 32
)

// RunStatuses reads lists of states, each with commas. The fault of an unknown one names where.
func RunStatuses(where string, values []string) ([]runs.Status, error) {
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

// SearchRuns reads the search q of a list of runs into the filter. An invalid search is an Invalid fault.
func SearchRuns(f *runs.Filter, q string) error {
	if len(q) > maxQuery {
		return fault.BadField("q", "is longer than %d bytes", maxQuery)
	}
	parts, err := SearchTerms(q)
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

// SearchTerm is one piece of a search: a word without a key, or a key with its value.
type SearchTerm struct{ Key, Value string }

var toolNameForm = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// SearchKeys lists the keys of terms.
func SearchKeys() []string {
	return []string{"status", "tool", "source", "actor", "host", "label", "change", "template", "queue"}
}

// searchKeyForm is what a term begins with. Anything else before a colon is part of a word: a time, a drive, an image
// with a version. A URL is a word too.
var searchKeyForm = lazyregexp.New(`^[a-z_]+:($|[^/]|/[^/]|/$)`)

// SearchTerms splits a search at white space outside of quotes. A quoted phrase consists of words, even if it contains
// colons.
func SearchTerms(q string) ([]SearchTerm, error) {
	var out []SearchTerm
	var b strings.Builder
	var wrong error
	quoted, literal := false, false
	flush := func() {
		more, err := splitSearch(b.String(), literal)
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

// splitSearch returns the term that s is, or its words. Something like a term that does not exist is an Invalid fault.
func splitSearch(s string, literal bool) ([]SearchTerm, error) {
	if !literal && searchKeyForm.MatchString(s) {
		k, v, _ := strings.Cut(s, ":")
		if !slices.Contains(SearchKeys(), k) {
			return nil, unknownSearchKey(k)
		}
		return []SearchTerm{{Key: k, Value: v}}, nil
	}
	var out []SearchTerm
	for _, w := range strings.Fields(s) {
		out = append(out, SearchTerm{Value: w})
	}
	return out, nil
}

func unknownSearchKey(k string) error {
	meant := ""
	for _, known := range SearchKeys() {
		if near.Edits([]rune(k), []rune(known), 3) < 3 {
			meant = " Did you mean " + known + ":?"
			break
		}
	}
	return fault.BadField("q", "%q is no term.%s Terms are %s:. A word with a colon needs quotes.", k+":", meant,
		strings.Join(SearchKeys(), ":, "))
}

// into adds the term to the filter. A second, different value of a field is an error.
func (t SearchTerm) into(f *runs.Filter) error {
	where := "q"
	if t.Key == "" {
		f.Terms = append(f.Terms, t.Value)
		return nil
	}
	where = "q." + t.Key
	if t.Value == "" {
		return fault.BadField(where, "has no value")
	}
	switch t.Key {
	case "status":
		if f.Statuses != nil {
			return fault.BadField(where, "is given twice; separate several with commas")
		}
		var err error
		f.Statuses, err = RunStatuses(where, []string{t.Value})
		return err
	case "source":
		return searchSources(f, where, t.Value)
	case "label":
		return searchLabel(f, where, t.Value)
	case "tool":
		if !toolNameForm.MatchString(t.Value) {
			return fault.BadField(where, "is not a name")
		}
		return oneValue(&f.Tool, where, t.Value)
	case "actor":
		return oneValue(&f.Actor, where, t.Value)
	case "host":
		return oneValue(&f.Host, where, t.Value)
	case "change":
		return oneValue(&f.Change, where, t.Value)
	case "template":
		if f.Templates != nil && f.Templates[0] != t.Value {
			return fault.BadField(where, "is given twice")
		}
		f.Templates = []string{t.Value}
		return nil
	default:
		return oneValue(&f.Queue, where, t.Value)
	}
}

func oneValue(field *string, where, v string) error {
	if *field != "" && *field != v {
		return fault.BadField(where, "is given twice")
	}
	*field = v
	return nil
}

func searchSources(f *runs.Filter, where, list string) error {
	if f.Sources != nil {
		return fault.BadField(where, "is given twice; separate several with commas")
	}
	all := []runs.Source{
		runs.FromAPI, runs.FromTemplate, runs.FromSchedule, runs.FromTrigger, runs.FromRerun, runs.FromRetry,
		runs.FromRelaunch, runs.FromReconcile, runs.FromProposal, runs.FromImport, runs.FromPlan,
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

func searchLabel(f *runs.Filter, where, v string) error {
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
