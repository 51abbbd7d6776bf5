package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/runs"
)

func launchTool() sdk.Tool {
	changes := true
	return sdk.Tool{
		Name: "launch_template",
		Description: "Launch a template: as a dry run, which changes nothing, unless dry_run is false. A real launch needs " +
			"confirm, and dry_run_id of a dry run of the same template that succeeded. Ask the user before a real launch. " +
			"Policies can deny the run or hold it until a person approves.",
		Annotations: &sdk.ToolAnnotations{DestructiveHint: &changes},
	}
}

type launchInput struct {
	Template    string         `json:"template" jsonschema:"id of the template"`
	DryRun      *bool          `json:"dry_run,omitempty" jsonschema:"true unless given; false changes hosts"`
	Confirm     bool           `json:"confirm,omitempty" jsonschema:"true if the user has approved this real launch"`
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
	AllowOverrides []string   `json:"allow_overrides"`
	ExtraVars      runs.Vars  `json:"extra_vars"`
	Survey         []question `json:"survey"`
	target
}

// allowsDryRun reports whether launches may be dry runs.
func (t *template) allowsDryRun() bool {
	return t.DryRun || slices.Contains(t.AllowOverrides, "dry_run")
}

type dryRun struct {
	TemplateID string    `json:"template_id"`
	Status     string    `json:"status"`
	Checked    bool      `json:"checked"`
	ExtraVars  runs.Vars `json:"extra_vars"`
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
	case forReal:
		err = checkDryRun(ctx, api, &in, &t)
	case !t.allowsDryRun():
		err = errors.New("the template allows no dry run: dry_run is not in its allow_overrides. A real launch of it needs " +
			"dry_run: false and confirm: true")
	case !t.DryRun:
		body["dry_run"] = true
	}
	if err != nil {
		return nil, err
	}
	return submit(ctx, api, &in, p, body)
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

// checkDryRun returns an error unless the real launch follows a dry run of the same template on the same hosts
// with the same variables. A template that allows no dry run has none.
func checkDryRun(ctx context.Context, api API, in *launchInput, t *template) error {
	if !t.allowsDryRun() {
		return nil
	}
	if in.DryRunID == "" {
		return errors.New("a real launch needs dry_run_id, the id of a dry run of this template that succeeded: launch " +
			"with dry_run: true first")
	}
	p, err := path("/v1/runs", in.DryRunID, "")
	if err != nil {
		return fmt.Errorf("dry_run_id: %w", err)
	}
	var run dryRun
	if err := get(ctx, api, p, &run); err != nil {
		return fmt.Errorf("dry_run_id: %w", err)
	}
	want := t.target
	set(&want.Limit, in.Limit)
	set(&want.InventoryID, in.InventoryID)
	want.DryRun = true
	switch {
	case run.TemplateID != t.ID || !run.DryRun:
		return errors.New("dry_run_id: the run is no dry run of this template")
	case !run.Checked:
		return fmt.Errorf("dry_run_id: the dry run has not succeeded, its status is %s", run.Status)
	case run.target != want:
		return errors.New("dry_run_id: the dry run had another limit or another inventory than this launch")
	}
	name, err := differing(t, in, run.ExtraVars)
	if err == nil && name != "" {
		return fmt.Errorf("dry_run_id: the dry run had another value of the variable %q than this launch", name)
	}
	return err
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
