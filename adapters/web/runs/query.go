package runs

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
)

// rowsShown is the number of runs of a page.
const rowsShown = 50

// query is what the address of the list holds.
type query struct {
	// Q is a search in the syntax of the API. Since is an age such as 7d, or a date.
	Q, Since string
	// Was is the last search that was valid, for a page that is asked for with a bad one.
	Was string
	// Older and Newer are cursors; both are empty on the newest page.
	Older, Newer string
	// Open is the parent whose children are shown.
	Open string
}

func queryOf(v url.Values) query {
	return query{
		Q: strings.TrimSpace(v.Get("q")), Since: v.Get("since"), Was: v.Get("was"),
		Older: v.Get("older"), Newer: v.Get("newer"), Open: v.Get("open"),
	}
}

// newest reports whether the page is the first one.
func (q query) newest() bool { return q.Older == "" && q.Newer == "" }

// values returns the search without the place in the list.
func (q query) values() url.Values {
	v := url.Values{}
	for name, text := range map[string]string{"q": q.Q, "since": q.Since} {
		if text != "" {
			v.Set(name, text)
		}
	}
	return v
}

// at returns the address of the list for a search.
func (q query) at() string { return address("/ui/runs", q.values()) }

// with returns the address with a further value, such as a cursor.
func (q query) with(name, value string) string {
	v := q.values()
	for n, text := range map[string]string{"older": q.Older, "newer": q.Newer} {
		if text != "" && name != "older" && name != "newer" {
			v.Set(n, text)
		}
	}
	v.Set(name, value)
	return address("/ui/runs", v)
}

func address(path string, v url.Values) string {
	if len(v) == 0 {
		return path
	}
	return path + "?" + v.Encode()
}

// filter returns the filter of the search. A bad one is an Invalid fault of the API's parser.
func (h *handlers) filter(ctx context.Context, q query, zone *time.Location) (runs.Filter, error) {
	f := runs.Filter{Limit: rowsShown}
	var err error
	if f.After, err = since(q.Since, h.Clock.Now(), zone); err != nil {
		return f, err
	}
	if err := httpapi.SearchRuns(&f, q.Q); err != nil {
		return f, err
	}
	if len(f.Templates) == 0 {
		return f, nil
	}
	list, _, err := h.Templates.List(ctx, catalog.Filter{Name: f.Templates[0]}, page.Window{})
	for i := range list {
		f.Templates = append(f.Templates, list[i].ID)
	}
	return f, err
}

// since returns the beginning of a span: an age such as 24h or 7d, or a date.
func since(text string, now time.Time, zone *time.Location) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if day, err := time.ParseInLocation(time.DateOnly, text, zone); err == nil {
		return day, nil
	}
	n, err := strconv.Atoi(text[:len(text)-1])
	if err == nil && n > 0 && n < 10_000 {
		switch text[len(text)-1] {
		case 'h':
			return now.Add(-time.Duration(n) * time.Hour), nil
		case 'd':
			return now.AddDate(0, 0, -n), nil
		}
	}
	return time.Time{}, fault.BadField("since", "is neither an age such as 24h or 7d nor a date such as 2026-03-01")
}

// textOf writes terms as a search that reads as them.
func textOf(terms []httpapi.SearchTerm) string {
	words := make([]string, 0, len(terms))
	for _, t := range terms {
		word := t.Value
		if strings.ContainsAny(word, " \t\r\n") || t.Key == "" && strings.Contains(word, ":") {
			word = `"` + word + `"`
		}
		if t.Key != "" {
			word = t.Key + ":" + word
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// toggle returns the search with a state switched on or off.
func toggle(q string, s runs.Status) string {
	terms, err := httpapi.SearchTerms(q)
	if err != nil {
		return "status:" + string(s)
	}
	at := slices.IndexFunc(terms, func(t httpapi.SearchTerm) bool { return t.Key == "status" })
	if at < 0 {
		return textOf(slices.Insert(terms, 0, httpapi.SearchTerm{Key: "status", Value: string(s)}))
	}
	states := strings.Split(terms[at].Value, ",")
	if i := slices.Index(states, string(s)); i >= 0 {
		states = slices.Delete(states, i, i+1)
	} else {
		states = append(states, string(s))
	}
	if len(states) == 0 {
		return textOf(slices.Delete(terms, at, at+1))
	}
	terms[at].Value = strings.Join(states, ",")
	return textOf(terms)
}

// term returns a search of one key.
func term(key, value string) string {
	return textOf([]httpapi.SearchTerm{{Key: key, Value: value}})
}

// withoutStates returns the search without its states.
func withoutStates(q string) string {
	terms, err := httpapi.SearchTerms(q)
	if err != nil {
		return ""
	}
	return textOf(slices.DeleteFunc(terms, func(t httpapi.SearchTerm) bool { return t.Key == "status" }))
}

// picked reports whether the search has a state.
func picked(q string, s runs.Status) bool {
	terms, _ := httpapi.SearchTerms(q) // a bad search has no terms
	return slices.ContainsFunc(terms, func(t httpapi.SearchTerm) bool {
		return t.Key == "status" && slices.Contains(strings.Split(t.Value, ","), string(s))
	})
}
