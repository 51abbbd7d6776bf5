package policyview

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// Trial is what a policy would have done to the runs of the past.
type Trial struct {
	Scanned, Matched, Held, Denied int
	Truncated                      bool
	Actors, Templates              []Share
	// Schedules are those of Runs, which are the newest that matched.
	Schedules []Fired
	Runs      []Run
	// Problem says why the draft was not compared.
	Problem string
}

// Share is how many of the matched runs are of one account or template.
type Share struct {
	Name string
	N    int
}

// Fired is a schedule with how many of the newest matched runs it asked for, and at which times of the day.
type Fired struct {
	Share
	At []string
}

// Run is a run that matched.
type Run struct {
	ID        string      `json:"id"`
	Name      string      `json:"name"`
	Step      string      `json:"step_name"`
	Playbook  string      `json:"playbook"`
	Command   string      `json:"command"`
	Source    runs.Source `json:"source"`
	SourceID  string      `json:"source_id"`
	CreatedAt time.Time   `json:"created_at"`
}

// answer is what the API answers about a draft.
type answer struct {
	Scanned    int            `json:"scanned"`
	Matched    int            `json:"matched"`
	Held       int            `json:"held"`
	Denied     int            `json:"denied"`
	ByActor    map[string]int `json:"by_actor"`
	ByTemplate map[string]int `json:"by_template"`
	Sample     []string       `json:"sample"`
	Truncated  bool           `json:"truncated"`
}

// Try asks the API what a draft would have done to the runs of the past days. A refusal is the problem of the trial.
func Try(r *shell.Request, draft map[string]any) (*Trial, error) {
	a, err := r.Send(http.MethodPost, "/v1/policies/simulate", map[string]any{"policy": draft})
	if err != nil {
		return &Trial{Problem: err.Error()}, nil
	}
	var s answer
	if err := json.Unmarshal(a.Body, &s); err != nil {
		return nil, &fault.Error{Kind: fault.Internal, Message: "an answer of the API cannot be read", Cause: err}
	}
	t := &Trial{Scanned: s.Scanned, Matched: s.Matched, Held: s.Held, Denied: s.Denied, Truncated: s.Truncated,
		Actors: named(r, "/v1/users/", ranked(s.ByActor)), Templates: named(r, "/v1/templates/", ranked(s.ByTemplate))}
	for _, id := range s.Sample {
		var run Run
		if r.Get("/v1/runs/"+url.PathEscape(id), &run) == nil {
			t.Runs = append(t.Runs, run)
		}
	}
	t.Schedules = fired(t.Runs, r.Viewer.Zone)
	for i, f := range t.Schedules {
		t.Schedules[i].Share = named(r, "/v1/schedules/", []Share{f.Share})[0]
	}
	return t, nil
}

// fired returns the schedules of runs with the times at which they fired.
func fired(list []Run, zone *time.Location) (out []Fired) {
	for _, run := range list {
		if run.Source != runs.FromSchedule {
			continue
		}
		i := slices.IndexFunc(out, func(f Fired) bool { return f.Name == run.SourceID })
		if i < 0 {
			i, out = len(out), append(out, Fired{Share: Share{Name: run.SourceID}})
		}
		out[i].N++
		if at := run.CreatedAt.In(zone).Format("15:04"); !slices.Contains(out[i].At, at) {
			out[i].At = append(out[i].At, at)
		}
	}
	return out
}

// shownShares bounds the accounts and templates of a trial.
const shownShares = 8

// ranked returns the largest shares first, with ids for names.
func ranked(counts map[string]int) []Share {
	out := make([]Share, 0, len(counts))
	for _, id := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, Share{Name: id, N: counts[id]})
	}
	slices.SortStableFunc(out, func(a, b Share) int { return cmp.Compare(b.N, a.N) })
	return out[:min(len(out), shownShares)]
}

// named replaces the ids of records that the viewer may read with their names.
func named(r *shell.Request, path string, list []Share) []Share {
	for i, s := range list {
		var record struct{ Name, Username string }
		if err := r.Get(path+url.PathEscape(s.Name), &record); err != nil {
			list[i].Name = shell.ShortID(s.Name)
			continue
		}
		list[i].Name = cmp.Or(record.Name, record.Username)
	}
	return list
}
