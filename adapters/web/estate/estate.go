package estate

import (
	"net/url"
	"strconv"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/identity"
)

type handlers struct{ Params }

// New returns the section.
func New(p Params) shell.Section {
	h := &handlers{Params: p}
	facts := identity.Need{Kind: "estate", Act: "read"}
	catalog := identity.Need{Kind: "catalog", Act: "read"}
	return shell.Section{Name: "estate", Register: func(s *shell.Shell) {
		s.Get("/ui/estate", facts, h.at)
		s.Get("/ui/inventories", catalog, h.inventories)
		s.Get("/ui/inventories/{id}", catalog, h.inventory)
		s.Get("/ui/drift", identity.Need{Kind: "drift", Act: "read"}, h.drift)
		s.Post("/ui/drift/reconcile", identity.Need{Kind: "drift", Act: "reconcile"}, h.reconcile)
		s.Get("/ui/changes", facts, h.changes)
		s.Get("/ui/changes/{label}", facts, h.change)
	}}
}

const maxOffset = 10_000_000

// number reads an offset; what is no number is 0.
func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > maxOffset {
		return 0
	}
	return n
}

// with returns a query with some values replaced; an empty value removes its name.
func with(path string, q url.Values, pairs ...string) string {
	out := url.Values{}
	for name, v := range q {
		out[name] = v
	}
	out.Del("sheet")
	for i := 0; i+1 < len(pairs); i += 2 {
		if out.Del(pairs[i]); pairs[i+1] != "" {
			out.Set(pairs[i], pairs[i+1])
		}
	}
	if len(out) == 0 {
		return path
	}
	return path + "?" + out.Encode()
}

// pager returns the addresses of the pages before and after the rows of one.
func pager(path string, q url.Values, offset, shown, perPage, total int) (newer, older string) {
	if offset > 0 {
		before := ""
		if n := max(0, offset-perPage); n > 0 {
			before = strconv.Itoa(n)
		}
		newer = with(path, q, "offset", before)
	}
	if shown > 0 && offset+shown < total {
		older = with(path, q, "offset", strconv.Itoa(offset+perPage))
	}
	return newer, older
}
