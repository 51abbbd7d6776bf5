package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/runs"
)

func launchTool() sdk.Tool {
	changes := true
	return sdk.Tool{
		Name: "launch_template",
		Description: "Launch a template: as a dry run, which changes nothing, unless dry_run is false. A real launch needs " +
			"confirm, and dry_run_id of a dry run of the same template that succeeded within the last hour and after the " +
			"last change of the template and of the inventory. A template that allows no dry run is not launched. If " +
			"scripts are executed in a dry run (dry_run_executes), it needs confirm too. Ask the user before what needs " +
			"confirm. Policies can deny the run or hold it until a person approves.",
		Annotations: &sdk.ToolAnnotations{DestructiveHint: &changes},
	}
}

type launchInput struct {
	Template    string         `json:"template" jsonschema:"id of the template"`
	DryRun      *bool          `json:"dry_run,omitempty" jsonschema:"true unless given; false changes hosts"`
	Confirm     bool           `json:"confirm,omitempty" jsonschema:"true if the user has approved this launch"`
	DryRunID    string         `json:"dry_run_id,omitempty" jsonschema:"for a real launch: id of the dry run before it"`
	Answers     map[string]any `json:"answers,omitempty" jsonschema:"answers to the survey, by variable"`
	ExtraVars   map[string]any `json:"extra_vars,omitempty" jsonschema:"further variables, if the template allows them"`
	Limit       *string        `json:"limit,omitempty" jsonschema:"pattern of hosts, if the template allows it"`
	InventoryID *string        `json:"inventory_id,omitempty" jsonschema:"another inventory, if the template allows it"`
	Change      *string        `json:"change,omitempty" jsonschema:"label of the change, if the template allows it"`
	Key         string         `json:"idempotency_key,omitempty" jsonschema:"the same key again answers with the first run"`
}

// target is what a dry run and the real launch after it have in common.
type target struct {
	Limit       string `json:"limit"`
	InventoryID string `json:"inventory_id"`
	DryRun      bool   `json:"dry_run"`
}

type template struct {
	ID             string     `json:"id"`
	ProjectID      string     `json:"project_id"`
	UpdatedAt      time.Time  `json:"updated_at"`
	AllowOverrides []string   `json:"allow_overrides"`
	ExtraVars      runs.Vars  `json:"extra_vars"`
	Survey         []question `json:"survey"`
	Executes       bool       `json:"dry_run_executes"`
	Steps          []struct {
		TemplateID  string `json:"template_id"`
		InventoryID string `json:"inventory_id"`
	} `json:"steps"`
	target
}

// launched returns the templates that the steps launch.
func (t *template) launched(ctx context.Context, api API) ([]template, error) {
	var out []template
	for _, s := range t.Steps {
		if s.TemplateID == "" {
			continue
		}
		var of template
		if err := get(ctx, api, "/v1/templates/"+url.PathEscape(s.TemplateID), &of); err != nil {
			return nil, fmt.Errorf("the template %s of a step: %w", s.TemplateID, err)
		}
		out = append(out, of)
	}
	return out, nil
}

// allowsDryRun reports whether launches may be dry runs.
func (t *template) allowsDryRun() bool {
	return t.DryRun || slices.Contains(t.AllowOverrides, "dry_run")
}

type dryRun struct {
	TemplateID string      `json:"template_id"`
	Source     runs.Source `json:"source"`
	Status     string      `json:"status"`
	Checked    bool        `json:"checked"`
	Commit     string      `json:"commit"`
	CreatedAt  time.Time   `json:"created_at"`
	EndedAt    time.Time   `json:"ended_at"`
	ExtraVars  runs.Vars   `json:"extra_vars"`
	target
}

// launch makes a run. The API decides whether the agent may, and what holds the run.
func launch(ctx context.Context, api API, in launchInput) (any, error) {
	forReal := in.DryRun != nil && !*in.DryRun
	if forReal && !in.Confirm {
		return nil, errors.New("a real launch needs confirm: true, after the user has seen what a dry run found")
	}
	p, err := path("/v1/templates", in.Template, "")
	if err != nil {
		return nil, fmt.Errorf("template: %w", err)
	}
	var t template
	if err := get(ctx, api, p, &t); err != nil {
		return nil, err
	}
	body := map[string]any{}
	switch {
	case !t.allowsDryRun():
		err = errors.New("the template allows no dry run, and an agent launches nothing without one before: add dry_run to " +
			"the allow_overrides of the template, or let a person launch it")
	case forReal:
		err = checkDryRun(ctx, api, &in, &t)
	case !in.Confirm:
		err = checkOnly(ctx, api, &t)
	}
	if err != nil {
		return nil, err
	}
	if !forReal && !t.DryRun {
		body["dry_run"] = true
	}
	return submit(ctx, api, &in, p, body)
}

// checkOnly returns an error if a dry run executes a script, which is trusted to change nothing and may do so all the
// same.
func checkOnly(ctx context.Context, api API, t *template) error {
	steps, err := t.launched(ctx, api)
	if err != nil {
		return err
	}
	if t.Executes || slices.ContainsFunc(steps, func(of template) bool { return of.Executes }) {
		return errors.New("a dry run of this template executes scripts (dry_run_executes): it needs confirm: true, after " +
			"the user has agreed to that")
	}
	return nil
}

func submit(ctx context.Context, api API, in *launchInput, template string, body map[string]any) (any, error) {
	for name, v := range map[string]map[string]any{"answers": in.Answers, "extra_vars": in.ExtraVars} {
		if len(v) > 0 {
			body[name] = v
		}
	}
	for name, v := range map[string]*string{"limit": in.Limit, "inventory_id": in.InventoryID, "change": in.Change} {
		if v != nil {
			body[name] = *v
		}
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode the launch: %w", err)
	}
	c := Call{Method: http.MethodPost, Path: template + "/launch", Header: http.Header{}, Body: raw}
	if in.Key != "" {
		c.Header.Set("Idempotency-Key", in.Key)
	}
	got, err := document(ctx, api, c)
	var refused *refusal
	if errors.As(err, &refused) && refused.Reason == identity.NotAllowed.Name {
		return nil, fmt.Errorf("%w\nThe token of an agent launches with the scope launch or operate only; without scopes "+
			"it reads", err)
	}
	return got, err
}

// maxDryRunAge is how long after its end a dry run tells what a launch will do.
const maxDryRunAge = time.Hour

// checkDryRun returns an error unless the real launch follows a recent dry run of the same template as it is now, on
// the same hosts with the same variables.
func checkDryRun(ctx context.Context, api API, in *launchInput, t *template) error {
	if in.DryRunID == "" {
		return errors.New("a real launch needs dry_run_id, the id of a dry run of this template that succeeded: launch " +
			"with dry_run: true first")
	}
	p, err := path("/v1/runs", in.DryRunID, "")
	if err != nil {
		return fmt.Errorf("dry_run_id: %w", err)
	}
	var run dryRun
	a, err := ask(ctx, api, Call{Method: http.MethodGet, Path: p})
	if err == nil {
		err = decode(a.Body, &run)
	}
	if err != nil {
		return fmt.Errorf("dry_run_id: %w", err)
	}
	want := t.target
	set(&want.Limit, in.Limit)
	set(&want.InventoryID, in.InventoryID)
	want.DryRun = true
	switch {
	case run.TemplateID != t.ID || !run.DryRun:
		return errors.New("dry_run_id: the run is no dry run of this template")
	case run.Source != runs.FromTemplate: // a rerun repeats what the template was once
		return fmt.Errorf("dry_run_id: the run is no launch of the template, its source is %s", run.Source)
	case !run.Checked:
		return fmt.Errorf("dry_run_id: the dry run has not succeeded, its status is %s", run.Status)
	case serverTime(a).Sub(run.EndedAt) > maxDryRunAge:
		return fmt.Errorf("dry_run_id: the dry run ended more than %s ago; make another one", maxDryRunAge)
	case run.target != want:
		return errors.New("dry_run_id: the dry run had another limit or another inventory than this launch")
	}
	if err := checkUnchanged(ctx, api, t, &run); err != nil {
		return err
	}
	name, err := differing(t, in, run.ExtraVars)
	if err == nil && name != "" {
		return fmt.Errorf("dry_run_id: the dry run had another value of the variable %q than this launch", name)
	}
	return err
}

// serverTime returns when the server answered: the machine of the command may have another clock.
func serverTime(a Answer) time.Time {
	if at, err := http.ParseTime(a.Header.Get("Date")); err == nil {
		return at
	}
	return clock.System{}.Now() // an answer within the server's process
}

// checkUnchanged returns an error if a template or an inventory was changed since the dry run was submitted, or if the
// server knows a newer commit of the project.
func checkUnchanged(ctx context.Context, api API, t *template, run *dryRun) error {
	steps, err := t.launched(ctx, api)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(append(steps, *t), func(of template) bool { return of.UpdatedAt.After(run.CreatedAt) }) {
		return errors.New("dry_run_id: the template was changed after the dry run; make another one")
	}
	inventories := []string{run.InventoryID}
	for i := range t.Steps {
		inventories = append(inventories, t.Steps[i].InventoryID)
	}
	for i := range steps {
		inventories = append(inventories, steps[i].InventoryID)
	}
	if err := checkInventories(ctx, api, inventories, run); err != nil {
		return err
	}
	if run.Commit == "" || t.ProjectID == "" {
		return nil
	}
	var project struct {
		Commit string `json:"commit"`
	}
	if err := get(ctx, api, "/v1/projects/"+url.PathEscape(t.ProjectID), &project); err != nil {
		return fmt.Errorf("the project of the template: %w", err)
	}
	if project.Commit != "" && project.Commit != run.Commit {
		return errors.New("dry_run_id: the project has another commit than the dry run had; make another one")
	}
	return nil
}

// checkInventories returns an error if one of the inventories was changed since the dry run was submitted, by a refresh
// too. A refresh that finds the same content changes nothing.
func checkInventories(ctx context.Context, api API, ids []string, run *dryRun) error {
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		if id == "" {
			continue
		}
		var inventory struct {
			UpdatedAt time.Time `json:"updated_at"`
		}
		if err := get(ctx, api, "/v1/inventories/"+url.PathEscape(id), &inventory); err != nil {
			return fmt.Errorf("the inventory %s: %w", id, err)
		}
		if inventory.UpdatedAt.After(run.CreatedAt) {
			return fmt.Errorf("dry_run_id: the inventory %s was changed after the dry run was submitted; make another one", id)
		}
	}
	return nil
}

func set(to, from *string) {
	if from != nil {
		*to = *from
	}
}

// get reads a document into out.
func get(ctx context.Context, api API, path string, out any) error {
	a, err := ask(ctx, api, Call{Method: http.MethodGet, Path: path})
	if err != nil {
		return err
	}
	return decode(a.Body, out)
}
