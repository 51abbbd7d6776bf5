package imports

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/importer"
)

func rendered(t *testing.T, v view) string {
	t.Helper()
	var b strings.Builder
	zone := time.FixedZone("there", 3600)
	ctx := shell.WithViewer(t.Context(), shell.Viewer{Zone: zone}, time.Now())
	if v.Report != nil {
		v.Report = reportOf(ctx, v.Report.Body, "export.yml", "1")
	}
	v.Target = shell.FieldSpec{Name: fieldInventory, Value: v.Inventory}
	if err := page(v).Render(ctx, &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func planOf(applied bool, objects ...importer.PlannedBody) view {
	b := importer.Body{Format: "awx", Applied: applied, Objects: objects}
	for _, o := range objects {
		*map[importer.Class]*int{importer.Same: &b.Counts.Same, importer.Adapted: &b.Counts.Adapted,
			importer.NeedsYou: &b.Counts.NeedsYou, importer.NoHome: &b.Counts.NoHome}[o.Class]++
		*map[importer.Action]*int{importer.Create: &b.Counts.Create, importer.Update: &b.Counts.Update,
			importer.Skip: &b.Counts.Skip}[o.Action]++
	}
	return view{Format: "awx", Report: &report{Body: b}}
}

var unsafe = regexp.MustCompile(`(?i)<script|<img|<[a-z][^<>"]*\s(style|on[a-z]+)=|href="javascript:`)

// TestReportEscapes: texts of an export stay texts, in the report and in attributes.
func TestReportEscapes(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, s := range []string{"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, `javascript:alert(1)`} {
		v := planOf(true, importer.PlannedBody{Kind: importer.Kind(s), Name: s, Class: importer.NoHome, SourceRef: s,
			Action: importer.Skip, Reason: s, Mapping: []string{s}}, importer.PlannedBody{Kind: importer.Schedule, Name: s,
			ID: s, Class: importer.Adapted, Action: importer.Update, Changes: []string{s},
			NextFires: &importer.FiresBody{Source: []time.Time{now}}})
		v.Inventory = s
		v.Report.Warnings = []importer.WarningBody{{Kind: importer.Schedule, Object: s, Field: s, Message: s}, {Message: s}}
		html := rendered(t, v)
		if m := unsafe.FindString(html); m != "" {
			t.Errorf("%q gives %q", s, m)
		}
	}
}

// TestReportIsBounded: the page of a large export stays below a mebibyte, whatever its objects say.
func TestReportIsBounded(t *testing.T) {
	t.Parallel()
	var objects []importer.PlannedBody
	lines := make([]string, 50)
	for i := range lines {
		lines[i] = strings.Repeat("a <line> & more ", 20)
	}
	for i := range 10_000 {
		o := importer.PlannedBody{Kind: importer.Template, Name: fmt.Sprint("t", i), Class: importer.Classes()[i%4],
			Action: importer.Create, Mapping: lines[:i%40], NextFires: &importer.FiresBody{}}
		for range importer.MaxFires {
			o.NextFires.Source = append(o.NextFires.Source, time.Now())
			o.NextFires.Writ = append(o.NextFires.Writ, time.Now().Add(time.Hour))
		}
		objects = append(objects, o)
	}
	html := rendered(t, planOf(false, objects...))
	if len(html) > 1<<20 {
		t.Errorf("the page has %d bytes", len(html))
	}
	if n := strings.Count(html, "objects more: in the report as a file."); n != len(importer.Classes()) {
		t.Errorf("%d classes say what they leave out", n)
	}
	short := make([]importer.PlannedBody, 1000)
	for i := range short {
		short[i] = importer.PlannedBody{Kind: "user", Name: fmt.Sprint("u", i), Class: importer.NoHome,
			Action: importer.Skip, Reason: "Accounts are not imported."}
	}
	html = rendered(t, planOf(false, short...))
	if n := strings.Count(html, "imp-name"); n != maxObjects || !strings.Contains(html, "800 objects more") {
		t.Errorf("%d objects are shown", n)
	}
}

// TestReportMarksFires: times that differ are marked, and those that are the same are not.
func TestReportMarksFires(t *testing.T) {
	t.Parallel()
	at := time.Date(2030, time.May, 4, 2, 30, 0, 0, time.UTC)
	schedule := func(times ...time.Time) view {
		return planOf(false, importer.PlannedBody{Kind: importer.Schedule, Name: "Nightly", Class: importer.Adapted,
			Action: importer.Create, NextFires: &importer.FiresBody{Source: []time.Time{at, at.Add(time.Hour)}, Writ: times}})
	}
	html := rendered(t, schedule(at))
	for _, want := range []string{"<td>Sat 4 May 2030 03:30 there</td><td>Sat 4 May 2030 03:30 there</td><td></td>",
		"<td>Sat 4 May 2030 04:30 there</td><td>none</td>", differText, "1 differs", "<details open>"} {
		if !strings.Contains(html, want) {
			t.Errorf("the report lacks %q", want)
		}
	}
	if html = rendered(t, schedule(at, at.Add(time.Hour))); strings.Contains(html, differText) {
		t.Error("times that are the same are marked")
	}
}

// TestSecretsAreAskedFor: an imported credential without its secret leads to its form.
func TestSecretsAreAskedFor(t *testing.T) {
	t.Parallel()
	o := importer.PlannedBody{Kind: importer.Credential, Name: "Key", Class: importer.NeedsYou, Action: importer.Create}
	if html := rendered(t, planOf(false, o)); !strings.Contains(html, "1 credential without a secret") ||
		!strings.Contains(html, lacksText) ||
		strings.Contains(html, "Enter the secret") {
		t.Error("the preview does not say that a secret is missing, or leads to a form of nothing")
	}
	o.ID = "cred_1"
	if html := rendered(t, planOf(true, o)); !strings.Contains(html, `href="/ui/objects/credentials/cred_1/edit"`) {
		t.Error("the report does not lead to the form")
	}
}

// TestUploadIsBounded reads forms with too many parts and with long fields.
func TestUploadIsBounded(t *testing.T) {
	t.Parallel()
	form := func(fields int, value string) (upload, error) {
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		for i := range fields {
			if err := w.WriteField(fmt.Sprintf("f%d", i), value); err != nil {
				t.Fatal(err)
			}
		}
		part, err := w.CreateFormFile("file:again", "x.json")
		if err == nil {
			_, err = io.WriteString(part, "{}")
		}
		if err != nil || w.Close() != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, shell.ImportPath, &b)
		r.Header.Set("Content-Type", w.FormDataContentType())
		return read(&shell.Request{Request: r})
	}
	u, err := form(3, strings.Repeat("x", maxValue+9))
	if err != nil || string(u.Export) != "{}" || u.File != "x.json" || len(u.Values.Get("f1")) != maxValue {
		t.Errorf("%v, %d bytes of %q, a field of %d", err, len(u.Export), u.File, len(u.Values.Get("f1")))
	}
	if _, err = form(maxParts+1, ""); err == nil {
		t.Error("a form of many parts is read")
	}
}
