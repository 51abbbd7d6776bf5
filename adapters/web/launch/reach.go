package launch

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
)

// confirmed is from how many hosts a launch without a limit has to be confirmed by typing their number.
const confirmed = 1000

// countField is the field with the typed number of hosts.
const countField = "_count"

// reach is what is known of the hosts of a launch before it is made.
type reach struct {
	text     string // one sentence
	warnings []string
	wrong    string // what is wrong with the limit
	count    int
	fresh    bool // the inventory is refreshed before the run
	confirm  bool // the number has to be typed
	outlook  []outlook
}

// reachOf resolves a limit in an inventory. Without an inventory of the catalog, text says what is known.
func (h *handlers) reachOf(ctx context.Context, inventory, limit, text string) (reach, error) {
	limit = strings.TrimSpace(limit)
	if inventory == "" {
		return reach{text: text}, nil
	}
	found, err := h.Inventories.Resolve(ctx, inventory, limit)
	var f *fault.Error
	switch {
	case errors.As(err, &f) && (f.Kind == fault.Invalid || f.Kind == fault.NotFound):
		return reach{text: unresolvedText, wrong: f.Message}, nil
	case err != nil:
		return reach{}, err //nolint:wrapcheck // a fault
	}
	fresh, err := h.References.RefreshesOnLaunch(ctx, inventory)
	if err != nil {
		return reach{}, err //nolint:wrapcheck // a fault
	}
	v := reach{count: found.Count, warnings: found.Warnings, fresh: fresh, confirm: limit == "" && found.Count > confirmed}
	if fresh {
		v.warnings = append(v.warnings, refreshedText)
	}
	v.text = runsOnText(found.Count, shell.Groups(ctx, h.Inventories, inventory, limit, found))
	if found.Count == 0 {
		v.warnings = append(v.warnings, nothingMatched)
	}
	return v, nil
}

// unconfirmed returns what is wrong with a launch on many hosts without a limit whose number was not typed.
func (h *handlers) unconfirmed(r *shell.Request, inventory, limit string, form url.Values) (string, error) {
	if strings.TrimSpace(limit) != "" || inventory == "" {
		return "", nil
	}
	found, err := h.Inventories.Resolve(r.Context(), inventory, "")
	if err != nil || found.Count <= confirmed {
		return "", nil // the operation says what is wrong with the inventory
	}
	typed := strings.NewReplacer(",", "", ".", "", " ", "").Replace(form.Get(countField))
	if typed == strconv.Itoa(found.Count) {
		return "", nil
	}
	return confirmText(found.Count), nil
}

// inventories are the choices of an inventory, with the one that is chosen.
func (h *handlers) inventories(ctx context.Context, chosen string) ([]shell.Choice, error) {
	list, _, err := h.Inventories.List(ctx, catalog.Filter{}, window())
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	out, there := []shell.Choice{}, chosen == ""
	for _, i := range list {
		out = append(out, shell.Choice{Value: i.ID, Label: i.Name + " (" + shell.Plural(i.Hosts, "host") + ")"})
		there = there || i.ID == chosen
	}
	if !there {
		out = append(out, shell.Choice{Value: chosen, Label: chosen})
	}
	return out, nil
}
