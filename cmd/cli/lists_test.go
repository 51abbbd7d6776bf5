package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// longLists is a server whose lists have 2300 rows, in pages of at most 1000, and drift on 1200 hosts.
func longLists(t *testing.T) (url string) {
	t.Helper()
	const total, most = 2300, 1000
	number := func(r *http.Request, parameter string, without int) int {
		if n, err := strconv.Atoi(r.URL.Query().Get(parameter)); err == nil {
			return n
		}
		return without
	}
	rows := func(r *http.Request, from, total int) (list []obj) {
		for i := from; i < min(total, from+min(number(r, "limit", most), most)); i++ {
			list = append(list, obj{"id": "row_" + strconv.Itoa(i), "host": "h", "change": "c", "role": "viewer"})
		}
		return append([]obj{}, list...)
	}
	mux := http.NewServeMux()
	answer := func(path string, body func(r *http.Request) obj) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) { _ = json.NewEncoder(w).Encode(body(r)) })
	}
	for path, list := range map[string]string{"/v1/fleet": "hosts", "/v1/changes": "changes", "/v1/tokens": "tokens",
		"/v1/users": "users", "/v1/changes/{change}": "runs", "/v1/projects": "projects"} {
		answer(path, func(r *http.Request) obj {
			return obj{list: rows(r, number(r, "offset", 0), total), "total": total}
		})
	}
	answer("/v1/runs", func(r *http.Request) obj {
		from := number(r, "cursor", 0)
		list := rows(r, from, total)
		next, end := "", from+len(list)
		if end < total {
			next = strconv.Itoa(end)
		}
		return obj{"runs": list, "total": most, "total_capped": true, "has_more": end < total, "next_cursor": next,
			"next_offset": len(list)}
	})
	answer("/v1/audit", func(r *http.Request) obj {
		from := number(r, "before", 0)
		list := rows(r, from, total)
		return obj{"entries": list, "next_before": from + len(list)}
	})
	answer("/v1/drift", func(r *http.Request) obj {
		from := number(r, "offset", 0)
		return obj{"resources": rows(r, from, total), "coverage": rows(r, from, 1200), "total": total, "hosts": 1200}
	})
	answer("/v1/estate", func(r *http.Request) obj {
		n := min(number(r, "limit", total), total)
		return obj{"hosts": make([]obj, n), "has_more": n < total}
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

// TestListsReadEveryPage: a list is read to its limit or to its end, each row once, and says where it was cut off.
func TestListsReadEveryPage(t *testing.T) {
	t.Parallel()
	do := nounCall(t, longLists(t))
	const more = "--limit shows more"
	for _, c := range []struct{ command, list, cut string }{
		{"runs", "runs", "1500 of more than 1000 runs; " + more}, {"run list", "runs", more},
		{"hosts", "hosts", "1500 of 2300 hosts; " + more}, {"changes", "changes", "1500 of 2300 changes; " + more},
		{"change show c", "runs", "1500 of 2300 runs"}, {"project list", "projects", "the first 1500 projects; " + more},
		{"token list", "tokens", "the first 1500 tokens; " + more}, {"user list", "users", "the first 1500 users; " + more},
		{"drift", "resources", "the first 1500 resources, and hosts; " + more},
		{"audit list", "entries", "the first 1500 entries of the trail; " + more},
	} {
		for limit, want := range map[string]string{"5000": "2300 2300\n", "1500": "1500 1500\n", "7": "7 7\n"} {
			count := `"\(.` + c.list + `|length) \([.` + c.list + `[].id]|unique|length)"`
			args := append(strings.Fields(c.command), "--limit", limit)
			if code, out, errs := do(append(args, "--jq", count)...); code != exitDone || out != want {
				t.Errorf("%s: %d %s, want %s%s", args, code, out, want, errs)
			}
		}
		code, out, errs := do(append(strings.Fields(c.command), "--limit", "1500")...)
		if code != exitDone || !strings.Contains(out+errs, c.cut) {
			t.Errorf("%s: %d, no %q in %.300s %s", c.command, code, c.cut, out, errs)
		}
	}
	if _, out, _ := do("drift", "--limit", "1500", "--jq", ".coverage|length"); out != "1200\n" {
		t.Errorf("coverage of %s", out)
	}
	_, out, errs := do("estate", "--limit", "3")
	if _, all, _ := do("estate", "--jq", ".hosts|length"); all != "2300\n" || strings.Count(out, "\n") != 4 ||
		!strings.Contains(errs, "the first 3 hosts; "+more) {
		t.Errorf("estate: %s %s%s", all, out, errs)
	}
}

// drawings counts what is drawn, and ends a command at the second drawing.
type drawings struct {
	of  []byte
	end context.CancelFunc
	n   int
}

func (d *drawings) Write(p []byte) (int, error) {
	if d.n += bytes.Count(p, d.of); d.n >= 2 {
		d.end()
	}
	return len(p), nil
}

// TestWatchFlag: with --watch a command draws again, and a list begins with its first page again.
func TestWatchFlag(t *testing.T) {
	t.Parallel()
	url := longLists(t)
	var all sync.WaitGroup
	for _, c := range [][2]string{
		{"audit list --limit 1 --watch --jq .entries[].id", "row_0"}, {"runs --limit 1 --watch", "row_0"},
		{"token list --limit 1 --watch", "row_0"}, {"estate --limit 1 --watch", "HOST"},
	} {
		all.Go(func() {
			ctx, end := context.WithTimeout(t.Context(), time.Minute)
			defer end()
			d := &drawings{end: end, of: []byte(c[1])}
			w := environment{out: d, err: io.Discard, in: strings.NewReader(""), environ: []string{"WRIT_SERVER=" + url}}
			if code := execute(ctx, w, strings.Fields(c[0])); code != exitDone || d.n < 2 {
				t.Errorf("%s: %d, drew %d times", c[0], code, d.n)
			}
		})
	}
	all.Wait()
}
