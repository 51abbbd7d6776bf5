package estate

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/estate"
)

// ResultBody is the outcome of one run on a host.
type ResultBody struct {
	RunID   string `json:"run_id"`
	Outcome string `json:"outcome" enum:"skipped,ok,changed,ignored,rescued,failed,unreachable,incomplete"`
}

// RankBody is a host over its newest runs.
type RankBody struct {
	Host        string       `json:"host"`
	Failures    int          `json:"failures" doc:"Runs that failed on the host, did not reach it or were cut short there."`
	Total       int          `json:"total" doc:"Runs in the window, at most as many as it has."`
	LastOutcome string       `json:"last_outcome" enum:"skipped,ok,changed,ignored,rescued,failed,unreachable,incomplete"`
	LastRunAt   time.Time    `json:"last_run_at" doc:"When the newest run ended."`
	Flips       int          `json:"flips" doc:"Changes between success and failure."`
	Flaky       bool         `json:"flaky" doc:"At least two flips."`
	Recent      []ResultBody `json:"recent" doc:"The newest first."`
}

// FleetBody is a page of hosts.
type FleetBody struct {
	Hosts []RankBody `json:"hosts"`
	httpapi.Listed
	Window int `json:"window" doc:"The window that was used."`
}

// TrendBody is the duration of a task over its newest runs.
type TrendBody struct {
	Task     string  `json:"task"`
	Runs     int     `json:"runs" doc:"Runs in the window, at most as many as it has."`
	MeanMS   int64   `json:"mean_ms"`
	P95MS    int64   `json:"p95_ms"`
	LastMS   int64   `json:"last_ms"`
	Trend    string  `json:"trend" enum:"slower,faster,steady" doc:"The newer half of the runs against the older half: a mean that differs by more than a fifth."`
	RecentMS []int64 `json:"recent_ms" doc:"The newest first."`
}

// TrendsBody is a page of tasks.
type TrendsBody struct {
	Tasks []TrendBody `json:"tasks"`
	httpapi.Listed
	Window int `json:"window" doc:"The window that was used."`
}

// HostRunBody is the result of one run on a host.
type HostRunBody struct {
	RunID       string    `json:"run_id" doc:"The run may have been deleted."`
	Name        string    `json:"name,omitempty"`
	Status      string    `json:"status"`
	Playbook    string    `json:"playbook,omitempty"`
	TemplateID  string    `json:"template_id,omitempty"`
	InventoryID string    `json:"inventory_id,omitempty"`
	DryRun      bool      `json:"dry_run"`
	EndedAt     time.Time `json:"ended_at"`
	Outcome     string    `json:"outcome" enum:"skipped,ok,changed,ignored,rescued,failed,unreachable,incomplete"`
	OK          int       `json:"ok"`
	Changed     int       `json:"changed"`
	Failed      int       `json:"failed"`
	Unreachable int       `json:"unreachable"`
	Skipped     int       `json:"skipped"`
	Rescued     int       `json:"rescued"`
	Ignored     int       `json:"ignored"`
	DurationMS  int64     `json:"duration_ms"`
}

// HostRunsBody is the newest runs of a host.
type HostRunsBody struct {
	Host  string        `json:"host"`
	Runs  []HostRunBody `json:"runs"`
	Count int           `json:"count"`
	Limit int           `json:"limit" doc:"The limit that was used."`
}

// NewestFacts are the facts of the newest reading of a host.
type NewestFacts struct {
	Facts      map[string]json.RawMessage `json:"facts"`
	GatheredAt time.Time                  `json:"gathered_at"`
	RunID      string                     `json:"run_id"`
}

// CoverageBody counts the tasks of the newest dry runs on a host.
type CoverageBody struct {
	Checked   int       `json:"checked"`
	Drifted   int       `json:"drifted"`
	Unknown   int       `json:"unknown" doc:"Tasks that a dry run cannot check, skips or failed."`
	CheckedAt time.Time `json:"checked_at"`
}

// HostBody is everything about a host.
type HostBody struct {
	RankBody
	Window   int           `json:"window" doc:"The window of the rank."`
	Runs     []HostRunBody `json:"runs" doc:"The newest ones, at most 100."`
	Facts    *NewestFacts  `json:"facts,omitempty" doc:"Absent if no run that the caller may read gathered any."`
	Coverage *CoverageBody `json:"coverage,omitempty" doc:"What dry runs checked; absent if there was none."`
}

// FleetInput selects a page.
type FleetInput struct {
	Window httpapi.Count `query:"window" doc:"The number of newest runs that count, 10 if absent and at most 100; a larger number means 100."`
	Q      string        `query:"q" maxLength:"255" doc:"A part of the name, in any case."`
	Limit  httpapi.Count `query:"limit" doc:"At most 1000, 200 if absent; a larger number means 1000."`
	Offset httpapi.Count `query:"offset" doc:"The number of rows to skip."`
}

// The bounds of a page.
const (
	defaultRows = 200
	maxRows     = 1000
)

func (in *FleetInput) query() estate.FleetQuery {
	return estate.FleetQuery{Window: in.Window.Int(), Search: in.Q, Limit: in.Limit.Clamp(defaultRows, maxRows),
		Offset: in.Offset.Int()}
}

// listed returns the numbers of a page.
func listed[T any](p estate.FleetPage[T], q estate.FleetQuery) httpapi.Listed {
	return httpapi.Listed{Count: len(p.Rows), Total: p.Total, Limit: q.Limit}
}

// HostPageInput names a host and how many runs its rank counts.
type HostPageInput struct {
	Host   string        `path:"host" example:"web-1.example.net"`
	Window httpapi.Count `query:"window" doc:"The number of newest runs that the rank counts, 10 if absent and at most 100."`
}

// HostRunsInput names a host and how many runs to return.
type HostRunsInput struct {
	Host  string        `path:"host" example:"web-1.example.net"`
	Limit httpapi.Count `query:"limit" doc:"At most 500, 10 if absent; a larger number means 500."`
}

func (h *handlers) fleet(r *httpapi.Router) {
	route := func(path, id, summary, description string, example any) httpapi.Route {
		return httpapi.Route{Method: http.MethodGet, Path: path, ID: id, Tag: "estate", Summary: summary,
			Description: description + " It counts only runs that the caller may read, also those that were deleted.",
			Access:      httpapi.Needs("estate", "read"), Status: http.StatusOK, Example: example,
			Errors: []int{http.StatusNotFound}}
	}
	at := httpapi.ExampleTime()
	rank := RankBody{Host: "web-1.example.net", Failures: 1, Total: 2, LastOutcome: "failed", LastRunAt: at, Flips: 1,
		Recent: []ResultBody{{"run_01k0a8bq3vtx5zk9w2m4n6p8rs", "failed"}, {"run_01k0a8bq3vtx5zk9w2m4n6p8rt", "ok"}}}
	one := []HostRunBody{{RunID: "run_01k0a8bq3vtx5zk9w2m4n6p8rs", Status: "failed", Playbook: "site.yml", EndedAt: at,
		Outcome: "failed", OK: 3, Failed: 1, DurationMS: 5200}}
	list := httpapi.Listed{Count: 1, Total: 1, Limit: defaultRows}
	httpapi.Handle(r, route("/v1/fleet", "list-hosts", "Rank hosts by failures over their recent runs",
		"Hosts with the most failures come first, then those with the most flips, then by name.",
		FleetBody{[]RankBody{rank}, list, estate.DefaultWindow}), h.hosts)
	httpapi.Handle(r, route("/v1/tasks", "list-tasks", "List the durations of tasks over their recent runs",
		"Tasks with the longest mean come first. Tasks of one name are one task; at most 10,000 names are kept, those that "+
			"were seen last.", TrendsBody{[]TrendBody{{Task: "nginx : install", Runs: 2, MeanMS: 4100, P95MS: 5200, LastMS: 5200,
			Trend: "slower", RecentMS: []int64{5200, 3000}}}, list, estate.DefaultWindow}), h.tasks)
	httpapi.Handle(r, route("/v1/hosts/{host}", "get-host", "Get everything about a host",
		"A host that no readable run reported is 404, with at most five similar names as near.",
		HostBody{RankBody: rank, Window: estate.DefaultWindow, Runs: one, Facts: &NewestFacts{GatheredAt: at,
			Facts: map[string]json.RawMessage{"kernel": json.RawMessage(`"6.1.0-21-amd64"`)},
			RunID: "run_01k0a8bq3vtx5zk9w2m4n6p8rs"}, Coverage: &CoverageBody{Checked: 40, Drifted: 1, Unknown: 2,
			CheckedAt: at}}), h.host)
	httpapi.Handle(r, route("/v1/hosts/{host}/runs", "list-host-runs", "List a host's results in its recent runs",
		"The run that ended last comes first. A host that no readable run reported is 404, with at most five similar names "+
			"as near.", HostRunsBody{"web-1.example.net", one, 1, estate.DefaultHostRuns}), h.hostRuns)
}

// answer is a body with its status.
type answer[T any] struct{ Body T }

func (h *handlers) hosts(ctx context.Context, in *FleetInput) (*answer[FleetBody], error) {
	q := in.query()
	p, err := h.Fleet.Hosts(ctx, q)
	if err != nil {
		return nil, err
	}
	return &answer[FleetBody]{FleetBody{httpapi.Rows(p.Rows, rankBody), listed(p, q), p.Window}}, nil
}

func rankBody(r estate.HostRank) RankBody {
	return RankBody{Host: r.Host, Failures: r.Failures, Total: r.Total, LastOutcome: string(r.LastOutcome),
		LastRunAt: r.LastRunAt, Flips: r.Flips, Flaky: r.Flaky,
		Recent: httpapi.Rows(r.Recent, func(x estate.RunResult) ResultBody { return ResultBody{x.RunID, string(x.Outcome)} })}
}

func (h *handlers) tasks(ctx context.Context, in *FleetInput) (*answer[TrendsBody], error) {
	q := in.query()
	p, err := h.Fleet.Tasks(ctx, q)
	if err != nil {
		return nil, err
	}
	rows := httpapi.Rows(p.Rows, func(t estate.TaskTrend) TrendBody {
		return TrendBody{Task: t.Task, Runs: t.Runs, MeanMS: t.Mean.Milliseconds(), P95MS: t.P95.Milliseconds(),
			LastMS: t.Last.Milliseconds(), Trend: string(t.Trend), RecentMS: httpapi.Rows(t.Recent, time.Duration.Milliseconds)}
	})
	return &answer[TrendsBody]{TrendsBody{rows, listed(p, q), p.Window}}, nil
}

func (h *handlers) hostRuns(ctx context.Context, in *HostRunsInput) (*answer[HostRunsBody], error) {
	limit := in.Limit.Clamp(estate.DefaultHostRuns, estate.MaxHostRuns)
	list, err := h.Fleet.Runs(ctx, in.Host, limit)
	if err != nil {
		return nil, err
	}
	return &answer[HostRunsBody]{HostRunsBody{in.Host, httpapi.Rows(list, hostRunBody), len(list), limit}}, nil
}

func hostRunBody(r estate.HostRun) HostRunBody {
	return HostRunBody{RunID: r.RunID, Name: r.Name, Status: string(r.Status), Playbook: r.Playbook,
		TemplateID: r.TemplateID, InventoryID: r.InventoryID, DryRun: r.DryRun, EndedAt: r.EndedAt, Outcome: string(r.Worst),
		OK: r.OK, Changed: r.Changed, Failed: r.Failed, Unreachable: r.Unreachable, Skipped: r.Skipped, Rescued: r.Rescued,
		Ignored: r.Ignored, DurationMS: r.Duration.Milliseconds()}
}

func (h *handlers) host(ctx context.Context, in *HostPageInput) (*answer[HostBody], error) {
	p, err := h.Fleet.Host(ctx, in.Host, in.Window.Int())
	if err != nil {
		return nil, err
	}
	b := HostBody{RankBody: rankBody(p.Rank), Window: p.Window, Runs: httpapi.Rows(p.Runs, hostRunBody)}
	if x := p.Reading; x != nil {
		b.Facts = &NewestFacts{x.Facts, x.GatheredAt, x.RunID}
	}
	if x := p.Drift; x != nil {
		b.Coverage = &CoverageBody{x.Checked, x.Drifted, x.Unknown, x.CheckedAt}
	}
	return &answer[HostBody]{b}, nil
}
