package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/importer"
)

// proxied returns the address of a proxy of a server. It calls fn at the n-th creation of a template instead of
// forwarding it, and at the second one says that the server has no time.
func proxied(t *testing.T, to string, n int64, fn func()) string {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	var made atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.URL.Path == "/v1/templates" {
			switch made.Add(1) {
			case 2:
				http.Error(w, "later", http.StatusServiceUnavailable)
				return
			case n:
				fn()
				return
			}
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// TestImportLarge: an export that is larger than a server takes is planned on the machine and written object by object.
// An import that was killed half-way is completed by doing it again, and then nothing changes.
func TestImportLarge(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL})
		u := userOf(t, s)
		const templates, half = 60, 20
		body := export(t, 2, slices.Repeat([]int{450 << 10}, templates)...)
		if len(body) <= importer.MaxBody {
			t.Fatalf("the export has only %d bytes", len(body))
		}
		file := written(t, "export.json", body)
		if plan := u.imports("awx", file); plan.Applied || plan.Counts.Create != templates+3 ||
			total(t, s, "projects") != 0 {
			t.Errorf("the preview is %+v", plan.Counts)
		}

		var p *process
		started := make(chan struct{})
		through := u
		through.url = proxied(t, s.URL, half, func() {
			<-started
			_ = p.cmd.Process.Kill()
			<-p.done
		})
		p = through.start("import", "awx", file, "--apply")
		close(started)
		if code := p.end(); code == 0 {
			t.Fatalf("it was not killed\n%s%s", p.out, p.err)
		}
		if n := total(t, s, "templates"); n != half-2 {
			t.Fatalf("%d templates were written before", n)
		}

		plan := u.imports("awx", file, "--apply")
		if want := templates - (half - 2) + 1; !plan.Applied || plan.Counts.Create != want || plan.Counts.Update != 0 {
			t.Errorf("done again: %+v, not %d created", plan.Counts, want)
		}
		if n, m := total(t, s, "templates"), total(t, s, "schedules"); n != templates || m != 1 {
			t.Errorf("there are %d templates and %d schedules", n, m)
		}
		unchanged(t, u.imports("awx", file, "--apply"))
		if code, out, errs := u.do("import", "awx", file, "--check"); code != 0 {
			t.Errorf("--check: exit %d\n%.500s%s", code, out, errs)
		}
		s.Intact()
	})
}

// TestImportLargeRefused: an object that the server refuses is left out with the reason, and so is one that needs it.
func TestImportLargeRefused(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	u := userOf(t, s)
	file := written(t, "export.json", export(t, 2, 9<<20, 9<<20, 9<<20, 1))
	code, out, errs := u.do("import", "awx", file, "--apply", "--json")
	var plan importer.Body
	if err := json.Unmarshal([]byte(out), &plan); err != nil || code != 1 ||
		!strings.Contains(errs, "4 objects not written") {
		t.Fatalf("exit %d, %v\n%.2000s%s", code, err, out, errs)
	}
	template := planned(t, plan, importer.Template, "job 0")
	schedule := planned(t, plan, importer.Schedule, "nightly")
	if template.Class != importer.NoHome || template.Reason == "" ||
		schedule.Reason != `it needs the template "job 0"` || planned(t, plan, importer.Template, "job 3").ID == "" {
		t.Errorf("%+v\n%+v", template, schedule)
	}
	if n := total(t, s, "templates"); n != 1 {
		t.Errorf("there are %d templates", n)
	}
}

// TestImportParts: on demand a small export is written object by object, to the same result as by the server. One with
// more objects than the server takes is planned so without being asked.
func TestImportParts(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	u := userOf(t, s)
	file := written(t, "export.json", export(t, 2, 1, 1))
	if plan := u.imports("awx", file, "--parts", "--apply"); !plan.Applied || plan.Counts.Create != 5 {
		t.Errorf("in parts: %+v", plan.Counts)
	}
	unchanged(t, u.imports("awx", file, "--apply"))
	unchanged(t, u.imports("awx", file, "--parts", "--apply"))
	var list struct{ Schedules []struct{ ID string } }
	s.Do(http.MethodGet, "/v1/schedules?name=nightly", nil).JSON(t, &list)
	enable := func(flag string) {
		if code, _, errs := u.do("schedule", "edit", list.Schedules[0].ID, "--enabled="+flag); code != 0 {
			t.Fatalf("exit %d: %s", code, errs)
		}
	}
	enable("false")
	for _, parts := range [][]string{{"--parts"}, nil} { // what somebody disabled here stays so
		plan := u.imports(append([]string{"awx", file, "--apply"}, parts...)...)
		unchanged(t, plan)
		if !slices.ContainsFunc(plan.Warnings, func(w importer.WarningBody) bool {
			return w.Field == "enabled" && strings.Contains(w.Message, "stays disabled here")
		}) {
			t.Errorf("%v: nothing says that the schedule stays disabled: %+v", parts, plan.Warnings)
		}
	}
	enable("true")
	many := written(t, "many.json", export(t, 2, make([]int, importer.MaxObjects+1)...))
	plan := u.imports("awx", many)
	if plan.Applied || plan.Counts.Create != importer.MaxObjects-1 || plan.Counts.Update != 2 || plan.Counts.Skip != 3 {
		t.Errorf("many objects: %+v", plan.Counts)
	}
}
