package estate

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/system"
)

const (
	driftRows   = 500 // findings that are read and folded at once
	maxTargets  = 30
	foldedHosts = 50 // hosts of a fold that one form repairs
	shownDiff   = 8 << 10
)

// driftView is what differs from what should be.
type driftView struct {
	Query        url.Values
	Host, Target string
	Sentence     string
	Remarks      []string
	Targets      []targetRow
	Rows         []driftFold
	Range        string
	Newer, Older string
	Ignores      []estate.Ignore
	Tier         string // the tier that reconciling needs, empty if the install has it
	Outcomes     []outcome
}

// targetRow is a playbook with an inventory.
type targetRow struct {
	estate.Target
	Name, Inventory string
	Hosts           int // of the inventory, 0 if it is not stored
	Reached         int // hosts that dry runs reached
	Drifting, Clean int // of these
	Checked         int // tasks
	Unknown         int
	Findings        int
}

// driftFold is equal drift of several hosts.
type driftFold struct {
	estate.Finding
	Name  string // of the target
	Hosts []string
	Diff  []fileDiff
	Since time.Time
}

// fileDiff is one difference of a file.
type fileDiff struct{ Title, Before, After string }

// outcome is what became of the repair of a host.
type outcome struct {
	Host, Run, Problem string
}

func (h *handlers) drift(r *shell.Request) (*shell.Page, error) { return h.driftPage(r, nil) }

func (h *handlers) driftPage(r *shell.Request, outcomes []outcome) (*shell.Page, error) {
	q := r.URL.Query()
	v := driftView{Query: q, Host: q.Get("host"), Target: q.Get("target"), Outcomes: outcomes}
	offset := number(q.Get("offset"))
	found, err := h.Drift.Drift(r.Context(), estate.DriftQuery{Host: v.Host, Target: v.Target,
		ReconcileRunID: q.Get("reconcile_run_id"), Window: page.Window{Offset: offset, Limit: driftRows}})
	if err != nil {
		return nil, err
	}
	names := h.names(r.Context())
	v.Rows = foldDrift(found.Findings, names)
	v.Range = findingsRange(offset, len(found.Findings), found.Total)
	v.Newer, v.Older = pager("/ui/drift", q, offset, len(found.Findings), driftRows, found.Total)
	if v.Target == "" && v.Host == "" && offset == 0 {
		if v.Targets, err = h.targets(r.Context(), names, found); err != nil {
			return nil, err
		}
	}
	v.Sentence, v.Remarks = driftText(v, found), driftRemarks(found)
	if v.Ignores, _, err = h.Ignores.List(r.Context(), page.Window{Limit: estate.MaxIgnores}); err != nil {
		return nil, err
	}
	if h.Licenses.Require(r.Context(), estate.FeatureReconcile) != nil {
		v.Tier = string(system.LicensedFeatures()[estate.FeatureReconcile])
	}
	return &shell.Page{Title: "Drift", Nav: shell.Fleet, Body: driftPage(v)}, nil
}

// namesOf are the names of the objects of targets.
type namesOf struct {
	templates   []catalog.Template
	names       map[string]string
	inventories map[string]catalog.Inventory
}

// names reads the templates and inventories that the reader may read. Without them a target shows its ids.
func (h *handlers) names(ctx context.Context) namesOf {
	out := namesOf{names: map[string]string{}, inventories: map[string]catalog.Inventory{}}
	out.templates, _, _ = h.Templates.List(ctx, catalog.Filter{}, page.Window{Limit: listed})
	for _, t := range out.templates {
		out.names[t.ID] = t.Name
	}
	list, _, _ := h.Inventories.List(ctx, catalog.Filter{}, page.Window{Limit: listed})
	for _, i := range list {
		out.inventories[i.ID] = i
	}
	return out
}

// name is how a target is called: its template, else its playbook.
func (n namesOf) name(t estate.Target) string {
	return cmp.Or(n.names[t.TemplateID], t.Playbook, t.ID)
}

// targets lists what drifts first, and then templates that dry runs checked or could check.
func (h *handlers) targets(ctx context.Context, names namesOf, found estate.DriftPage) ([]targetRow, error) {
	var list []estate.Target
	add := func(t estate.Target) {
		if len(list) < maxTargets && !slices.ContainsFunc(list, func(x estate.Target) bool { return x.ID == t.ID }) {
			list = append(list, t)
		}
	}
	for _, f := range found.Findings {
		add(f.Target)
	}
	for _, t := range names.templates {
		if !t.Workflow() && t.Playbook != "" && t.InventoryID != "" && len(list) < maxTargets {
			add(estate.TargetOf(&runs.Spec{TemplateID: t.ID, ProjectID: t.ProjectID, Playbook: t.Playbook,
				InventoryID: t.InventoryID}))
		}
	}
	out := make([]targetRow, len(list))
	for i, t := range list {
		p, err := h.Drift.Drift(ctx, estate.DriftQuery{Target: t.ID, Window: page.Window{Limit: 1}})
		if err != nil {
			return nil, err //nolint:wrapcheck // a fault
		}
		inventory := names.inventories[t.InventoryID]
		out[i] = targetRow{Target: t, Name: names.name(t), Inventory: inventory.Name, Hosts: inventory.Hosts,
			Reached: p.Hosts, Drifting: p.Drifting, Clean: p.Clean, Checked: p.Checked, Unknown: p.Unknown, Findings: p.Total}
	}
	return out, nil
}

// foldDrift joins equal drift of several hosts: of one target, task and resource with an equal difference.
func foldDrift(list []estate.Finding, names namesOf) []driftFold {
	at, out := map[string]int{}, []driftFold{}
	for _, f := range list {
		diff := readDiff(f.Diff)
		key := foldID(f, diff)
		i, ok := at[key]
		if !ok {
			i, at[key] = len(out), len(out)
			out = append(out, driftFold{Finding: f, Name: names.name(f.Target), Diff: diff, Since: f.FirstSeen})
		}
		out[i].Hosts = append(out[i].Hosts, f.Host)
		if f.FirstSeen.Before(out[i].Since) {
			out[i].Since = f.FirstSeen
		}
		if f.CheckedAt.After(out[i].CheckedAt) {
			out[i].CheckedAt = f.CheckedAt
		}
	}
	slices.SortStableFunc(out, func(a, b driftFold) int { return len(b.Hosts) - len(a.Hosts) })
	return out
}

// foldID is equal for equal drift: the task, the resource without the name of the host, and the difference without
// its
// title, which has names of temporary files.
func foldID(f estate.Finding, diff []fileDiff) string {
	parts := []string{f.Target.ID, strings.Join(f.Tasks, "\x00"), f.Path, strings.ReplaceAll(f.Resource, f.Host, "*"),
		string(f.Confidence)}
	for _, d := range diff {
		parts = append(parts, d.Before, d.After)
	}
	return strings.Join(parts, "\x00")
}

// readDiff reads what a tool shows as a difference: an object or a list of them, each with before and after, which
// are
// texts or values, or with prepared text.
func readDiff(raw json.RawMessage) []fileDiff {
	if len(raw) == 0 {
		return nil
	}
	var list []map[string]json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		one := map[string]json.RawMessage{}
		if json.Unmarshal(raw, &one) != nil {
			return []fileDiff{{After: short(plain(raw))}}
		}
		list = append(list, one)
	}
	var out []fileDiff
	for _, d := range list {
		x := fileDiff{Title: cut(plain(orEmpty(d["after_header"], d["before_header"]))),
			Before: short(plain(orEmpty(d["before"]))), After: short(plain(orEmpty(d["after"], d["prepared"])))}
		if x.Before != "" || x.After != "" {
			out = append(out, x)
		}
	}
	return out
}

func orEmpty(list ...json.RawMessage) json.RawMessage {
	for _, raw := range list {
		if len(raw) > 0 && !bytes.Equal(raw, []byte("null")) {
			return raw
		}
	}
	return json.RawMessage(`""`)
}

func short(s string) string {
	if len(s) <= shownDiff {
		return s
	}
	return strings.ToValidUTF8(s[:shownDiff], "") + "\n… cut here, the run has the rest"
}

// reconcile makes a held run for each host of a fold. One host leads to its run; several are reported one by one.
func (h *handlers) reconcile(r *shell.Request) (*shell.Page, error) {
	f, err := r.Form()
	if err != nil {
		return nil, err
	}
	var out []outcome
	status := 0
	for _, host := range f["host"][:min(len(f["host"]), foldedHosts)] {
		body, err := json.Marshal(map[string]string{"host": host, "target": f.Get("target")})
		if err != nil {
			return nil, err //nolint:wrapcheck // texts always encode
		}
		answer := r.Call(httpapi.Call{Method: http.MethodPost, Path: "/v1/drift/reconcile", Body: body})
		one := outcome{Host: host}
		var made struct {
			ID string `json:"id"`
		}
		var p httpapi.Problem
		switch {
		case answer.OK() && json.Unmarshal(answer.Body, &made) == nil:
			one.Run = made.ID
		case json.Unmarshal(answer.Body, &p) == nil && p.Text != "":
			one.Problem, status = p.Text, answer.Status
		default:
			one.Problem, status = http.StatusText(answer.Status), answer.Status
		}
		out = append(out, one)
	}
	if len(out) == 1 && out[0].Run != "" {
		r.Notice(heldText(out[0].Host))
		return nil, shell.Redirect("/ui/runs/" + url.PathEscape(out[0].Run))
	}
	page, err := h.driftPage(r, out)
	if err == nil {
		page.Status = status
	}
	return page, err
}
