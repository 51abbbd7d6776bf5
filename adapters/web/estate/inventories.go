package estate

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/a-h/templ"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/page"
)

const (
	listed     = page.MaxRows // inventories and sources that are read at once
	hostsPage  = 200
	maxTree    = 2000    // lines of the tree of groups
	maxDepth   = 30      // levels of the tree
	maxContent = 1 << 20 // bytes of the content that are shown
)

type inventoryRow struct {
	catalog.Inventory
	Sources []catalog.InventorySource
}

// failed returns the first source whose last refresh failed.
func (r inventoryRow) failed() *catalog.InventorySource {
	for i := range r.Sources {
		if r.Sources[i].LastError != "" {
			return &r.Sources[i]
		}
	}
	return nil
}

type inventoriesView struct {
	Query, Sentence, Range string
	Rows                   []inventoryRow
	Total                  int
}

func (h *handlers) inventories(r *shell.Request) (*shell.Page, error) {
	v := inventoriesView{Query: strings.TrimSpace(r.URL.Query().Get("q"))}
	list, total, err := h.Inventories.List(r.Context(), catalog.Filter{}, page.Window{Limit: listed})
	if err != nil {
		return nil, err
	}
	of, err := h.sourcesOf(r)
	if err != nil {
		return nil, err
	}
	find, hosts, failing := strings.ToLower(v.Query), 0, 0
	for _, i := range list {
		row := inventoryRow{Inventory: i, Sources: of[i.ID]}
		hosts += i.Hosts
		if row.failed() != nil {
			failing++
		}
		if find == "" || strings.Contains(strings.ToLower(i.Name), find) {
			v.Rows = append(v.Rows, row)
		}
	}
	v.Total, v.Sentence = total, inventoriesText(total, hosts, failing)
	v.Range = rangeText(0, len(v.Rows), total, "inventory", "inventories")
	return &shell.Page{Title: "Inventories", Nav: shell.Fleet, Body: inventoriesPage(v),
		Parts: map[string]templ.Component{"inventories": inventoryTable(v)}}, nil
}

// sourcesOf returns the sources by the inventory that they fill.
func (h *handlers) sourcesOf(r *shell.Request) (map[string][]catalog.InventorySource, error) {
	list, _, err := h.Sources.List(r.Context(), catalog.Filter{}, page.Window{Limit: listed})
	if err != nil {
		return nil, err
	}
	out := map[string][]catalog.InventorySource{}
	for _, s := range list {
		out[s.InventoryID] = append(out[s.InventoryID], s)
	}
	return out, nil
}

// inventoryView is the page of one inventory with one of its views.
type inventoryView struct {
	catalog.Inventory
	View, Path   string
	Sources      []catalog.InventorySource
	Tree         []node
	TreeCut      bool
	Hosts        []catalog.HostEntry
	HostTotal    int
	Range        string
	Newer, Older string
	Lines        []string
	ContentCut   bool
	Limit        string
	Resolved     *catalog.Resolution
	Refused      string
	Version      int64 // whose difference or content is shown; 0 for none
	Versions     *versionsView
}

// node is a line of the tree of groups. A group below several others has a line below each.
type node struct {
	Name   string
	Hosts  int
	Level  int
	Parent bool // it has lines below it
	Again  bool // its children are shown where it is first
}

// The views of an inventory.
const (
	viewGroups   = "groups"
	viewHosts    = "hosts"
	viewContent  = "content"
	viewSources  = "sources"
	viewVersions = "versions"
)

func (h *handlers) inventory(r *shell.Request) (*shell.Page, error) {
	id, q := r.PathValue("id"), r.URL.Query()
	i, err := h.Inventories.Get(r.Context(), id)
	if err != nil {
		return nil, err
	}
	v := inventoryView{Inventory: i, Path: inventoryPath(id), View: q.Get("view"), Limit: q.Get("limit"),
		Version: versionNumber(q.Get("version"))}
	of, err := h.sourcesOf(r)
	if err != nil {
		return nil, err
	}
	v.Sources = of[id]
	switch v.View {
	case viewHosts:
		offset := number(q.Get("offset"))
		v.Hosts, v.HostTotal, err = h.Inventories.Hosts(r.Context(), id, page.Window{Offset: offset, Limit: hostsPage})
		v.Range = rangeText(offset, len(v.Hosts), v.HostTotal, "host")
		v.Newer, v.Older = pager(v.Path, q, offset, len(v.Hosts), hostsPage, v.HostTotal)
	case viewContent:
		err = h.fillContent(r, &v)
		text := v.Content
		if v.ContentCut = len(text) > maxContent; v.ContentCut {
			text = bytes.ToValidUTF8(text[:maxContent], nil)
		}
		v.Lines = strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	case viewSources:
	case viewVersions:
		err = h.fillVersions(r, &v)
	default:
		v.View = viewGroups
		var groups []catalog.GroupEntry
		groups, err = h.Inventories.Groups(r.Context(), id)
		v.Tree, v.TreeCut = tree(groups)
	}
	if err == nil && q.Has("limit") {
		err = h.resolve(r, &v)
	}
	if err != nil {
		return nil, err
	}
	return &shell.Page{Title: i.Name, Nav: shell.Fleet, Body: inventoryPage(v),
		Parts: map[string]templ.Component{"resolved": resolved(v)}}, nil
}

// resolve adds the hosts that a limit selects, or why it selects none.
func (h *handlers) resolve(r *shell.Request, v *inventoryView) error {
	set, err := h.Inventories.Resolve(r.Context(), v.ID, v.Limit)
	var f *fault.Error
	switch {
	case err == nil:
		v.Resolved = &set
	case errors.As(err, &f) && f.Kind == fault.Invalid:
		v.Refused = f.Message
	default:
		return err //nolint:wrapcheck // a fault
	}
	return nil
}

// tree returns the groups as lines. The parser refuses circles; the bounds keep a group below many from repeating
// without end.
func tree(groups []catalog.GroupEntry) (out []node, cut bool) {
	of := map[string]catalog.GroupEntry{}
	for _, g := range groups {
		of[g.Name] = g
	}
	shown := map[string]bool{}
	var walk func(name string, level int)
	walk = func(name string, level int) {
		g, ok := of[name]
		if !ok || name == "ungrouped" && g.Hosts == 0 {
			return
		}
		if len(out) == maxTree || level > maxDepth {
			cut = true
			return
		}
		again := shown[name] && len(g.Children) > 0
		out = append(out, node{Name: name, Hosts: g.Hosts, Level: level, Parent: len(g.Children) > 0 && !again,
			Again: again})
		if shown[name] = true; again {
			return
		}
		for _, c := range g.Children {
			walk(c, level+1)
		}
	}
	walk("all", 1)
	return out, cut
}

// varsText writes the variables of a host as one line each.
func varsText(vars map[string]any) string {
	names := make([]string, 0, len(vars))
	for name := range vars {
		names = append(names, name)
	}
	slices.Sort(names)
	var b strings.Builder
	for i, name := range names {
		if i > 0 {
			b.WriteString(", ")
		}
		text, err := json.Marshal(vars[name])
		if err != nil {
			text = []byte("?")
		}
		b.WriteString(name + "=" + strings.Trim(string(text), `"`))
	}
	if b.Len() > maxVars {
		return strings.ToValidUTF8(b.String()[:maxVars], "") + "…"
	}
	return b.String()
}

const maxVars = 600
