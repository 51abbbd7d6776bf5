package overview

import (
	"bufio"
	"context"
	"io/fs"
	"net/url"
	"strings"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/docs"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
)

// Bounds of what is found: all in all, of a kind, and the records that are looked through for one kind.
const (
	foundShown = 12
	foundEach  = 4
	runsTried  = 500
)

// found is something that a search leads to.
type found struct {
	Text string `json:"text"`
	Kind string `json:"kind"`
	Path string `json:"path"`
}

// findView is the page of a search without script.
type findView struct {
	Q     string
	Found []found
}

func (h *handlers) find(r *shell.Request) (*shell.Page, error) {
	word := strings.TrimSpace(r.URL.Query().Get("q"))
	list, err := h.search(r, word)
	if err != nil {
		return nil, err
	}
	if r.URL.Query().Get("format") == "json" {
		return nil, r.JSON(map[string][]found{"found": list})
	}
	return &shell.Page{Title: findTitle, Body: findPage(findView{word, list})}, nil
}

// search looks for pages first, then for records by their names, and for guides last.
func (h *handlers) search(r *shell.Request, word string) ([]found, error) {
	out := matching(pages(r), word, foundShown)
	if word == "" {
		return out, nil
	}
	for _, look := range []func(context.Context, *shell.Request, string) ([]found, error){
		h.findRuns, h.findHosts, h.findTemplates, h.findProjects, h.findInventories, h.findAccounts,
	} {
		list, err := look(r.Context(), r, word)
		if err != nil {
			return nil, err
		}
		out = append(out, list[:min(len(list), foundEach)]...)
	}
	out = append(out, matching(h.guides(), word, foundEach)...)
	if len(out) == 0 {
		out = []found{}
	}
	return out[:min(len(out), foundShown)], nil
}

// matching returns the first entries whose texts have a word that begins with the search.
func matching(list []found, word string, limit int) []found {
	out := []found{}
	for _, f := range list {
		if len(out) < limit && begins(f.Text, word) {
			out = append(out, f)
		}
	}
	return out
}

// begins reports whether a text, or a word of it, begins with another text in any case.
func begins(text, with string) bool {
	text, with = strings.ToLower(text), strings.ToLower(with)
	return strings.HasPrefix(text, with) || strings.Contains(text, " "+with)
}

// pages are those of the navigation that the viewer may see.
func pages(r *shell.Request) []found {
	list := []found{{"Overview", pageKind, "/ui/"}, {"Runs", pageKind, "/ui/runs"}}
	if r.Viewer.Operator() {
		list = append(list, found{"Approvals", pageKind, "/ui/approvals"},
			found{"Run a command", pageKind, "/ui/launch/adhoc"})
	}
	list = append(list, found{"Launch, templates", pageKind, "/ui/launch"}, found{"Schedules", pageKind, "/ui/schedules"},
		found{"Triggers", pageKind, "/ui/triggers"}, found{"Projects", pageKind, "/ui/projects"},
		found{"Fleet, hosts", pageKind, "/ui/fleet"}, found{"Inventories", pageKind, "/ui/inventories"},
		found{"Estate", pageKind, "/ui/estate"}, found{"Drift", pageKind, "/ui/drift"}, found{"Tasks", pageKind, "/ui/tasks"},
		found{"Queues and workers", pageKind, "/ui/queues"}, found{"Changes", pageKind, "/ui/changes"},
		found{"Trust", pageKind, "/ui/trust"}, found{"Verify the trail", pageKind, "/ui/trust/verify"},
		found{"Policies", pageKind, "/ui/trust/policies"}, found{"Windows", pageKind, "/ui/trust/windows"})
	if r.Viewer.Advice && r.May("ai", "read") {
		list = append(list, found{"Ask a language model", pageKind, shell.AskPath})
	}
	if r.Viewer.Admin() {
		list = append(list, found{"Settings, people", pageKind, "/ui/settings"}, found{"Trail", pageKind, "/ui/trust/trail"},
			found{"Access", pageKind, "/ui/settings/access"}, found{"Tokens", pageKind, "/ui/settings/tokens"},
			found{"Credentials", pageKind, "/ui/settings/credentials"},
			found{"Notifications", pageKind, "/ui/settings/notifications"},
			found{"Doctor", pageKind, "/ui/settings/doctor"}, found{"Extensions", pageKind, shell.ExtensionsPath},
			found{"Licence", pageKind, "/ui/settings/licence"})
	}
	return append(list, found{"Account", pageKind, "/ui/account"}, found{"Help", pageKind, "/ui/help"})
}

// findRuns finds a run by its whole id, by the end of the id among the newest runs, and by words.
func (h *handlers) findRuns(ctx context.Context, _ *shell.Request, word string) ([]found, error) {
	if strings.HasPrefix(word, string(ids.Run)) {
		r, err := h.Work.Runs.Get(ctx, word)
		if err == nil {
			return []found{foundRun(r)}, nil
		}
		if !fault.Is(err, fault.NotFound) {
			return nil, err
		}
	}
	var out []found
	if end := strings.ToLower(strings.TrimPrefix(word, "#")); len(end) >= 4 && !strings.ContainsAny(end, " ") {
		list, err := h.Work.Runs.List(ctx, runs.Filter{Limit: runsTried, SkipTotal: true})
		if err != nil {
			return nil, err
		}
		for _, r := range list.Runs {
			if strings.HasSuffix(r.ID, end) && len(out) < foundEach {
				out = append(out, foundRun(r))
			}
		}
	}
	if words := strings.Fields(word); len(out) == 0 {
		list, err := h.Work.Runs.List(ctx, runs.Filter{Terms: words[:min(len(words), foundEach)], Limit: foundEach,
			SkipTotal: true})
		if err != nil {
			return nil, err
		}
		for _, r := range list.Runs {
			out = append(out, foundRun(r))
		}
	}
	return out, nil
}

func foundRun(r *runs.Run) found {
	state := shell.StateOf(r.Status, r.Spec.DryRun).Word
	return found{short(shell.RunName(r)) + " " + shell.ShortID(r.ID), "run, " + strings.ToLower(state), "/ui/runs/" + r.ID}
}

func (h *handlers) findHosts(ctx context.Context, _ *shell.Request, word string) ([]found, error) {
	list, err := h.Fleet.Hosts.Hosts(ctx, estate.FleetQuery{Window: 1, Search: word, Limit: hostsRead})
	var out []found
	for _, x := range list.Rows {
		if strings.HasPrefix(strings.ToLower(x.Host), strings.ToLower(word)) {
			out = append(out, found{short(x.Host), "host", "/ui/fleet/" + url.PathEscape(x.Host)})
		}
	}
	return out, err
}

// named makes entries of a window of records.
func named[T any](list []T, word, kind, path string, of func(*T) (id, name string)) []found {
	var out []found
	for i := range list {
		if id, name := of(&list[i]); begins(name, word) {
			out = append(out, found{short(name), kind, path + url.PathEscape(id)})
		}
	}
	return out
}

func (h *handlers) findTemplates(ctx context.Context, _ *shell.Request, word string) ([]found, error) {
	list, _, err := h.Names.Templates.List(ctx, catalog.Filter{}, page.Window{})
	return named(list, word, "template", "/ui/launch/", func(t *catalog.Template) (string, string) {
		return t.ID, t.Name
	}), err
}

func (h *handlers) findProjects(ctx context.Context, _ *shell.Request, word string) ([]found, error) {
	list, _, err := h.Names.Projects.List(ctx, catalog.Filter{}, page.Window{})
	return named(list, word, "project", "/ui/projects/", func(p *catalog.Project) (string, string) {
		return p.ID, p.Name
	}), err
}

func (h *handlers) findInventories(ctx context.Context, _ *shell.Request, word string) ([]found, error) {
	list, _, err := h.Names.Inventories.List(ctx, catalog.Filter{}, page.Window{})
	return named(list, word, "inventory", "/ui/inventories/", func(i *catalog.Inventory) (string, string) {
		return i.ID, i.Name
	}), err
}

// findAccounts finds accounts, for administrators.
func (h *handlers) findAccounts(ctx context.Context, r *shell.Request, word string) ([]found, error) {
	if !r.Viewer.Admin() {
		return nil, nil
	}
	list, _, err := h.Names.Accounts.List(ctx, page.Window{})
	var out []found
	for _, a := range list {
		if begins(a.Username, word) {
			out = append(out, found{a.Username, "person", "/ui/settings?q=" + url.QueryEscape(a.Username)})
		}
	}
	return out, err
}

// guides returns the pages of the manual, by their headings.
func guides() []found {
	var out []found
	names, _ := fs.Glob(docs.Pages, "*/*.md") // the pattern is a good one
	for _, name := range names {
		out = append(out, found{heading(name), "guide", "/ui/help/" + strings.TrimSuffix(name, ".md")})
	}
	return out
}

// heading returns the first line of a page without its mark.
func heading(name string) string {
	f, err := docs.Pages.Open(name)
	if err != nil {
		return name
	}
	defer func() { _ = f.Close() }()
	s := bufio.NewScanner(f)
	s.Scan()
	return strings.TrimSpace(strings.TrimLeft(s.Text(), "# "))
}
