package fleet

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

const (
	rankWindow   = 100 // runs that the rank of the host counts
	shownRuns    = 20  // rows of the table of runs
	shownFacts   = 200 // facts of one search
	shownHolders = 8   // inventories and templates
	longFact     = 400 // bytes of a value
	factRowsID   = "factrows"
)

// hostView is the page of one host.
type hostView struct {
	estate.HostPage
	Name      string
	All       []estate.HostRun
	Streak    streak
	Sentence  string
	Holders   []holder
	Templates []touching
	Facts     factsView
}

// holder is an inventory that has the host.
type holder struct {
	ID, Name string
	Groups   []string
}

// touching is a template whose runs reached the host.
type touching struct {
	ID, Name string
	Runs     int
	Last     estate.HostRun
}

// factsView is a search in the facts of a host.
type factsView struct {
	Host, Query string
	Rows        []factRow
	More, Of    int
	Reading     *estate.Reading
}

type factRow struct {
	Key, Value string
	Changed    time.Time // zero if it is the same since the first reading
}

func (h *handlers) host(r *shell.Request) (*shell.Page, error) {
	name := r.PathValue("host")
	p, err := h.Fleet.Host(r.Context(), name, rankWindow)
	if err != nil {
		return unknownHost(name, err)
	}
	v := hostView{HostPage: p, Name: name}
	if v.Facts, err = h.facts(r, name, p.Reading); err != nil {
		return nil, err
	}
	if strings.HasSuffix(r.Header.Get("HX-Target"), factRowsID) {
		rows := factRows(v.Facts)
		return &shell.Page{Body: rows, Parts: map[string]templ.Component{factRowsID: rows}}, nil
	}
	if v.All, err = h.Fleet.Runs(r.Context(), name, estate.MaxHostRuns); err != nil {
		return nil, err
	}
	v.Streak = streakOf(v.All)
	v.Sentence = hostText(r.Context(), v.Streak, h.cause(r, name, v.Streak, v.All))
	v.Holders = h.holders(r, name, v.All, p.Reading)
	v.Templates = h.touching(r, v.All)
	page := &shell.Page{Title: name, Nav: shell.Fleet, Body: hostPage(v)}
	if v.Streak.Failing {
		page.Title, page.Glyph = "Failing: "+name, outcomeState(p.Rank.LastOutcome).Glyph
	}
	return page, nil
}

// unknownHost says what was looked for and which names are near.
func unknownHost(name string, err error) (*shell.Page, error) {
	var missing *fault.Error
	if !estate.HostNotFound.Is(err) || !errors.As(err, &missing) {
		return nil, err //nolint:wrapcheck // a fault
	}
	near, _ := missing.Detail["near"].([]string)
	return &shell.Page{Title: "Host not found", Nav: shell.Fleet, Status: http.StatusNotFound,
		Body: unknownPage(name, near)}, nil
}

// cause says at which task the newest run failed on the host, empty if that is not known.
func (h *handlers) cause(r *shell.Request, host string, s streak, list []estate.HostRun) string {
	if !s.Failing || h.Insight == nil {
		return ""
	}
	groups, err := h.Insight.Failures(r.Context(), list[0].RunID)
	if err != nil { // the run may be deleted
		return ""
	}
	for _, g := range groups {
		if g.Task != "" && (slices.Contains(g.Hosts, host) || len(groups) == 1) {
			return ", at " + g.Task
		}
	}
	return ""
}

// holders returns the inventories that recent runs of the host used, and that still have it.
func (h *handlers) holders(r *shell.Request, host string, list []estate.HostRun, reading *estate.Reading) []holder {
	ids := distinct(list, func(x estate.HostRun) string { return x.InventoryID })
	if reading != nil && reading.InventoryID != "" && !slices.Contains(ids, reading.InventoryID) {
		ids = append(ids, reading.InventoryID)
	}
	var out []holder
	for _, id := range ids[:min(shownHolders, len(ids))] {
		set, err := h.Inventories.Resolve(r.Context(), id, host)
		if err != nil || set.Count != 1 || set.Sample[0] != host { // deleted, hidden, or without the host
			continue
		}
		i, err := h.Inventories.Get(r.Context(), id)
		if err == nil {
			out = append(out, holder{ID: id, Name: i.Name, Groups: set.Groups})
		}
	}
	return out
}

func (h *handlers) touching(r *shell.Request, list []estate.HostRun) []touching {
	var out []touching
	for _, id := range distinct(list, func(x estate.HostRun) string { return x.TemplateID }) {
		if len(out) == shownHolders {
			break
		}
		t := touching{ID: id}
		for _, x := range list {
			if x.TemplateID != id {
				continue
			}
			if t.Runs == 0 {
				t.Last = x
			}
			t.Runs++
		}
		if stored, err := h.Templates.Get(r.Context(), id); err == nil {
			t.Name = stored.Name
			out = append(out, t)
		}
	}
	return out
}

// distinct returns the values of runs in the order of their first appearance, without empty ones.
func distinct(list []estate.HostRun, of func(estate.HostRun) string) []string {
	var out []string
	for _, x := range list {
		if v := of(x); v != "" && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// facts searches keys and values of the newest reading.
func (h *handlers) facts(r *shell.Request, host string, reading *estate.Reading) (factsView, error) {
	v := factsView{Host: host, Query: strings.TrimSpace(r.URL.Query().Get("facts")), Reading: reading}
	if reading == nil {
		return v, nil
	}
	changed, err := h.Estate.Changed(r.Context(), host)
	if err != nil && !estate.HostNotFound.Is(err) {
		return v, err
	}
	find := strings.ToLower(v.Query)
	keys := make([]string, 0, len(reading.Facts))
	for key, value := range reading.Facts {
		if find == "" || strings.Contains(strings.ToLower(key), find) || strings.Contains(strings.ToLower(string(value)),
			find) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b string) int { // what changed last comes first
		if n := changed[b].Compare(changed[a]); n != 0 {
			return n
		}
		return strings.Compare(a, b)
	})
	v.Of = len(keys)
	v.More = max(0, len(keys)-shownFacts)
	for _, key := range keys[:len(keys)-v.More] {
		v.Rows = append(v.Rows, factRow{Key: key, Value: plain(reading.Facts[key]), Changed: changed[key]})
	}
	return v, nil
}

// plain writes a value for a reader: a text without its quotes, everything else as JSON.
func plain(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) != nil {
		text = string(value)
	}
	if len(text) > longFact {
		return strings.ToValidUTF8(text[:longFact], "") + "…"
	}
	return text
}

// failing counts the runs of a list that failed.
func failing(list []estate.HostRun) int {
	n := 0
	for _, x := range list {
		if bad(x.Worst) {
			n++
		}
	}
	return n
}

func runName(x estate.HostRun) string {
	for _, name := range []string{x.Name, x.Playbook} {
		if name != "" {
			return name
		}
	}
	return "Run " + shell.ShortID(x.RunID)
}

// history returns the outcomes of runs, the oldest first.
func history(list []estate.HostRun) []runs.Outcome {
	out := make([]runs.Outcome, len(list))
	for i, x := range list {
		out[len(list)-1-i] = x.Worst
	}
	return out
}
