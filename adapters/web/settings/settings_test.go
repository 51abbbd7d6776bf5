package settings

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/system"
)

func TestMatrixFoldsGrants(t *testing.T) {
	t.Parallel()
	list := []identity.Grant{
		{Subject: "user:u1", Object: "tpl_1", Level: access.Manage}, {Subject: "user:u1", Object: "tpl_1",
			Level: access.Read},
		{Subject: "team:t1", Object: "queue:q", Level: access.Use},
	}
	m := matrixOf(list, names{"user:u1": "mara", "team:t1": "Release"}, names{"tpl_1": "Patch"})
	if len(m.Rows) != 2 || len(m.Objects) != 2 || m.Left != 0 || m.Objects[0].Text != "Patch" ||
		m.Objects[1].Text != "queue:q" || m.Rows[0].Subject.Text != "Release" {
		t.Fatalf("the matrix is %+v", m)
	}
	if got := []access.Level{m.Rows[0].Cells[0].Level, m.Rows[0].Cells[1].Level, m.Rows[1].Cells[0].Level,
		m.Rows[1].Cells[1].Level}; !slices.Equal(got, []access.Level{"", access.Use, access.Manage, ""}) {
		t.Errorf("the levels are %v", got)
	}
	for i := range 40 {
		list = append(list, identity.Grant{Subject: "user:u1", Object: "tpl_x" + string(rune('a'+i)), Level: access.Read})
	}
	if m := matrixOf(list, nil, nil); len(m.Objects) != maxColumns || m.Left != 42-maxColumns {
		t.Errorf("%d columns, %d left", len(m.Objects), m.Left)
	}
}

func TestWaysAddUp(t *testing.T) {
	t.Parallel()
	x := &reasons{}
	x.add(identity.Viewer, way{Text: "a.", Level: access.Manage})
	x.add(identity.Viewer, way{Text: "b.", Level: access.Read})
	if x.Level != access.Use || x.Paths[0].Level != access.Use || !strings.Contains(x.Paths[0].Text, cappedText) {
		t.Errorf("a viewer gets %+v", x)
	}
	if x = (&reasons{Name: "ines", Object: "Patch"}); verdictText(x) != "ines cannot reach Patch: its grants name "+
		"others." {
		t.Error(verdictText(x))
	}
}

func TestFindingsLeadToPages(t *testing.T) {
	t.Parallel()
	for link, want := range map[string]string{
		"": "", "/v1/templates/tpl_1": "/ui/objects/templates/tpl_1/edit", "/v1/audit/verify": "/ui/trust",
		"/v1/extensions": "/ui/settings/extensions",
		"/v1/policies":   "/ui/trust/policies", "/v1/runs/run_1": "/ui/runs/run_1",
		"docs/guides/doctor.md": "/ui/help/guides/doctor",
		"guides/isolation.md":   "/ui/help/guides/isolation", "https://example.org": "",
	} {
		if got := fixPage(system.Finding{Link: link}); got != want {
			t.Errorf("%q leads to %q, expected %q", link, got, want)
		}
	}
}

// TestExtensionsInWords: each state has a word and a glyph, and a page without extensions says how to add one.
func TestExtensionsInWords(t *testing.T) {
	t.Parallel()
	list := []system.Extension{
		{Name: "a", Kinds: []system.ExtensionKind{system.ToolExtension, system.ProviderExtension}, Version: "v1.2.0",
			State: system.ExtensionCompiled},
		{Name: "b", Kinds: []system.ExtensionKind{system.NotifierExtension}, State: system.ExtensionRunning, Restarts: 2},
		{Name: "c", Kinds: []system.ExtensionKind{system.EngineExtension}, State: system.ExtensionRestarting},
		{Name: "d", State: system.ExtensionFailed, Error: "it has no description"},
	}
	if got := extensionsText(list); got != "4 extensions. 2 extensions do not run." {
		t.Error(got)
	}
	if got := extensionsText(list[:1]); got != "1 extension. Each of them runs." {
		t.Error(got)
	}
	for _, c := range []struct {
		list []system.Extension
		want []string
	}{
		{list, []string{"tool, AI provider", "v1.2.0", "Compiled in", "notifier", "not known", "Running", ">2<",
			"secret engine", "Restarting", "Failed", "it has no description"}},
		{nil, []string{"No extensions", "--plugins-dir", `href="/ui/help/reference/plugins"`}},
	} {
		var b strings.Builder
		if err := extensionsPage(extensionRows(c.list)).Render(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
		for _, text := range c.want {
			if !strings.Contains(b.String(), text) {
				t.Errorf("no %q in %s", text, b.String())
			}
		}
		if n := strings.Count(b.String(), `class="ico"`); n != len(c.list) {
			t.Errorf("%d glyphs for %d states", n, len(c.list))
		}
	}
}

// values are those of attributes, in which quotes are escaped.
var values = regexp.MustCompile(`"[^"]*"`)

var unsafe = regexp.MustCompile(`(?i)<script|<img|<[a-z][^<>]*\s(style|on[a-z]+)=`)

func TestPagesEscapeHostileTexts(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	ctx := shell.WithViewer(t.Context(), shell.Viewer{}, now)
	for _, s := range []string{"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "\u202egnp",
		strings.Repeat("x", 255)} {
		rows := table{Caption: s, Heads: []string{s, s, ""}, Rows: []row{{Cells: []cell{{Text: s, Sub: s, Href: "/ui/"},
			mono(s), at(now), state("done", s)}, Link: "/ui/", LinkText: s}}}
		finds := system.Finding{Severity: system.Error, Check: s, Problem: s, Fix: s, Object: system.Subject{Kind: s,
			Name: s}}
		n := names{"user:u": s, "tpl_1": s}
		for name, c := range map[string]templ.Component{
			"list": listPage(rows, search{Label: s, Value: s, Cut: s, Pages: &pages{Total: 1000, Shown: 100}}),
			"frame": frame(head{Title: s, Sentence: s, New: "/ui/", Add: s},
				listPage(table{Empty: s, Why: s}, search{})),
			"group":  groupPage(groupView{Members: rows, Others: rows, Accounts: shell.Choices(s), Roles: shell.Choices(s)}),
			"record": recordPage(recordView{Facts: []fact{{s, text(s)}}, Used: rows, Note: s}),
			"access": accessPage(accessView{Matrix: matrixOf([]identity.Grant{{Subject: "user:u", Object: "tpl_1",
				Level: access.Use}}, n, n), Grants: rows, Subjects: shell.Choices(s), Why: &reasons{Name: s, Object: s,
				Level: access.Use, Paths: []way{{s, "/ui/", access.Use}}}}),
			"doctor":  doctorPage(doctorView{Findings: []finding{{finds, "fail", "/ui/"}}, Checked: rows}),
			"licence": licencePage(licenceView{Status: system.LicenseStatus{Problem: s, License: system.License{ID: s}}}),
			"extensions": extensionsPage(extensionRows([]system.Extension{{Name: s, Version: s, Error: s,
				Kinds: []system.ExtensionKind{system.ExtensionKind(s)}, State: system.ExtensionState(s)}})),
			"letter": letterPage(system.DeadLetter{ID: "x", Failure: events.Failure{Subscriber: s, Error: s}}),
		} {
			var b strings.Builder
			if err := c.Render(ctx, &b); err != nil {
				t.Fatal(err)
			}
			if m := unsafe.FindString(values.ReplaceAllString(b.String(), `""`)); m != "" {
				t.Errorf("%s: %q gives %q", name, s, m)
			}
		}
	}
}
