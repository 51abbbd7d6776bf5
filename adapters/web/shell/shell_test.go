package shell

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/a-h/templ"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/runs"
)

func render(t *testing.T, ctx context.Context, c templ.Component) string {
	t.Helper()
	var b strings.Builder
	if err := c.Render(ctx, &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestBodyOfForm(t *testing.T) {
	t.Parallel()
	form := url.Values{
		"name": {"web"}, "_next": {"/ui/x"}, "timeout:int": {" 60 "}, "dry_run:bool": {"false", "true"},
		"match.tools:list": {"bash, ansible\n"}, "match.hosts_over:int": {""}, "vars:json": {`{"n": 12345678901234567890}`},
		"ids:many": {"", "a", "b"}, "content:text": {"a\r\nb\n"}, "off:bool": {"false"}, "ratio:number": {"0.5"},
	}
	got, p := bodyOf(form)
	if p != nil {
		t.Fatal(p)
	}
	b, err := json.Marshal(got)
	want := `{"content":"a\nb\n","dry_run":true,"ids":["a","b"],"match":{"tools":["bash","ansible"]},"name":"web",` +
		`"off":false,"ratio":0.5,"timeout":60,"vars":{"n":12345678901234567890}}`
	if err != nil || string(b) != want {
		t.Errorf("%v\n%s\n%s", err, b, want)
	}
	for name, v := range map[string]string{"n:int": "1.5", "m:int": "x", "j:json": "{", "k:json": "1 2"} {
		path, _, _ := strings.Cut(name, ":")
		if _, p := bodyOf(url.Values{name: {v}}); p == nil || len(p.Errors) != 1 || p.Errors[0].Location != path {
			t.Errorf("%s=%s: %+v", name, v, p)
		}
	}
}

func TestInsideStaysHere(t *testing.T) {
	t.Parallel()
	for _, to := range []string{
		"", "https://evil.example/ui/", "//evil.example/ui/", "/v1/runs", "javascript:alert(1)", "/\\evil.example/ui/",
		"/ui/../v1", "http:/ui/", "///evil.example/ui/", "/ui/\\..\\x",
	} {
		if got := inside(to, "/ui/other"); got != "/ui/other" {
			t.Errorf("%q leads to %q", to, got)
		}
	}
	if got := inside("/ui/runs?q=a#L1", "x"); got != "/ui/runs?q=a#L1" {
		t.Errorf("%q", got)
	}
}

func TestTargetFillsPath(t *testing.T) {
	t.Parallel()
	op := operation{method: "POST", path: "/v1/runs/{id}/cancel"}
	got, err := op.target(url.Values{"id": {"run_1/../x"}, "force": {"1"}})
	if err != nil || got != "/v1/runs/run_1%2F..%2Fx/cancel?force=1" {
		t.Errorf("%q %v", got, err)
	}
	if _, err := op.target(url.Values{}); err == nil {
		t.Error("a path without its id is taken")
	}
}

func TestQuoteIsOneWord(t *testing.T) {
	t.Parallel()
	if got := quote("a'; rm -rf $HOME `x`"); got != `'a'\''; rm -rf $HOME `+"`x`'" {
		t.Error(got)
	}
}

func TestFormats(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0 s", 400 * time.Millisecond: "0.4 s", 61 * time.Second: "1 min 1 s", 372 * time.Second: "6 min 12 s",
		2 * time.Hour: "2 h", 26 * time.Hour: "1 d 2 h", 12 * time.Second: "12 s",
	} {
		if got := Duration(d); got != want {
			t.Errorf("%v is %q instead of %q", d, got, want)
		}
	}
	if Count(1234567) != "1,234,567" || Count(-1000) != "-1,000" || Count(12) != "12" {
		t.Error(Count(1234567), Count(-1000))
	}
	if Plural(1, "host") != "1 host" || Plural(2000, "entry", "entries") != "2,000 entries" {
		t.Error(Plural(1, "host"))
	}
	if Bytes(1) != "1 byte" || Bytes(1<<20) != "1 MiB" || Bytes(1536) != "1.5 KiB" {
		t.Error(Bytes(1), Bytes(1<<20), Bytes(1536))
	}
}

func TestEachStateHasAWordAndAGlyph(t *testing.T) {
	t.Parallel()
	seen := map[State]runs.Status{}
	for _, s := range append(runs.Statuses(), runs.Skipped) {
		st := StateOf(s, false)
		if glyphs(st.Glyph) == "" || st.Word == string(s) {
			t.Errorf("%s: %+v", s, st)
		}
		if other, ok := seen[st]; ok {
			t.Errorf("%s is shown as %s", s, other)
		}
		seen[st] = s
	}
}

func TestBarKeepsSmallParts(t *testing.T) {
	t.Parallel()
	got := bars([]Share{{"done", 5000}, {"fail", 1}, {"lost", 0}})
	if len(got) != 2 || got[1].Hue != "fail" || got[1].W < "1" {
		t.Errorf("%+v", got)
	}
	if bars(nil) != nil || bars([]Share{{"done", 0}}) != nil {
		t.Error("a bar of nothing has parts")
	}
}

// TestRefusedFormKeepsItsValues checks what a form shows that the API refused, with hostile values.
func TestRefusedFormKeepsItsValues(t *testing.T) {
	t.Parallel()
	const hostile = `"><script>alert(1)</script>`
	ctx := WithViewer(t.Context(), Viewer{}, time.Now())
	frameOf(ctx).form = &FormState{
		Operation: "create-team", Values: url.Values{"name": {hostile}},
		Problem: &httpapi.Problem{Status: 400, Text: hostile, Errors: []httpapi.FieldError{
			{Location: "name", Message: "is too long"}, {Location: "match.tools[1]", Message: hostile},
		}},
	}
	page := render(t, ctx, Field(FieldSpec{Name: "name", Label: "Name", Value: "stored", Help: "Its name."})) +
		render(t, ctx, Field(FieldSpec{Name: "match.tools:list", Label: "Tools", Kind: "area"})) +
		render(t, ctx, Refusal("create-team"))
	for _, want := range []string{
		`value="&#34;&gt;&lt;script&gt;`, "is too long", `aria-invalid="true"`, `aria-describedby="f-name-error"`,
		`id="f-match-tools-list-error"`, `href="#f-name"`, nothingChanged,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%s is missing in\n%s", want, page)
		}
	}
	for _, bad := range []string{"<script", "stored", "Its name.", "style=", " onerror="} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %s:\n%s", bad, page)
		}
	}
	if got := render(t, ctx, Refusal("other-operation")); got != "" {
		t.Errorf("another form shows %s", got)
	}
}

func TestTimesInTheZoneOfTheViewer(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 8, 5, 14, 0, 0, 0, time.UTC)
	ctx := WithViewer(t.Context(), Viewer{Zone: zone}, now)
	got := []string{When(ctx, now.Add(-12*time.Minute)), When(ctx, now.Add(2*time.Hour)), When(ctx, now),
		When(ctx, now.AddDate(0, 0, -20)), When(ctx, now.AddDate(-1, 0, 0)), Instant(ctx, now)}
	want := []string{"12 min ago", "in 2 h", "just now", "16 Jul 16:00", "5 Aug 2025", "2026-08-05 16:00:00 CEST"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestAddressesArePlainText(t *testing.T) {
	t.Parallel()
	for address, ok := range map[string]bool{
		"/ui/runs?q=caf%C3%A9+x": true, "/ui/runs": true, "/ui/runs?q=%00": false, "/ui/runs?q=%ff": false, "/ui/%00": false,
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if err := plain(u); (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
	}
}
