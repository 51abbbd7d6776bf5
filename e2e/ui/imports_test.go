package ui

import (
	"bytes"
	"fmt"
	"html"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/importer"
)

const importPage = "/ui/settings/import"

// sendImport posts the form of imports: a file, and fields in pairs.
func sendImport(c harness.Client, file, export string, fields ...string) harness.Answer {
	body, kind := importForm(file, export, fields...)
	return c.Do(http.MethodPost, importPage, body, "Content-Type", kind)
}

func importForm(file, export string, fields ...string) (body, contentType string) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for i := 0; i+1 < len(fields); i += 2 {
		_ = w.WriteField(fields[i], fields[i+1])
	}
	if file != "" {
		part, _ := w.CreateFormFile("file", file)
		_, _ = part.Write([]byte(export))
	}
	_ = w.Close()
	return b.String(), w.FormDataContentType()
}

// ownExport reads an export of the tests of a format.
func ownExport(t *testing.T, path string) string {
	t.Helper()
	body, err := os.ReadFile("../../adapters/importers/" + path)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// TestImportPage previews an export of AWX, applies it, and applies it again, as a browser without script does.
func TestImportPage(t *testing.T) {
	t.Parallel()
	r := newSettingsRig(t)
	contains(t, settingsPage(t, r.Client, importPage, http.StatusOK), `enctype="multipart/form-data"`, "At most 25 MiB",
		"writ import cron", `aria-current="page">Import<`)
	export := ownExport(t, "awx/testdata/export.yml")
	var plan importer.Body
	r.Do(http.MethodPost, "/v1/import/awx?file=export.yml", export).JSON(t, &plan)
	if plan.Counts.Create == 0 || plan.Counts.NeedsYou == 0 || plan.Counts.NoHome == 0 {
		t.Fatalf("the export has %+v", plan.Counts)
	}
	a := sendImport(r.Client, "export.yml", export, "format", "awx")
	page := string(a.Body)
	contains(t, page, fmt.Sprintf("Import %d objects", plan.Counts.Create), "The same file again",
		fmt.Sprintf("Same: %d, Adapted: %d, Needs you: %d, No home: %d", plan.Counts.Same, plan.Counts.Adapted,
			plan.Counts.NeedsYou, plan.Counts.NoHome), "one transaction, or none")
	for _, o := range plan.Objects {
		contains(t, page, html.EscapeString(o.SourceRef))
	}
	lacks(t, page, "CANARY", `href="/ui/launch/tpl_`)
	if n := strings.Count(page, "<li><div class=\"imp-name\">"); a.Status != http.StatusOK || n != len(plan.Objects) {
		t.Errorf("%d: the page has %d of %d objects", a.Status, n, len(plan.Objects))
	}
	var list struct{ Total int }
	if r.Do(http.MethodGet, "/v1/templates", nil).JSON(t, &list); list.Total != 0 {
		t.Errorf("the preview wrote %d templates", list.Total)
	}
	page = string(sendImport(r.Client, "export.yml", export, "format", "awx", "do", "apply").Body)
	contains(t, page, fmt.Sprintf("Imported: %d created, 0 updated.", plan.Counts.Create), "of the trail",
		"Enter the secret")
	links := regexp.MustCompile(`href="(/ui/[a-z/-]+/[a-z]+_[0-9A-Za-z]+[^"]*)"`).FindAllStringSubmatch(page, -1)
	if len(links) < plan.Counts.Create {
		t.Errorf("%d links to %d objects", len(links), plan.Counts.Create)
	}
	for _, link := range links {
		settingsPage(t, r.Client, link[1], http.StatusOK)
	}
	contains(t, string(sendImport(r.Client, "export.yml", export, "format", "awx", "do", "apply").Body),
		"The import changed nothing")
	page = string(sendImport(r.Client, "export.yml", export, "format", "awx").Body)
	contains(t, page, "Applying this import changes nothing")
	lacks(t, page, `value="apply"`)
	r.Intact()
}

// TestImportPageFires shows the next times of schedules side by side, and of the inventory what the API takes.
func TestImportPageFires(t *testing.T) {
	t.Parallel()
	r := newSettingsRig(t)
	id := r.make(t, "/v1/inventories", harness.Body{"name": "Fleet", "content": "web1\n"})
	a := sendImport(r.Client, "nightly.xml", ownExport(t, "jenkins/testdata/nightly.xml"), "format", "jenkins",
		"inventory", id)
	contains(t, string(a.Body), "Next times", "Here", "UTC", `value="`+id+`" selected`)
	if a.Status != http.StatusOK {
		t.Errorf("%d", a.Status)
	}
	// The field is hidden for other products, so what it holds is not sent.
	a = sendImport(r.Client, "x.yml", ownExport(t, "awx/testdata/export.yml"), "format", "awx", "inventory", id)
	if a.Status != http.StatusOK {
		t.Errorf("an inventory with AWX: %d", a.Status)
	}
}

// projects is an export of AWX with n projects.
func projects(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`{"name": "p%d", "scm_type": "git", "scm_url": "https://git.example.com/%d.git"}`, i, i)
	}
	return `{"projects": [` + strings.Join(list, ",") + "]}"
}

// TestImportPageRefused sends what is no import: the page says why beside the field, and keeps what was chosen.
func TestImportPageRefused(t *testing.T) {
	t.Parallel()
	r := newSettingsRig(t)
	for _, c := range []struct {
		name, file, body string
		fields           []string
		status           int
		want             string
	}{
		{"no file", "", "", []string{"format", "chef"}, 400, "f-file-error"},
		{"an empty file", "x.json", "", []string{"format", "chef"}, 400, "f-file-error"},
		{"broken JSON", "x.json", "{\n\"projects\": [}", []string{"format", "awx"}, 400, "line 2"},
		{"an empty export", "x.json", `{"projects": []}`, []string{"format", "awx"}, 400, "f-file-error"},
		{"an unknown product", "x.json", "{}", []string{"format", "tower"}, 400, "tower"},
		{"an unknown inventory", "x.xml", "<project/>", []string{"format", "jenkins", "inventory", "gone"}, 404,
			"f-inventory-error"},
		{"too many objects", "x.json", projects(importer.MaxObjects + 1), []string{"format", "awx"}, 413,
			"writ import awx x.json takes it"},
		{"a large file", "x.json", strings.Repeat(" ", importer.MaxBody+1), []string{"format", "puppet"}, 413,
			"writ import puppet x.json takes it"},
		{"a larger file", "x.json", strings.Repeat(" ", importer.MaxBody*2), []string{"format", "puppet"}, 413,
			"takes it"},
	} {
		a := sendImport(r.Client, c.file, c.body, c.fields...)
		page := string(a.Body)
		if a.Status != c.status || !strings.Contains(page, c.want) || !strings.Contains(page, `role="alert" tabindex`) {
			t.Errorf("%s: %d\n%.3000s", c.name, a.Status, page)
		}
		if c.fields[1] != "tower" {
			contains(t, page, `value="`+c.fields[1]+`" checked`)
		}
		lacks(t, page, "See what it becomes")
	}
	for _, body := range []string{"", "no parts"} {
		a := r.Do(http.MethodPost, importPage, body, "Content-Type", "multipart/form-data; boundary=x")
		if a.Status != http.StatusBadRequest {
			t.Errorf("a form of %q: %d", body, a.Status)
		}
	}
	if a := r.Do(http.MethodPost, importPage, "{}"); a.Status != http.StatusUnsupportedMediaType {
		t.Errorf("JSON: %d", a.Status)
	}
}

// TestImportPageRoles refuses everybody but administrators, before the file is read.
func TestImportPageRoles(t *testing.T) {
	t.Parallel()
	r := newSettingsRig(t)
	for role, status := range map[string]int{"admin": 200, "operator": 403, "viewer": 403, "anonymous": 303} {
		c := r.roles[role]
		if a := c.Do(http.MethodGet, importPage, nil); a.Status != status {
			t.Errorf("%s opens the page: %d", role, a.Status)
		}
		for _, do := range []string{"", "apply", "html", "json"} {
			a := sendImport(c, "x.json", `{"inventory": [{"name": "x"}]}`, "format", "awx", "do", do)
			if a.Status != status {
				t.Errorf("%s posts %q: %d %.400s", role, do, a.Status, a.Body)
			}
		}
	}
	v := signedInForms(t, r.Server, "ada", "admin")
	v.send(http.MethodPost, importPage, nil, "Origin", "https://evil.example", "Content-Type",
		"multipart/form-data; boundary=x").want(t, http.StatusForbidden)
	s := harness.Start(t, harness.Options{Flags: []string{"--read-only"}})
	if a := sendImport(s.Client, "x.json", `{}`, "format", "awx"); a.Status != http.StatusForbidden ||
		!strings.Contains(string(a.Body), "read-only") {
		t.Errorf("a read-only install: %d", a.Status)
	}
}

// TestImportPageSignedOut ends the session between the preview and the import: the browser is sent to sign in, and
// nothing is written.
func TestImportPageSignedOut(t *testing.T) {
	t.Parallel()
	r := newSettingsRig(t)
	v := signedInForms(t, r.Server, "ada", "admin")
	export := ownExport(t, "awx/testdata/export.yml")
	body, kind := importForm("export.yml", export, "format", "awx")
	v.sendBody(http.MethodPost, importPage, body, "Content-Type", kind).want(t, http.StatusOK, "Import ")
	v.post("/ui/logout", url.Values{"_page": {importPage}}).to(t, "/ui/login")
	body, kind = importForm("export.yml", export, "format", "awx", "do", "apply")
	v.sendBody(http.MethodPost, importPage, body, "Content-Type", kind).to(t, "/ui/login")
	var list struct{ Total int }
	if r.Do(http.MethodGet, "/v1/projects", nil).JSON(t, &list); list.Total != 0 {
		t.Errorf("%d projects were written", list.Total)
	}
}

// TestImportReports downloads the report, for which the form is posted again.
func TestImportReports(t *testing.T) {
	t.Parallel()
	r := newSettingsRig(t)
	export := ownExport(t, "awx/testdata/export.yml")
	a := sendImport(r.Client, "export.yml", export, "format", "awx", "do", "html")
	contains(t, string(a.Body), "<h1>Import of awx</h1>", "This is a preview. Nothing was written.")
	if got := a.Header.Get("Content-Disposition"); got != `attachment; filename="import-awx.html"` {
		t.Errorf("the report is %q", got)
	}
	a = sendImport(r.Client, "export.yml", export, "format", "awx", "do", "json")
	var got, want importer.Body
	a.JSON(t, &got)
	r.Do(http.MethodPost, "/v1/import/awx?file=export.yml", export).JSON(t, &want)
	if got.Counts != want.Counts || len(got.Objects) == 0 || a.Header.Get("Content-Type") != "application/json" ||
		!strings.HasPrefix(a.Header.Get("Content-Disposition"), "attachment") {
		t.Errorf("%+v as %q", got.Counts, a.Header)
	}
}

// TestImportPageSize previews a large export: the page stays below a mebibyte and says what it leaves out.
func TestImportPageSize(t *testing.T) {
	t.Parallel()
	r := newSettingsRig(t)
	var parts [3][]string
	for i := range 3_000 {
		name := fmt.Sprintf("%s-%05d", strings.Repeat("name", 20), i)
		parts[i%3] = append(parts[i%3], fmt.Sprintf(`{"name": %q, "username": %q, "scm_type": "git", `+
			`"scm_url": "https://git.example.com/%d.git", "inputs": {"username": "root"},`+
			`"credential_type": {"name": "Machine", "kind": "ssh"}}`, name, name, i))
	}
	export := fmt.Sprintf(`{"users": [%s], "projects": [%s], "credentials": [%s]}`, strings.Join(parts[0], ","),
		strings.Join(parts[1], ","), strings.Join(parts[2], ","))
	a := sendImport(r.Client, "large.json", export, "format", "awx")
	contains(t, string(a.Body), "large.json has 3,000 objects")
	if n := strings.Count(string(a.Body), "objects more: in the report as a file."); a.Status != 200 || n < 2 {
		t.Errorf("%d: %d classes are cut", a.Status, n)
	}
	if len(a.Body) > 1<<20 {
		t.Errorf("the page has %d bytes", len(a.Body))
	}
}
