package estate

import (
	"strconv"
	"strings"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/page"
)

// versionsView are the versions of an inventory, with the difference of one of them if it is chosen.
type versionsView struct {
	Path    string
	List    []catalog.InventoryVersion
	Total   int
	Sources []catalog.InventorySource
	Diff    *catalog.InventoryDiff
	Lines   []diffLine
}

// link leads to what a version changed, or to its content if the version before it is not kept any more.
func (v *versionsView) link(i int) string {
	x, view := v.List[i], viewVersions
	if x.Number > 1 && i == len(v.List)-1 {
		view = viewContent
	}
	return with(v.Path, nil, "view", view, "version", strconv.FormatInt(x.Number, 10))
}

// diffLine is a line of a difference in the unified form: '+', '-', ' ', or '@' above a part.
type diffLine struct {
	Sign byte
	Text string
}

func (h *handlers) fillVersions(r *shell.Request, v *inventoryView) (err error) {
	x := &versionsView{Path: v.Path, Sources: v.Sources}
	if x.List, x.Total, err = h.Versions.Versions(r.Context(), v.ID, page.Window{}); err != nil {
		return err //nolint:wrapcheck // a fault
	}
	v.Versions = x
	number := v.Version
	if number == 0 {
		return nil
	}
	d, err := h.Versions.Diff(r.Context(), v.ID, versionNumber(r.URL.Query().Get("from")), number)
	if err != nil {
		return err //nolint:wrapcheck // a fault
	}
	x.Diff, x.Lines = &d, diffLines(d.Text)
	return nil
}

// fillContent shows the content of the inventory, or of one of its versions.
func (h *handlers) fillContent(r *shell.Request, v *inventoryView) error {
	if v.Version == 0 {
		return nil
	}
	is, err := h.Versions.Version(r.Context(), v.ID, v.Version)
	v.Content, v.Format, v.Digest = is.Content, is.Format, is.Digest
	return err //nolint:wrapcheck // a fault
}

// versionNumber reads the number of a version: 0 if there is none, -1 if it is no number.
func versionNumber(s string) int64 {
	if s == "" {
		return 0
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return -1
	}
	return n
}

func diffLines(text string) (out []diffLine) {
	for line := range strings.Lines(text) {
		out = append(out, diffLine{line[0], strings.TrimSuffix(line, "\n")})
	}
	return out
}

// changedVar writes a variable that differs.
func changedVar(v catalog.ChangedVar) string {
	from, to := valueText(v.From), valueText(v.To)
	switch {
	case v.Had && v.From == nil && v.To == nil, v.Has && v.To == nil && v.From == nil:
		return v.Name
	case !v.Had:
		return v.Name + "=" + to
	case !v.Has:
		return v.Name + "=" + from + " →"
	}
	return v.Name + "=" + from + " → " + to
}

func valueText(v any) string {
	_, text, _ := strings.Cut(varsText(map[string]any{"": v}), "=")
	return text
}
