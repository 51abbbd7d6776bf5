package fleet

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/runs"
)

type handlers struct{ Params }

// New returns the section.
func New(p Params) shell.Section {
	h := &handlers{Params: p}
	read := identity.Need{Kind: "estate", Act: "read"}
	return shell.Section{Name: "fleet", Register: func(s *shell.Shell) {
		s.Get("/ui/fleet", read, h.list)
		s.Get("/ui/fleet/{host}", read, h.host)
		s.Get("/ui/tasks", read, h.tasks)
		s.Get("/ui/queues", identity.Need{Kind: "worker", Act: "read"}, h.queues)
		s.Post("/ui/queues/tokens", identity.Need{Kind: "worker_token", Act: "mint"}, h.mint)
	}}
}

const (
	window   = 12   // outcomes that a row shows
	perPage  = 100  // rows of a page that is not folded
	scanned  = 1000 // hosts that are ranked for the sentence and folded, the troubled ones first
	foldFrom = 50   // hosts from which on the list is folded unless the reader chooses
	named    = 50   // hosts that a fold names
)

// hostsView is the list of hosts.
type hostsView struct {
	Query    string
	Folded   bool
	Rows     []hostFold
	Summary  string
	Range    string
	Newer    string
	Older    string
	Total    int
	Unfolded string // the addresses of both forms
	Fold     string
}

// hostFold is a host, or several with equal recent outcomes.
type hostFold struct {
	estate.HostRank
	Hosts []string
}

func (h *handlers) list(r *shell.Request) (*shell.Page, error) {
	q := r.URL.Query()
	v := hostsView{Query: strings.TrimSpace(q.Get("q"))}
	offset := number(q.Get("offset"))
	top, err := h.Fleet.Hosts(r.Context(), estate.FleetQuery{Window: window, Search: v.Query, Limit: scanned})
	if err != nil {
		return nil, err
	}
	v.Total, v.Summary = top.Total, hostsText(v.Query, top)
	v.Folded = q.Get("view") == "folded" || q.Get("view") == "" && offset == 0 && top.Total >= foldFrom
	v.Fold, v.Unfolded = address(v.Query, "folded", 0), address(v.Query, "plain", 0)
	if v.Folded {
		offset, v.Rows = 0, fold(top.Rows)
		v.Range = foldedText(len(top.Rows), top.Total)
		if top.Total > len(top.Rows) {
			v.Older = address(v.Query, "plain", len(top.Rows))
		}
	} else if err := h.plain(r, &v, top, offset); err != nil {
		return nil, err
	}
	list := listPage(v)
	return &shell.Page{Title: "Fleet", Nav: shell.Fleet, Body: list,
		Parts: map[string]templ.Component{"hosts": hostTable(v)}}, nil
}

// plain fills the view with a page of hosts, one a row.
func (h *handlers) plain(r *shell.Request, v *hostsView, top estate.FleetPage[estate.HostRank], offset int) error {
	rows := top.Rows[min(offset, len(top.Rows)):min(offset+perPage, len(top.Rows))]
	if offset+perPage > len(top.Rows) && top.Total > len(top.Rows) {
		p, err := h.Fleet.Hosts(r.Context(), estate.FleetQuery{Window: window, Search: v.Query, Limit: perPage,
			Offset: offset})
		if err != nil {
			return err
		}
		rows = p.Rows
	}
	for _, x := range rows {
		v.Rows = append(v.Rows, hostFold{HostRank: x, Hosts: []string{x.Host}})
	}
	v.Range = rangeText(offset, len(rows), top.Total, "host")
	if offset > 0 {
		v.Newer = address(v.Query, "plain", max(0, offset-perPage))
	}
	if offset+len(rows) < top.Total && len(rows) > 0 {
		v.Older = address(v.Query, "plain", offset+perPage)
	}
	return nil
}

// fold joins hosts with equal recent outcomes. Each fold has the place of its first host.
func fold(list []estate.HostRank) []hostFold {
	at, out := map[string]int{}, []hostFold{}
	for _, x := range list {
		key := signature(x)
		if i, ok := at[key]; ok {
			out[i].Hosts = append(out[i].Hosts, x.Host)
			continue
		}
		at[key] = len(out)
		out = append(out, hostFold{HostRank: x, Hosts: []string{x.Host}})
	}
	return out
}

func signature(x estate.HostRank) string {
	var b strings.Builder
	for _, o := range x.Recent {
		b.WriteString(string(o.Outcome) + " ")
	}
	return b.String()
}

func outcomes(list []estate.RunResult) []runs.Outcome {
	out := make([]runs.Outcome, len(list))
	for i, x := range list {
		out[len(list)-1-i] = x.Outcome
	}
	return out
}

func address(query, view string, offset int) string {
	q := url.Values{}
	for name, v := range map[string]string{"q": query, "view": view} {
		if v != "" {
			q.Set(name, v)
		}
	}
	if offset > 0 {
		q.Set("offset", strconv.Itoa(offset))
	}
	return "/ui/fleet?" + q.Encode()
}

// number reads an offset; what is no number is 0.
func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > maxOffset {
		return 0
	}
	return n
}

const maxOffset = 10_000_000

func hostPath(host string) string { return "/ui/fleet/" + url.PathEscape(host) }
