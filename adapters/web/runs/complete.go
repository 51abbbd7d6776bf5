package runs

import (
	"context"
	"slices"
	"strings"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
)

// Bounds of completions: those that are offered, and the runs whose labels and names are looked through.
const (
	maxOffers  = 10
	recentRuns = 200
)

// offer is a completion. Text replaces the last word of the search.
type offer struct {
	Text string `json:"text"`
	Hint string `json:"hint,omitempty"`
}

// completion is what the search field gets while somebody types.
type completion struct {
	Echo    string  `json:"echo,omitempty"`
	Problem string  `json:"problem,omitempty"`
	Offers  []offer `json:"offers"`
}

func (h *handlers) complete(r *shell.Request) (*shell.Page, error) {
	ctx, q := r.Context(), queryOf(r.URL.Query())
	out := completion{Offers: []offer{}}
	f, err := h.filter(ctx, q, r.Viewer.Zone)
	switch {
	case fault.Is(err, fault.Invalid):
		out.Problem = err.Error()
	case err != nil:
		return nil, err
	default:
		out.Echo = echo(ctx, q, &f)
	}
	typed := lastWord(r.URL.Query().Get("typed"))
	key, value, isTerm := strings.Cut(typed, ":")
	if !isTerm {
		out.Offers = keyOffers(typed)
		return nil, r.JSON(out)
	}
	values, err := h.valuesOf(ctx, key, strings.Trim(value, `"`))
	if err != nil {
		return nil, err
	}
	for _, v := range values[:min(len(values), maxOffers)] {
		out.Offers = append(out.Offers, offer{Text: term(key, v)})
	}
	return nil, r.JSON(out)
}

// lastWord returns what is typed since the last space outside of quotes.
func lastWord(text string) string {
	quoted, from := false, 0
	for i, c := range text {
		switch {
		case c == '"':
			quoted = !quoted
		case c == ' ' && !quoted:
			from = i + 1
		}
	}
	return text[from:]
}

func keyOffers(typed string) []offer {
	out := []offer{}
	for _, k := range httpapi.SearchKeys() {
		if typed != "" && strings.HasPrefix(k, strings.ToLower(typed)) {
			out = append(out, offer{Text: k + ":", Hint: keyHint(k)})
		}
	}
	return out
}

// valuesOf returns the values of a key that begin with a text. Each kind reads a bounded number of records.
func (h *handlers) valuesOf(ctx context.Context, key, prefix string) ([]string, error) {
	switch key {
	case "status":
		return states(prefix), nil
	case "source":
		return starting(prefix, texts(runs.FromAPI, runs.FromTemplate, runs.FromSchedule, runs.FromTrigger, runs.FromRerun,
			runs.FromRetry, runs.FromRelaunch, runs.FromReconcile, runs.FromProposal, runs.FromPlan)), nil
	case "tool":
		return starting(prefix, h.Tools.Names()), nil
	case "template":
		list, _, err := h.Templates.List(ctx, catalog.Filter{}, page.Window{})
		names := make([]string, len(list))
		for i := range list {
			names[i] = list[i].Name
		}
		return starting(prefix, names), err
	case "host":
		return h.hosts(ctx, prefix)
	case "queue":
		list, _, err := h.Queues.Queues(ctx, page.Window{})
		names := make([]string, len(list))
		for i := range list {
			names[i] = list[i].Name
		}
		return starting(prefix, names), err
	}
	return h.recent(ctx, key, prefix)
}

// states completes the last of the states that commas separate.
func states(prefix string) []string {
	done, last := "", prefix
	if i := strings.LastIndexByte(prefix, ','); i >= 0 {
		done, last = prefix[:i+1], prefix[i+1:]
	}
	out := starting(last, texts(runs.Statuses()...))
	for i := range out {
		out[i] = done + out[i]
	}
	return out
}

// hosts returns the hosts whose names begin with a text. A name that has it elsewhere is no match.
func (h *handlers) hosts(ctx context.Context, prefix string) ([]string, error) {
	if prefix == "" {
		return nil, nil
	}
	found, err := h.Fleet.Hosts(ctx, estate.FleetQuery{Window: 1, Search: prefix, Limit: recentRuns})
	var names []string
	for _, x := range found.Rows {
		names = append(names, x.Host)
	}
	return starting(prefix, names), err
}

// recent returns the values of a key that the newest runs have.
func (h *handlers) recent(ctx context.Context, key, prefix string) ([]string, error) {
	list, err := h.Reader.List(ctx, runs.Filter{Limit: recentRuns, SkipTotal: true})
	if err != nil {
		return nil, err
	}
	var out []string
	for _, r := range list.Runs {
		switch key {
		case "actor":
			out = append(out, r.Actor.Name)
		case "change":
			out = append(out, r.Change)
		case "label":
			for k, v := range r.Labels {
				out = append(out, k+"="+v)
			}
		}
	}
	return starting(prefix, out), nil
}

// starting returns the texts that begin with a prefix in any case, sorted, each once.
func starting(prefix string, list []string) []string {
	var out []string
	for _, text := range list {
		if text != "" && strings.HasPrefix(strings.ToLower(text), strings.ToLower(prefix)) {
			out = append(out, text)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func texts[T ~string](list ...T) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = string(v)
	}
	return out
}
