package launch

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/a-h/templ"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
)

// maxChoices bounds the choices of a field.
const maxChoices = 500

func window() page.Window { return page.Window{Limit: maxChoices} }

const launchForm = "launch-template"

// templateView is the page of a template: the form that launches it, what it executes, and its runs.
type templateView struct {
	catalog.Template
	fields      []shell.FieldSpec // of the survey
	credentials []shell.Choice    // of which a launch chooses
	inventories []shell.Choice    // if a launch may choose one
	place       string            // the name of the inventory
	project     string
	from        *runs.Run // an earlier run whose inputs are filled in
	reach       reach
	runs        []*runs.Run
}

func (v *templateView) allows(override string) bool {
	return slices.Contains(v.AllowOverrides, override)
}

// path is the address of the page.
func (v *templateView) path() string { return "/ui/launch/" + url.PathEscape(v.ID) }

func (h *handlers) template(r *shell.Request) (*shell.Page, error) {
	return h.templatePage(r, nil)
}

// templateHosts shows the page with what was entered, and the hosts that it selects.
func (h *handlers) templateHosts(r *shell.Request) (*shell.Page, error) {
	form, err := r.Form()
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	r.Keep(form)
	return h.templatePage(r, form)
}

// templatePage makes the page. form is what was entered, nil for the page as it is at first.
func (h *handlers) templatePage(r *shell.Request, form url.Values) (*shell.Page, error) {
	ctx := r.Context()
	t, err := h.Templates.Get(ctx, r.PathValue("tpl"))
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	v := &templateView{Template: t}
	if id := r.URL.Query().Get("from"); id != "" {
		if v.from, err = h.Runs.Get(ctx, id); err != nil {
			return nil, err //nolint:wrapcheck // a fault
		}
	}
	if err := h.fill(ctx, v); err != nil {
		return nil, err
	}
	if s := r.Refused(launchForm); s != nil {
		form = s.Values
	}
	inventory, limit := v.selected(form)
	if v.reach, err = h.reachOf(ctx, inventory, limit, where(&t.TemplateSpec)); err != nil {
		return nil, err
	}
	if v.reach.wrong == "" {
		if v.reach.outlook, err = h.outlook(r, v, inventory, limit); err != nil {
			return nil, err
		}
	}
	return &shell.Page{Title: t.Name, Nav: shell.Launch, Body: templatePage(v),
		Parts: map[string]templ.Component{"reach": reachPart(v.reach)}}, nil
}

// fill reads what the fields need.
func (h *handlers) fill(ctx context.Context, v *templateView) error {
	list, err := questions(v.Survey)
	if err != nil {
		return err
	}
	for i := range list {
		var before []byte
		if v.from != nil {
			before = v.from.Vars[list[i].Var]
		}
		v.fields = append(v.fields, list[i].field(before))
	}
	for _, id := range v.SelectableCredentialIDs {
		name := id
		if c, err := h.Credentials.Get(ctx, id); err == nil { // one that the viewer may not read keeps its id
			name = c.Name
		}
		v.credentials = append(v.credentials, shell.Choice{Value: id, Label: name})
	}
	if v.allows("inventory_id") {
		if v.inventories, err = h.inventories(ctx, v.InventoryID); err != nil {
			return err
		}
	}
	if v.InventoryID != "" {
		v.place = v.InventoryID
		if i, err := h.Inventories.Get(ctx, v.InventoryID); err == nil {
			v.place = i.Name
		}
	}
	if v.ProjectID != "" {
		v.project = v.ProjectID
		if p, err := h.Projects.Get(ctx, v.ProjectID); err == nil {
			v.project = p.Name
		}
	}
	recent, err := h.Runs.List(ctx, runs.Filter{Templates: []string{v.ID}, Limit: maxOutcome, SkipTotal: true})
	if err == nil {
		v.runs = recent.Runs
	}
	return err //nolint:wrapcheck // a fault
}

// selected returns the inventory and the limit of a launch: what was entered, where the template allows it.
func (v *templateView) selected(form url.Values) (inventory, limit string) {
	inventory, limit = v.InventoryID, v.limit()
	if !v.plays() {
		return "", ""
	}
	if v.allows("inventory_id") && form.Has("inventory_id") {
		inventory = cmp.Or(form.Get("inventory_id"), inventory)
	}
	if v.allows("limit") && form.Has("limit:text") {
		limit = form.Get("limit:text")
	}
	return inventory, limit
}

// plays reports whether the template reaches the hosts of one inventory.
func (v *templateView) plays() bool {
	return !v.Workflow() && cmp.Or(v.Tool, runs.Ansible) == runs.Ansible && v.InventoryQuery == ""
}

// limit is that of an earlier run, else that of the template.
func (v *templateView) limit() string {
	if v.from != nil && v.allows("limit") {
		return v.from.Spec.Limit
	}
	return v.Limit
}

// launch checks what the operation cannot know, and launches.
func (h *handlers) launch(r *shell.Request) (*shell.Page, error) {
	form, err := r.Form()
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	id := r.PathValue("tpl")
	t, err := h.Templates.Get(r.Context(), id)
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	inventory, limit := (&templateView{Template: t}).selected(form)
	wrong, err := h.unconfirmed(r, inventory, limit, form)
	if err != nil {
		return nil, err
	}
	if wrong != "" && !form.Has("_copy") {
		return nil, r.Again(launchForm, shell.Invalid(countField, wrong))
	}
	return r.Do(launchForm, map[string]string{"id": id}) //nolint:wrapcheck // a fault
}

// where says where a template runs whose hosts are not resolved.
func where(t *catalog.TemplateSpec) string {
	switch {
	case t.Workflow():
		return stepsText(len(t.Steps))
	case t.InventoryQuery != "":
		return queryText
	case cmp.Or(t.Tool, runs.Ansible) != runs.Ansible:
		return executorText
	case t.Inventory != "":
		return pathText(t.Inventory)
	}
	return noInventory
}

// joined lists the values of a template for the help of a field that replaces them.
func joined(values []string) string {
	if len(values) == 0 {
		return emptyMeansNone
	}
	return emptyMeans + strings.Join(values, ", ") + "."
}
