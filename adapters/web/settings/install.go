package settings

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/system"
)

// doctorView is the page of the doctor.
type doctorView struct {
	Findings []finding
	Checked  table
}

type finding struct {
	system.Finding
	Glyph, Target string
}

// doctor runs the checks.
func (h *handlers) doctor(r *shell.Request) (*shell.Page, error) {
	report, err := h.Doctor.Examine(r.Context())
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	v := doctorView{Checked: table{Caption: "What was checked", Heads: []string{"Check", "Looked at", "Result"}}}
	worst, n := map[string]system.Severity{}, map[system.Severity]int{}
	for _, f := range report.Findings {
		v.Findings = append(v.Findings, finding{f, severityGlyph(f.Severity), fixPage(f)})
		n[f.Severity]++
		if worst[f.Check] == "" {
			worst[f.Check] = f.Severity // errors come first
		}
	}
	for _, name := range slices.Sorted(maps.Keys(report.Checked)) {
		result := state("done", "Well")
		if s := worst[name]; s != "" {
			result = state(severityGlyph(s), severityWord(s))
		}
		v.Checked.Rows = append(v.Checked.Rows, row{Cells: []cell{text(shell.Words(name)),
			text(shell.Count(report.Checked[name])), result}})
	}
	return show(r, head{Title: tabDoctor, Sentence: doctorText(n[system.Error], n[system.Warning],
		len(report.Checked))}, doctorPage(v))
}

// fixPage is the page where a finding can be mended, empty for none.
func fixPage(f system.Finding) string {
	rest, api := strings.CutPrefix(f.Link, "/v1/")
	switch {
	case f.Link == "/v1/audit/verify":
		return "/ui/trust"
	case f.Link == "/v1/extensions":
		return shell.ExtensionsPath
	case f.Link == "/v1/policies":
		return "/ui/trust/policies"
	case api:
		kind, id, ok := strings.Cut(rest, "/")
		if kind == "runs" && ok {
			return "/ui/runs/" + id
		}
		if ok && !strings.Contains(id, "/") {
			return editOf(kind, id)
		}
		return "/ui/" + kind
	case strings.HasPrefix(f.Link, "guides/") || strings.HasPrefix(f.Link, "reference/"):
		return "/ui/help/" + strings.TrimSuffix(f.Link, ".md")
	case strings.HasPrefix(f.Link, "docs/"):
		return "/ui/help/" + strings.TrimSuffix(strings.TrimPrefix(f.Link, "docs/"), ".md")
	}
	return ""
}

// licenceView is the page of the licence.
type licenceView struct {
	Status   system.LicenseStatus
	Features table
}

// licence shows the licence and what it adds.
func (h *handlers) licence(r *shell.Request) (*shell.Page, error) {
	v := licenceView{Status: h.Licenses.License(r.Context()), Features: table{Caption: "What needs a licence",
		Heads: []string{"Feature", "From the tier", "This install"}}}
	features := system.LicensedFeatures()
	for _, name := range slices.Sorted(maps.Keys(features)) {
		has := state("skip", "Not included")
		if v.Status.State == system.LicenseValid && v.Status.License.Allows(name) {
			has = state("done", "Included")
		}
		v.Features.Rows = append(v.Features.Rows, row{Cells: []cell{text(shell.Words(name)),
			text(tierWord(features[name])), has}})
	}
	return show(r, head{Title: tabLicence, Sentence: licenceText(r, v.Status)}, licencePage(v))
}

// workers lists the executors, and the tokens of workers.
func (h *handlers) workers(r *shell.Request) (*shell.Page, error) {
	tokens, total, err := h.WorkerTokens.List(r.Context(), page.Window{Limit: maxRows})
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	t := table{Caption: "Tokens of workers", Heads: []string{"Worker", "Queues", "Made", "Ends", ""},
		Empty: "No tokens of workers", Why: workersWhy}
	for _, k := range tokens {
		ends := never(k.ExpiresAt, "never")
		if !k.Valid(r.Now) {
			ends = state("stop", "Ended")
		}
		t.Rows = append(t.Rows, row{Cells: []cell{text(k.Name), text(strings.Join(k.Queues, ", ")), at(k.CreatedAt), ends},
			Link: deleteOf("worker-tokens", k.ID), LinkText: "Delete"})
	}
	return pageOfList(r, head{Title: tabWorkers, Sentence: workersText(total),
		Add: "New token of a worker",
		New: "/ui/objects/worker-tokens/new"}, t, search{})
}

// profiles lists what executors give to runs. Profiles are in their configuration, so nothing can be changed here.
func (h *handlers) profiles(r *shell.Request) (*shell.Page, error) {
	list, total, err := h.Fleet.Workers(r.Context(), page.Window{Limit: maxRows})
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	t := table{Caption: tabProfiles, Heads: []string{"Executor", "Boundary", "Profile", "Landlock", "Limits", "Seen"},
		Empty: "No executors", Why: "Start a worker to see what it gives."}
	for _, w := range list {
		abi := "none"
		if w.Isolation.LandlockABI > 0 {
			abi = "ABI " + strconv.Itoa(w.Isolation.LandlockABI)
		}
		t.Rows = append(t.Rows, row{Cells: []cell{{Text: w.Name, Sub: strings.Join(w.Queues, ", ")},
			{Text: cmp.Or(w.Isolation.Level, "not known"), Sub: w.Isolation.Reason},
			text(cmp.Or(w.Isolation.Profile, "not known")), text(abi),
			text(cmp.Or(strings.Join(w.Isolation.Limits, ", "), "none")), at(w.SeenAt)}})
	}
	return pageOfList(r, head{Title: "Isolation profiles", Sentence: profilesText(total)}, t, search{})
}

// letters lists the dead letters.
func (h *handlers) letters(r *shell.Request) (*shell.Page, error) {
	p := pageOf(r)
	list, total, err := h.DeadLetters.ListDeadLetters(r.Context(), page.Window{Offset: p.From, Limit: pageRows})
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	t := table{Caption: tabLetters, Heads: []string{"Event", "Error", "Attempts", "Failed"}, Empty: "No dead letters",
		Why: lettersWhy}
	for _, l := range list {
		t.Rows = append(t.Rows, row{Cells: []cell{{Text: l.Message.Name, Sub: l.Subscriber,
			Href: "/ui/settings/dead-letters/" + l.ID}, text(short(l.Error)), text(shell.Count(l.Attempts)), at(l.LastAt)}})
	}
	p.Total, p.Shown = total, len(list)
	return pageOfList(r, head{Title: tabLetters, Sentence: lettersText(total)}, t, search{Pages: &p})
}

// letter shows a dead letter with its error, and retries or deletes it.
func (h *handlers) letter(r *shell.Request) (*shell.Page, error) {
	list, _, err := h.DeadLetters.ListDeadLetters(r.Context(), page.Window{Limit: page.MaxRows})
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	i := slices.IndexFunc(list, func(l system.DeadLetter) bool { return l.ID == r.PathValue("id") })
	if i < 0 {
		return nil, &httpapi.Problem{Status: http.StatusNotFound, Text: letterGone}
	}
	return show(r, head{Title: list[i].Message.Name, Sentence: letterText(list[i])}, letterPage(list[i]))
}
