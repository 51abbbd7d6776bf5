package contract

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/identity"
)

const play = `- hosts: all
  gather_facts: false
  tasks:
    - name: Install packages
      debug: {msg: hello}
`

// known creates runs of every kind that a filter distinguishes, by name.
func known(t *testing.T, s *harness.Server, by map[identity.Role]string) map[string]harness.Run {
	t.Helper()
	playbook, hosts := file(t, "zebra.yml", play),
		file(t, "hosts", "web1 ansible_connection=local\ndb1 ansible_connection=local\n")
	with := func(name string, body harness.Body, more ...any) harness.Body {
		body["name"] = name
		for i := 0; i+1 < len(more); i += 2 {
			body[more[i].(string)] = more[i+1]
		}
		return body
	}
	operator := s.As(by[identity.Operator])
	made := map[string]harness.Run{}
	add := func(r harness.Run) { made[r.Name] = r }
	add(s.Submit(with("good", bash("echo marmalade"), "labels", harness.Body{"team": "core", "env": "prod"}, "change",
		"CHG-1")))
	add(s.Submit(with("bad", bash("exit 3"), "labels", harness.Body{"team": "core"}, "change", "CHG-2")))
	add(operator.Submit(with("waits", bash("true"), "queue", "parked", "labels", harness.Body{"team": "edge"})))
	add(s.Submit(with("held", bash("true"), "require_approval", true)))
	add(s.Submit(with("no", bash("true"), "require_approval", true)))
	add(operator.Submit(with("stopped", bash("true"), "queue", "parked")))
	add(s.Submit(with("snake", harness.Body{"tool": "python", "command": "print(1)"}, "change", "CHG-1")))
	add(s.Submit(harness.Body{"name": "play", "playbook": playbook, "inventory": hosts}))
	for path, status := range map[string]int{made["no"].ID + "/reject": 200, made["stopped"].ID + "/cancel": 200} {
		if a := s.Do(http.MethodPost, "/v1/runs/"+path, nil); a.Status != status {
			t.Fatalf("%s: %d %s", path, a.Status, a.Body)
		}
	}
	again := s.Act("/v1/runs/" + made["good"].ID + "/rerun")
	made["again"] = again
	for _, name := range []string{"good", "bad", "snake", "play", "again"} {
		made[name] = s.Await(made[name].ID)
	}
	return made
}

func file(t *testing.T, name, text string) string {
	t.Helper()
	path := harness.Shared(t) + "/" + name
	write(t, path, text)
	return path
}

// filters pairs a query with the names of the runs that it must find.
func filters(by map[string]harness.Run) map[string]string {
	at := func(name string) string { return url.QueryEscape(by[name].CreatedAt.Format(time.RFC3339Nano)) }
	q := func(text string) string { return "q=" + url.QueryEscape(text) }
	return map[string]string{
		"":              "good bad waits held no stopped snake play again",
		"status=failed": "bad", "status=pending_approval": "held", "status=rejected,canceled": "no stopped",
		"status=pending&status=failed": "waits bad", "status=interrupted": "",
		"tool=python": "snake", "tool=ansible": "play", "tool=nope": "",
		"task=Install+packages": "play", "task=install": "",
		"after=" + at("snake"): "snake play again", "before=" + at("waits"): "good bad",
		"after=" + at("bad") + "&before=" + at("held"): "bad waits",
		q("marmalade"): "good again", q("marma"): "good again", q("armalade"): "", q("MARMALADE"): "good again",
		q("zebra.yml"): "play", q("held"): "held", q("core"): "good bad again", q("exit 3"): "bad",
		q("operator"):      "waits stopped",
		q("status:failed"): "bad", q("tool:python"): "snake", q("source:rerun"): "again",
		q("source:api,rerun tool:python"): "snake",
		q("actor:operator"):               "waits stopped", q("actor:" + by["waits"].Actor.ID): "waits stopped",
		q("actor:nobody"): "",
		q("host:web1"):    "play", q("host:web"): "", q("label:team=core"): "good bad again",
		q("label:team=core label:env=prod"): "good again",
		q("change:CHG-1"):                   "good snake again", q("template:tpl_x"): "", q("queue:parked"): "waits stopped",
		q("change:CHG-1 marmalade"): "good again", q(`"exit 3" status:failed`): "bad", q("marmalade exit"): "",
		"status=succeeded&tool=bash&" + q("label:team=core change:CHG-1 source:api actor:admin marma"): "good",
		"status=succeeded&task=Install+packages&" + q("host:db1 queue:default tool:ansible zebra"):     "play",
		"tool=bash&after=" + at("bad") + "&" + q("queue:parked status:canceled"):                       "stopped",
	}
}

// TestFilters finds each run by each of its properties, alone and combined, and counts right.
func TestFilters(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL})
		by := known(t, s, tokens(t, s))
		names := map[string]string{}
		for name, r := range by {
			names[r.ID] = name
		}
		for query, want := range filters(by) {
			for _, order := range []string{"newest", "oldest"} {
				rows, total := s.Runs(query + "&order=" + order)
				got := make([]string, 0, len(rows))
				for _, r := range rows {
					got = append(got, names[r.ID])
				}
				if order == "newest" {
					slices.Reverse(got)
				}
				if !slices.IsSortedFunc(got, func(a, b string) int { return by[a].CreatedAt.Compare(by[b].CreatedAt) }) {
					t.Errorf("%q: not %s first: %v", query, order, got)
				}
				found := strings.Fields(want)
				slices.Sort(found)
				slices.Sort(got)
				if !slices.Equal(found, got) || total != len(got) {
					t.Errorf("%q: found %v (total %d), want %v", query, got, total, found)
				}
			}
		}
		for _, row := range get(t, s.Client, "/v1/runs")["runs"].([]any) {
			for _, heavy := range []string{"extra_vars", "outputs", "env", "events", "facts", "log", "steps"} {
				if _, ok := row.(map[string]any)[heavy]; ok {
					t.Errorf("a row carries %s", heavy)
				}
			}
		}
	})
}

// sheet is a page of the run list.
type sheet struct {
	Runs        []harness.Run `json:"runs"`
	Count       *int          `json:"count"`
	Total       *int          `json:"total"`
	TotalCapped bool          `json:"total_capped"`
	HasMore     *bool         `json:"has_more"`
	NextOffset  *int          `json:"next_offset"`
	NextCursor  *string       `json:"next_cursor"`
	Limit       int           `json:"limit"`
}

func page(t *testing.T, c harness.Client, query string) sheet {
	t.Helper()
	var p sheet
	a := c.Do(http.MethodGet, "/v1/runs?"+query, nil)
	a.JSON(t, &p)
	if p.Count == nil || p.Total == nil || p.HasMore == nil || p.NextOffset == nil || p.NextCursor == nil ||
		p.Runs == nil {
		t.Fatalf("%s: a member is absent in %.300s", query, a.Body)
	}
	if *p.Count != len(p.Runs) || p.TotalCapped {
		t.Errorf("%s: count %d of %d rows, capped %v", query, *p.Count, len(p.Runs), p.TotalCapped)
	}
	return p
}

// TestPaging reads the list by offsets while it is unchanged and by cursors while runs are added.
func TestPaging(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL})
		add := func() string { return s.Submit(harness.Body{"tool": "bash", "command": "true", "queue": "parked"}).ID }
		var ids []string
		for range 23 {
			ids = append(ids, add())
		}
		newest := slices.Clone(ids)
		slices.Reverse(newest)
		if p := page(t, s.Client, ""); p.Limit != 200 || *p.HasMore || *p.NextOffset != 23 || *p.NextCursor != "" ||
			*p.Total != 23 {
			t.Errorf("the whole: %+v", p)
		}
		for query, limit := range map[string]int{"limit=1001": 1000, "limit=99999999999999999999": 1000, "limit=0": 200,
			"limit=1000": 1000} {
			if p := page(t, s.Client, query); p.Limit != limit {
				t.Errorf("%s: the limit used is %d", query, p.Limit)
			}
		}
		if got := walk(t, s.Client, "limit=5&status=pending", nil); !slices.Equal(got, newest) {
			t.Errorf("by offset: %v", got)
		}
		if p := page(t, s.Client, "offset=100"); *p.Count != 0 || *p.HasMore || *p.NextOffset != 100 || *p.Total != 23 {
			t.Errorf("behind the end: %+v", p)
		}
		for _, query := range []string{"limit=5&cursor=", "limit=4&status=pending&cursor=",
			"limit=6&q=queue:parked+true&cursor="} {
			before := map[string]bool{}
			rows, _ := s.Runs("limit=1000")
			for _, r := range rows {
				before[r.ID] = true
			}
			got := walk(t, s.Client, query, func() { add() })
			seen := map[string]bool{}
			for _, id := range got {
				if seen[id] || !before[id] {
					t.Errorf("%s: %s came twice or arrived later", query, id)
				}
				seen[id] = true
			}
			if !maps.Equal(seen, before) {
				t.Errorf("%s: %d of %d runs", query, len(seen), len(before))
			}
		}
		rows, total := s.Runs("limit=1000")
		got := walk(t, s.Client, "order=oldest&limit=50&cursor=", nil)
		if len(got) != total || total != len(rows) || got[0] != ids[0] {
			t.Errorf("oldest first: %d of %d", len(got), total)
		}
	})
}

// walk reads every page, by cursors if the query ends in an empty one, and calls between before each further page.
func walk(t *testing.T, c harness.Client, query string, between func()) []string {
	t.Helper()
	var out []string
	next := ""
	for n := 0; n < 50; n++ {
		p := page(t, c, query+next)
		for _, r := range p.Runs {
			out = append(out, r.ID)
		}
		if (*p.NextCursor != "") != *p.HasMore {
			t.Errorf("%s: has_more %v with the cursor %q", query, *p.HasMore, *p.NextCursor)
		}
		if !*p.HasMore {
			return out
		}
		next = fmt.Sprintf("&offset=%d", *p.NextOffset)
		if strings.HasSuffix(query, "cursor=") {
			next = url.QueryEscape(*p.NextCursor)
		}
		if between != nil {
			between()
		}
	}
	t.Fatalf("%s: no end", query)
	return nil
}
