package runs

import (
	"context"
	"strings"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/runs"
)

// echo says in words what a search finds: "Failed runs of host web1". It is empty for a search without terms.
func echo(ctx context.Context, q query, f *runs.Filter) string {
	terms, err := httpapi.SearchTerms(q.Q)
	if err != nil || len(terms) == 0 && f.After.IsZero() {
		return ""
	}
	var b strings.Builder
	b.WriteString(subject(f.Statuses))
	for _, t := range terms {
		b.WriteString(clause(t))
	}
	if len(f.Terms) > 0 {
		b.WriteString(" with the " + plural(len(f.Terms), "word", "words") + " " + listed(quoted(f.Terms), "and"))
	}
	if !f.After.IsZero() {
		b.WriteString(" since " + f.After.In(shell.Of(ctx).Zone).Format("Mon 2 Jan 15:04"))
	}
	return b.String() + "."
}

// subject names runs by their states: "Failed or canceled runs".
func subject(states []runs.Status) string {
	words := make([]string, 0, len(states))
	for _, s := range states {
		words = append(words, strings.ToLower(shell.StateOf(s, false).Word))
	}
	if len(words) == 0 {
		return "Runs"
	}
	text := listed(words, "or")
	return strings.ToUpper(text[:1]) + text[1:] + " runs"
}

func clause(t httpapi.SearchTerm) string {
	switch t.Key {
	case "tool":
		return " with " + t.Value
	case "source":
		return " that come from " + listed(strings.Split(t.Value, ","), "or")
	case "actor":
		return " asked by " + t.Value
	case "host":
		return " of host " + t.Value
	case "label":
		return " with the label " + t.Value
	case "change":
		return " of change " + t.Value
	case "template":
		return " of template " + t.Value
	case "queue":
		return " in queue " + t.Value
	}
	return ""
}

func quoted(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = `"` + w + `"`
	}
	return out
}

// listed writes words as a list in prose.
func listed(words []string, last string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " " + last + " " + words[len(words)-1]
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
