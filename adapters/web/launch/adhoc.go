package launch

import (
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/a-h/templ"

	"github.com/writ-automation/writ/adapters/web/adviceview"
	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secrets"
)

const (
	adhocPath = "/ui/launch/adhoc"
	adhocForm = "submit-run"
)

// adhocView is the form for one run without a template.
type adhocView struct {
	values      runs.Run // what is filled in: of an earlier run, or of the address
	vars        string
	tools       []shell.Choice
	inventories []shell.Choice
	projects    []shell.Choice
	credentials []shell.Choice
	reach       reach
	redacted    bool // secrets of the earlier run have to be entered again
	draft       *adviceview.Advice
}

func (h *handlers) adhoc(r *shell.Request) (*shell.Page, error) { return h.adhocPage(r, nil, nil) }

func (h *handlers) adhocHosts(r *shell.Request) (*shell.Page, error) {
	form, err := r.Form()
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	r.Keep(form)
	return h.adhocPage(r, form, nil)
}

func (h *handlers) adhocPage(r *shell.Request, form url.Values, draft *adviceview.Advice) (*shell.Page, error) {
	v := &adhocView{draft: draft}
	if err := h.prefill(r, v); err != nil {
		return nil, err
	}
	if err := h.choices(r.Context(), v); err != nil {
		return nil, err
	}
	if s := r.Refused(adhocForm); s != nil {
		form = s.Values
	}
	if v.draft == nil {
		v.draft = keptDraft(form)
	}
	tool, inventory, limit := v.values.Spec.Tool, v.values.Spec.InventoryID, v.values.Spec.Limit
	if form != nil {
		tool, inventory, limit = form.Get("tool"), form.Get("inventory_id"), form.Get("limit")
	}
	text := noInventory
	if tool != runs.Ansible {
		inventory, text = "", executorText
	}
	var err error
	if v.reach, err = h.reachOf(r.Context(), inventory, limit, text); err != nil {
		return nil, err
	}
	return &shell.Page{Title: adhocTitle, Nav: shell.Launch, Body: adhocPage(v),
		Parts: map[string]templ.Component{"reach": reachPart(v.reach)}}, nil
}

// prefill takes the settings of an earlier run, and those that the address names.
func (h *handlers) prefill(r *shell.Request, v *adhocView) error {
	q := r.URL.Query()
	if id := q.Get("from"); id != "" {
		run, err := h.Runs.Get(r.Context(), id)
		if err != nil {
			return err //nolint:wrapcheck // a fault
		}
		v.values = *run
		if vars := run.Vars.Redact(); len(vars) > 0 {
			raw, err := json.MarshalIndent(vars, "", "  ")
			if err != nil {
				return err //nolint:wrapcheck // it was made of JSON
			}
			v.vars, v.redacted = string(raw), strings.Contains(string(raw), runs.Redacted)
		}
	}
	s := &v.values.Spec
	s.Tool = cmp.Or(q.Get("tool"), s.Tool, runs.Ansible)
	s.Playbook, s.Command = cmp.Or(q.Get("playbook"), s.Playbook), cmp.Or(q.Get("command"), s.Command)
	s.InventoryID, s.Limit = cmp.Or(q.Get("inventory_id"), s.InventoryID), cmp.Or(q.Get("limit"), s.Limit)
	s.ProjectID = cmp.Or(q.Get("project_id"), s.ProjectID)
	return nil
}

// choices reads what a run can be made of.
func (h *handlers) choices(ctx context.Context, v *adhocView) error {
	names := h.Tools.Names()
	slices.Sort(names)
	v.tools = shell.Choices(names...)
	var err error
	if v.inventories, err = h.inventories(ctx, v.values.Spec.InventoryID); err != nil {
		return err
	}
	projects, _, err := h.Projects.List(ctx, catalog.Filter{}, window())
	if err != nil {
		return err //nolint:wrapcheck // a fault
	}
	for _, p := range projects {
		v.projects = append(v.projects, shell.Choice{Value: p.ID, Label: p.Name})
	}
	credentials, _, err := h.Credentials.List(ctx, secrets.Filter{}, window())
	for _, c := range credentials {
		v.credentials = append(v.credentials, shell.Choice{Value: c.ID, Label: c.Name + " (" + string(c.Kind) + ")"})
	}
	return err //nolint:wrapcheck // a fault
}

// submit checks what the operation cannot know, and submits the run.
func (h *handlers) submit(r *shell.Request) (*shell.Page, error) {
	form, err := r.Form()
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	if form.Get("tool") == runs.Ansible && !form.Has("_copy") {
		wrong, err := h.unconfirmed(r, form.Get("inventory_id"), form.Get("limit"), form)
		if err != nil {
			return nil, err
		}
		if wrong != "" {
			return nil, r.Again(adhocForm, shell.Invalid(countField, wrong))
		}
	}
	return r.Do(adhocForm, nil) //nolint:wrapcheck // a fault
}

// none is the choice of no object before the others.
func none(label string, list []shell.Choice) []shell.Choice {
	return append([]shell.Choice{{Value: "", Label: label}}, list...)
}
