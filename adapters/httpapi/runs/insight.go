package runs

import (
	"context"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// Bounds of a search in a log.
const (
	defaultHits = 100
	maxHits     = 1000
)

// MatrixInput asks for a window of hosts.
type MatrixInput struct {
	ID       string        `path:"id"`
	From     httpapi.Count `query:"from" doc:"The first host of the window, from 0."`
	Count    httpapi.Count `query:"count" doc:"Hosts of the window; all from the first on unless given."`
	AfterRev httpapi.Count `query:"after_rev" doc:"The revision that the caller holds: one that is not newer answers without cells."`
}

// MatrixTaskBody is a column.
type MatrixTaskBody struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Play string `json:"play,omitempty"`
}

// MatrixBody is a window of a run's hosts against its tasks.
type MatrixBody struct {
	Tasks []MatrixTaskBody `json:"tasks"`
	Hosts int              `json:"hosts" doc:"How many hosts the whole matrix has."`
	From  int              `json:"from"`
	Rev   int64            `json:"rev"`
	Same  bool             `json:"same,omitempty" doc:"Nothing is newer than after_rev."`
	Names []string         `json:"names"`
	Cells []byte           `json:"cells" doc:"Base64 of the window column by column, run-length coded: a cell's byte, then how often it repeats as an unsigned varint. 0 none, 1 ok, 2 changed, 3 skipped, 4 failed, 5 unreachable, 6 rescued, 7 ignored, 8 running."`
}

// MatrixOutput answers with a matrix.
type MatrixOutput struct{ Body MatrixBody }

func (h *handlers) matrix(ctx context.Context, in *MatrixInput) (*MatrixOutput, error) {
	m, err := h.Insight.Matrix(ctx, in.ID, runs.MatrixQuery{From: in.From.Int(), Count: in.Count.Int(), AfterRev: in.AfterRev.N})
	if err != nil {
		return nil, err
	}
	out := MatrixBody{
		Tasks: make([]MatrixTaskBody, 0, len(m.Tasks)), Hosts: m.Hosts, From: m.From, Rev: m.Rev, Same: m.Same,
		Names: append([]string{}, m.Names...), Cells: append([]byte{}, m.Cells...),
	}
	for _, t := range m.Tasks {
		out.Tasks = append(out.Tasks, MatrixTaskBody(t))
	}
	return &MatrixOutput{Body: out}, nil
}

// FailureBody is a failure that several hosts share.
type FailureBody struct {
	Task    string   `json:"task"`
	Message string   `json:"message"`
	Outcome string   `json:"outcome"`
	Count   int      `json:"count"`
	Hosts   []string `json:"hosts" doc:"The first twenty."`
}

// FailuresBody lists the groups, the largest first.
type FailuresBody struct {
	Groups []FailureBody `json:"groups"`
	Count  int           `json:"count"`
	Total  int           `json:"total"`
}

// FailuresOutput answers with failures.
type FailuresOutput struct{ Body FailuresBody }

func (h *handlers) failures(ctx context.Context, in *IDInput) (*FailuresOutput, error) {
	groups, err := h.Insight.Failures(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	out := FailuresBody{Groups: make([]FailureBody, 0, len(groups)), Count: len(groups), Total: len(groups)}
	for _, g := range groups {
		out.Groups = append(out.Groups, FailureBody{
			Task: g.Task, Message: g.Message, Outcome: string(g.Outcome), Count: g.Count, Hosts: append([]string{}, g.Hosts...),
		})
	}
	return &FailuresOutput{Body: out}, nil
}

// FindInput searches a log.
type FindInput struct {
	ID    string        `path:"id"`
	Q     string        `query:"q" doc:"The text, or an RE2 expression with regex=1."`
	Case  string        `query:"case" doc:"1 matches letters in their own case alone."`
	Regex string        `query:"regex" doc:"1 reads q as an RE2 expression."`
	Limit httpapi.Count `query:"limit" doc:"Hits: 100 unless given, at most 1000."`
}

// HitBody is a line found.
type HitBody struct {
	Line   int64  `json:"line"`
	Offset int64  `json:"offset"`
	Text   string `json:"text"`
}

// HitsBody lists the lines found.
type HitsBody struct {
	Total int       `json:"total"`
	Count int       `json:"count"`
	Hits  []HitBody `json:"hits"`
	Limit int       `json:"limit" doc:"The limit that was used."`
}

// HitsOutput answers with hits.
type HitsOutput struct{ Body HitsBody }

func (h *handlers) find(ctx context.Context, in *FindInput) (*HitsOutput, error) {
	q := runs.LogQuery{Text: in.Q, Limit: in.Limit.Clamp(defaultHits, maxHits)}
	var err error
	if q.Case, err = flag("case", in.Case); err != nil {
		return nil, err
	}
	if q.Regex, err = flag("regex", in.Regex); err != nil {
		return nil, err
	}
	if q.Text == "" || len(q.Text) > maxQuery {
		return nil, fault.BadField("q", "is required, at most %d bytes", maxQuery)
	}
	found, err := h.Insight.Find(ctx, in.ID, q)
	if err != nil {
		return nil, err
	}
	out := HitsBody{Total: found.Total, Count: len(found.Hits), Hits: make([]HitBody, 0, len(found.Hits)), Limit: q.Limit}
	for _, hit := range found.Hits {
		out.Hits = append(out.Hits, HitBody(hit))
	}
	return &HitsOutput{Body: out}, nil
}

// WhyReasonBody is one part of an explanation.
type WhyReasonBody struct {
	Code   string     `json:"code"`
	Text   string     `json:"text"`
	Object string     `json:"object,omitempty"`
	Since  *time.Time `json:"since,omitempty"`
	Next   string     `json:"next,omitempty"`
}

// WhyBody says why a run is in its state.
type WhyBody struct {
	State   string          `json:"state"`
	Reasons []WhyReasonBody `json:"reasons"`
}

// WhyOutput answers with an explanation.
type WhyOutput struct{ Body WhyBody }

func (h *handlers) why(ctx context.Context, in *IDInput) (*WhyOutput, error) {
	e, err := h.Insight.Why(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	out := WhyBody{State: string(e.State), Reasons: make([]WhyReasonBody, 0, len(e.Reasons))}
	for _, r := range e.Reasons {
		out.Reasons = append(out.Reasons, WhyReasonBody{Code: r.Code, Text: r.Text, Object: r.Object, Since: when(r.Since), Next: r.Next})
	}
	return &WhyOutput{Body: out}, nil
}

func (h *handlers) explaining(r *httpapi.Router) {
	since := exampleTime()
	part(r, "matrix", "get-run-matrix", "Read a run's hosts against its tasks", MatrixBody{
		Tasks: []MatrixTaskBody{{ID: "t1", Name: "Install packages", Play: "all"}}, Hosts: 2, Rev: 27, Names: []string{"web1", "web2"},
		Cells: []byte{2, 2},
	}, h.matrix)
	part(r, "failures", "list-failures", "Fold a run's failures into groups that are alike", FailuresBody{
		Groups: []FailureBody{{Task: "Install packages", Message: "No package matching 'ngnix'", Outcome: string(runs.HostFailed), Count: 2, Hosts: []string{"web1", "web2"}}},
		Count:  1, Total: 1,
	}, h.failures)
	part(r, "logs/find", "find-in-log", "Search a run's output", HitsBody{
		Total: 1, Count: 1, Hits: []HitBody{{Line: 12, Offset: 403, Text: "fatal: [web1]: FAILED!"}}, Limit: defaultHits,
	}, h.find)
	part(r, "why", "explain-state", "Tell why a run waits, is held or ended as it did", WhyBody{
		State:   string(runs.PendingApproval),
		Reasons: []WhyReasonBody{{Code: "held", Text: "An approval is needed.", Object: "require_approval", Since: &since, Next: "An admin approves or rejects it."}},
	}, h.why)
}
