package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/importer"
)

// export returns the export of an AWX with one template for each element, of about so many bytes. The first one has a
// schedule.
func export(t *testing.T, hour int, sizes ...int) []byte {
	t.Helper()
	type row map[string]any
	templates := make([]row, len(sizes))
	for i, size := range sizes {
		templates[i] = row{
			"name": fmt.Sprintf("job %d", i), "job_type": "run", "playbook": "site.yml",
			"project":    row{"name": "site", "type": "project"},
			"inventory":  row{"name": "web", "type": "inventory"},
			"extra_vars": fmt.Sprintf(`{"n": %d, "text": %q}`, i, strings.Repeat("x", size)),
		}
	}
	templates[0]["related"] = row{"schedules": []row{{
		"name": "nightly", "enabled": true,
		"rrule": fmt.Sprintf("DTSTART:20260101T%02d3000Z RRULE:FREQ=DAILY;INTERVAL=1", hour),
	}}}
	raw, err := json.Marshal(row{
		"projects": []row{{"name": "site", "scm_type": "git", "scm_url": "https://git.example.com/site.git"}},
		"inventory": []row{{"name": "web", "related": row{
			"hosts": []row{{"name": "web1", "enabled": true, "variables": ""}}, "groups": []row{},
		}}},
		"job_templates": templates,
	})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// written writes a file of a test and returns its path.
func written(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// imports runs an import that succeeds and returns the plan.
func (u user) imports(args ...string) importer.Body {
	u.t.Helper()
	code, out, errs := u.do(append([]string{"import", "--json"}, args...)...)
	var plan importer.Body
	if err := json.Unmarshal([]byte(out), &plan); err != nil || code != 0 {
		u.t.Fatalf("writ import %q: exit %d, %v\n%.2000s%s", args, code, err, out, errs)
	}
	return plan
}

// unchanged fails if an import would change something.
func unchanged(t *testing.T, plan importer.Body) {
	t.Helper()
	for _, o := range plan.Objects {
		if o.Action != importer.Skip {
			t.Errorf("%s %q is %s again: %v", o.Kind, o.Name, o.Action, o.Changes)
		}
	}
}

// total returns how many objects of a collection there are.
func total(t *testing.T, s *harness.Server, collection string) int {
	t.Helper()
	var list struct{ Total int }
	a := s.Do(http.MethodGet, "/v1/"+collection+"?limit=1", nil)
	if a.JSON(t, &list); a.Status != http.StatusOK {
		t.Fatalf("GET %s: %d %s", collection, a.Status, a.Body)
	}
	return list.Total
}

// TestImport previews the export of a server, applies it, and imports it again.
func TestImport(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL})
		u := userOf(t, s)
		file := written(t, "export.json", export(t, 2, 1, 1))
		html, raw := filepath.Join(t.TempDir(), "report.html"), filepath.Join(t.TempDir(), "report.json")

		code, out, errs := u.do("import", "awx", file, "--report", html)
		for _, want := range []string{
			"Preview: nothing was written; 5 create, 0 update, 0 skip", `create template "job 0"`, "old  ", "T02:30:00Z  ",
		} {
			if code != 0 || !strings.Contains(out, want) {
				t.Errorf("exit %d, no %q in\n%s%s", code, want, out, errs)
			}
		}
		if strings.Contains(out, "differs") || strings.Count(out, "T02:30:00Z") != 10 {
			t.Errorf("the times are not side by side and equal\n%s", out)
		}
		if n := total(t, s, "templates"); n != 0 {
			t.Errorf("the preview wrote %d templates", n)
		}
		if code, _, errs := u.do("import", "awx", file, "--check"); code != 3 || errs != "" {
			t.Errorf("--check before: exit %d, %s", code, errs)
		}

		applied := u.imports("awx", file, "--apply", "--report", raw)
		if !applied.Applied || applied.Counts.Create != 5 || total(t, s, "templates") != 2 || total(t, s, "schedules") != 1 {
			t.Errorf("applied: %+v", applied.Counts)
		}
		if page, err := os.ReadFile(html); err != nil || !bytes.Contains(page, []byte("This is a preview.")) {
			t.Errorf("the page: %v\n%s", err, page)
		}
		var report importer.Body
		if body, err := os.ReadFile(raw); err != nil || json.Unmarshal(body, &report) != nil ||
			report.Counts != applied.Counts || !report.Applied {
			t.Errorf("the report: %v %+v", err, report.Counts)
		}

		cmd := u.command("import", "awx", "-", "--apply", "--json")
		cmd.Stdin = bytes.NewReader(export(t, 2, 1, 1))
		p := u.run(cmd)
		var again importer.Body
		if code := p.end(); code != 0 || json.Unmarshal([]byte(p.out.String()), &again) != nil {
			t.Fatalf("from standard input: exit %d, %s%s", code, p.out, p.err)
		}
		unchanged(t, again)
		if code, out, errs := u.do("import", "awx", file, "--check"); code != 0 {
			t.Errorf("--check after: exit %d, %s%s", code, out, errs)
		}
		s.Intact()
	})
}

// TestImportRefused: each mistake has an exit code and a message that names it.
func TestImportRefused(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	u := userOf(t, s)
	a := s.Do(http.MethodPost, "/v1/users", map[string]any{"username": "vic", "role": "viewer"})
	if a.Status != http.StatusCreated {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	code, out, errs := u.do("token", "create", "vic", "--user", "vic", "--jq", ".token")
	if code != 0 {
		t.Fatalf("exit %d %s%s", code, out, errs)
	}
	viewer := user{t: t, url: s.URL, env: []string{"WRIT_TOKEN=" + strings.TrimSpace(out)}}
	good, bad := written(t, "export.json", export(t, 2, 1)), written(t, "export.json", []byte("{\n\"projects\": [\n}"))
	tab := written(t, "tab", []byte("0 2 * * * /bin/backup\n"))
	for _, x := range []struct {
		by   user
		args []string
		code int
		want string
	}{
		{u, []string{"tower", good}, 2, `the format "tower" is not one of awx, chef, cron, jenkins, puppet, rundeck, semaphore`},
		{u, []string{"awx"}, 2, "requires at least 2 arg"},
		{u, []string{"awx", good, good}, 2, "only cron takes several files"},
		{u, []string{"awx", good, "--user", "root"}, 2, "--system and --user are for cron"},
		{u, []string{"cron", tab, "--user", "root", "--system"}, 2, "[system user]"},
		{u, []string{"cron", tab, "--inventory", "web"}, 2, "the format cron takes no inventory"},
		{u, []string{"awx", good, "--inventory", "web"}, 1, "the format awx takes no inventory"},
		{u, []string{"awx", good, "--report", "plan.pdf"}, 2, "expected the ending .html or .json"},
		{u, []string{"awx", good, "--apply", "--check"}, 2, "[apply check]"},
		{u, []string{"awx", good + "x"}, 1, "no such file"},
		{u, []string{"awx", bad}, 1, "line 3"},
		{u, []string{"awx", tab}, 1, "writ: "},
		{u, []string{"cron", good}, 1, "writ: "},
		{u, []string{"cron", written(t, "none", []byte("# nothing\n"))}, 1, "nothing to import was found"},
		{viewer, []string{"awx", good}, 1, `the role "viewer" may not write an import`},
		{viewer, []string{"cron", tab, "--user", "ada", "--apply"}, 1, "not written"},
	} {
		code, out, errs := x.by.do(append([]string{"import"}, x.args...)...)
		if code != x.code || !strings.Contains(errs, x.want) {
			t.Errorf("writ import %q: exit %d, %s%s", x.args, code, out, errs)
		}
	}
	if n := total(t, s, "templates") + total(t, s, "schedules"); n != 0 {
		t.Errorf("%d objects were written", n)
	}
}
