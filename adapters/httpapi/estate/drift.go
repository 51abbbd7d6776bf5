package estate

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
)

const driftPath = "/v1/drift"

// DriftInput selects drift.
type DriftInput struct {
	Host           string `query:"host" maxLength:"255" doc:"Only this host."`
	Target         string `query:"target" maxLength:"100" doc:"Only this target, by its target_id."`
	ReconcileRunID string `query:"reconcile_run_id" maxLength:"100" doc:"Only what this run was made to repair."`
	httpapi.Window
}

// DriftRow is a resource of a host that a task would change.
type DriftRow struct {
	ID             string            `json:"id"`
	Host           string            `json:"host"`
	Resource       string            `json:"resource" doc:"The module and a path or name, else the task, and the item of a loop."`
	TargetID       string            `json:"target_id" doc:"Of the playbook, its template or project, and the inventory."`
	TemplateID     string            `json:"template_id,omitempty"`
	ProjectID      string            `json:"project_id,omitempty"`
	Playbook       string            `json:"playbook" doc:"For a plan the name of what is planned, as host."`
	InventoryID    string            `json:"inventory_id,omitempty"`
	ChangedTasks   []string          `json:"changed_tasks" doc:"The task that would change it, and the handlers that it would notify."`
	Path           string            `json:"path,omitempty" doc:"The file and line of the task."`
	Diff           json.RawMessage   `json:"diff,omitempty" doc:"Absent without one, or if it is large; the run has it."`
	Confidence     estate.Confidence `json:"confidence" enum:"diff,predicted,none"`
	RunID          string            `json:"run_id" doc:"The newest dry run that found it."`
	CheckedAt      time.Time         `json:"checked_at"`
	FirstSeen      time.Time         `json:"first_seen"`
	LastSeen       time.Time         `json:"last_seen"`
	Unconfirmed    bool              `json:"unconfirmed" doc:"A later dry run could not tell whether it drifts still."`
	ReconcileRunID string            `json:"reconcile_run_id,omitempty" doc:"The newest run that was made to repair it."`
}

// CoverageRow counts what the newest dry runs checked on a host.
type CoverageRow struct {
	Host      string    `json:"host"`
	Checked   int       `json:"checked" doc:"Tasks that say whether the host is as it should be."`
	Drifted   int       `json:"drifted" doc:"Resources that are listed."`
	Unknown   int       `json:"unknown" doc:"Tasks that could not be checked."`
	CheckedAt time.Time `json:"checked_at"`
}

// DriftBody lists drift.
type DriftBody struct {
	Resources []DriftRow    `json:"resources" doc:"By host and resource."`
	Coverage  []CoverageRow `json:"coverage" doc:"The hosts that were checked, by name: limit and offset select these too."`
	httpapi.Listed
	Hosts    int `json:"hosts" doc:"The number of hosts that were checked, in all."`
	Ignored  int `json:"ignored" doc:"Resources of the selection that rules leave out."`
	Withheld int `json:"withheld" doc:"Resources, of any host, of runs that the caller may not read."`
}

// ReconcileBody asks for a repair.
type ReconcileBody struct {
	Host   string `json:"host" minLength:"1" maxLength:"255"`
	Target string `json:"target,omitempty" maxLength:"100" doc:"A target_id. Needed if the host drifts from several."`
}

func driftRow(f estate.Finding) DriftRow {
	return DriftRow{
		ID: f.ID, Host: f.Host, Resource: f.Resource, TargetID: f.Target.ID, TemplateID: f.TemplateID,
		ProjectID: f.ProjectID, Playbook: f.Playbook, InventoryID: f.InventoryID,
		ChangedTasks: append([]string{}, f.Tasks...), Path: f.Path, Diff: f.Diff, Confidence: f.Confidence, RunID: f.RunID,
		CheckedAt: f.CheckedAt, FirstSeen: f.FirstSeen, LastSeen: f.LastSeen, Unconfirmed: f.Unconfirmed,
		ReconcileRunID: f.ReconcileRunID,
	}
}

func (h *handlers) listDrift(ctx context.Context, in *DriftInput) (*httpapi.Output[DriftBody], error) {
	w := in.Page()
	p, err := h.Drift.Drift(ctx, estate.DriftQuery{Host: in.Host, Target: in.Target, ReconcileRunID: in.ReconcileRunID,
		Window: w})
	if err != nil {
		return nil, err
	}
	return &httpapi.Output[DriftBody]{Body: DriftBody{
		Resources: httpapi.Rows(p.Findings, driftRow),
		Coverage:  httpapi.Rows(p.Coverage, func(c estate.HostDrift) CoverageRow { return CoverageRow(c) }),
		Listed:    httpapi.Listed{Count: len(p.Findings), Total: p.Total, Limit: w.Limit},
		Hosts:     p.Hosts, Ignored: p.Ignored, Withheld: p.Withheld,
	}}, nil
}

func (h *handlers) reconcile(
	ctx context.Context, in *httpapi.NewInput[ReconcileBody],
) (*httpapi.NewRunOutput, error) {
	run, err := h.Drift.Reconcile(ctx, in.Body.Host, in.Body.Target)
	return h.answers.Created(ctx, run, false, err)
}

// IgnoreFields are the members of a rule that a caller sets.
type IgnoreFields struct {
	Host      string     `json:"host" minLength:"1" maxLength:"255" doc:"A name, with * for any text."`
	Resource  string     `json:"resource" minLength:"1" maxLength:"1024" doc:"As in drift, with * for any text."`
	Reason    string     `json:"reason" minLength:"1" maxLength:"2000"`
	ExpiresAt *time.Time `json:"expires_at,omitempty" doc:"When drift is listed again. Never if absent."`
}

func (b *IgnoreFields) ignore() estate.Ignore {
	out := estate.Ignore{Host: b.Host, Resource: b.Resource, Reason: b.Reason}
	if b.ExpiresAt != nil {
		out.ExpiresAt = *b.ExpiresAt
	}
	return out
}

// IgnoreBody is a rule.
type IgnoreBody struct {
	httpapi.Record
	IgnoreFields
}

func ignoreBody(i estate.Ignore) IgnoreBody {
	out := IgnoreBody{httpapi.RecordOf(i.Record), IgnoreFields{Host: i.Host, Resource: i.Resource, Reason: i.Reason}}
	if !i.ExpiresAt.IsZero() {
		out.ExpiresAt = &i.ExpiresAt
	}
	return out
}

// IgnoreList lists rules by host and resource.
type IgnoreList struct {
	Ignores []IgnoreBody `json:"ignores"`
	httpapi.Listed
}

func ignoreList(rows []IgnoreBody, l httpapi.Listed) IgnoreList { return IgnoreList{rows, l} }

func (h *handlers) drift(r *httpapi.Router) {
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: driftPath, ID: "list-drift", Tag: tag, Summary: "List drift",
		Description: "Resources that differ from what a playbook says, from the newest dry runs. A host has no drift only " +
			"if something was checked, nothing drifted and nothing is unknown.",
		Access: httpapi.Needs("drift", "read"), Status: http.StatusOK,
		Errors:  []int{http.StatusServiceUnavailable},
		Example: exampleDrift(at),
	}, h.listDrift)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPost, Path: driftPath + "/reconcile", ID: "reconcile-drift", Tag: tag,
		Summary: "Make a held run that repairs the drift of a host",
		Description: "It has the settings of the newest dry run that found drift of the target, executes on the host " +
			"alone, and is always held. Its approval is bound to what it repairs: see reconcile_run_id. It needs the " +
			"rights that a rerun needs.",
		Access: httpapi.Needs("drift", "reconcile"), Action: audit.RunReconcile, Status: http.StatusCreated,
		Request: ReconcileBody{Host: "web01"}, License: estate.FeatureReconcile, Example: exampleRun(at),
		Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, h.reconcile)
	example := IgnoreFields{Host: "web*", Resource: "file /etc/motd", Reason: "the vendor writes it", ExpiresAt: &at}
	k := httpapi.Kind[estate.Ignore, IgnoreBody]{
		Path: driftPath + "/ignores", Noun: "ignore", Tag: tag, Read: httpapi.Needs("drift", "read"),
		Write:   httpapi.Needs("drift", "write"),
		Example: IgnoreBody{Record: httpapi.ExampleRecord("dig_01k0a0009vtx5zk9w2m4n6p8rs"), IgnoreFields: example},
		Request: example, Body: ignoreBody, Record: func(i estate.Ignore) object.Record { return i.Record },
	}
	const rule = "While it is in force, what fits both patterns is left out of drift, counted as ignored and not notified."
	httpapi.Handle(r, k.Create(audit.DriftIgnoreCreate, "Leave drift out", rule),
		httpapi.Creator(k, (*IgnoreFields).ignore, h.Ignores.Create))
	httpapi.HandleList(r, k.List("List the rules that leave drift out", "Those that have expired too."), ignoreList,
		ignoreBody, func(ctx context.Context, in *httpapi.Window) ([]estate.Ignore, int, error) {
			return h.Ignores.List(ctx, in.Page())
		}, k.Example)
	httpapi.Handle(r, k.Get("Read one rule", "It may have expired."), k.Getter(h.Ignores.Get))
	httpapi.Handle(r, k.Update(audit.DriftIgnoreUpdate, "Replace a rule", "An omitted member clears. "+rule),
		httpapi.Updater(k, h.Ignores.Get, (*IgnoreBody).ignore, h.Ignores.Update))
	httpapi.Handle(r, k.Delete(audit.DriftIgnoreDelete, "Delete a rule", "What it left out is listed again."),
		httpapi.Deleter(h.Ignores.Delete))
}

func exampleRun(at time.Time) httpapi.RunsRunBody {
	b := httpapi.RunsRunBody{ID: "run_01k0a8bq3vtx5zk9w2m4n6p8rs", Kind: string(runs.Single),
		Status: string(runs.PendingApproval), CreatedAt: at, Warnings: []runs.Warning{},
		Source: string(runs.FromReconcile), SourceID: "tgt_1",
		Actor: actor.Actor{Type: actor.User, ID: "usr_01k0a0000vtx5zk9w2m4n6p8rs", Name: "alex"}, Hosts: map[string]int{}}
	b.Tool, b.Playbook, b.Queue, b.RequireApproval = runs.Ansible, "site.yml", runs.DefaultQueue, true
	return b
}

func exampleDrift(at time.Time) DriftBody {
	return DriftBody{
		Resources: []DriftRow{{
			ID: "drf_01k0a0009vtx5zk9w2m4n6p8rs", Host: "web01", Resource: "template /etc/nginx/nginx.conf", TargetID: "tgt_1",
			Playbook: "site.yml", ChangedTasks: []string{"nginx : Configuration", "nginx : Reload"},
			Path:       "roles/nginx/tasks/main.yml:7",
			Diff:       json.RawMessage(`[{"before":"worker_processes 1;\n","after":"worker_processes 4;\n"}]`),
			Confidence: estate.ConfidentDiff, RunID: "run_01k0a0009vtx5zk9w2m4n6p8rs", CheckedAt: at,
			FirstSeen: at, LastSeen: at,
		}},
		Coverage: []CoverageRow{{Host: "web01", Checked: 12, Drifted: 1, Unknown: 2, CheckedAt: at}},
		Listed:   httpapi.Listed{Count: 1, Total: 1, Limit: page.MaxRows}, Hosts: 1,
	}
}
