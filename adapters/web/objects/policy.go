package objects

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/a-h/templ"

	"github.com/writ-automation/writ/adapters/web/policyview"
	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/system"
)

const policyKind = "policies"

// policyForm is the form of a policy: two sentences with fields in them, and the rest below.
type policyForm struct {
	view
	Rule, Release []slot
	Summary       summary
	Trial         *policyview.Trial
	// Draft is the address that answers what a draft says and would have done.
	Draft string
}

// slot is a field in a sentence, with the words before it.
type slot struct {
	Before string
	Field  field
}

// summary is what the draft says in words and as JSON, and what stands in its way.
type summary struct {
	Sentence, JSON, Problem string
	Notes                   []string
	Effect                  policy.Effect
}

// rule is a policy as the API takes it.
type rule struct {
	Effect           policy.Effect  `json:"effect"`
	Enabled          *bool          `json:"enabled"`
	Match            policy.Match   `json:"match"`
	ExcludeDryRun    bool           `json:"exclude_dry_run"`
	RiskAtLeast      runs.RiskLevel `json:"risk_at_least"`
	Actors           []string       `json:"actors"`
	DistinctApprover bool           `json:"distinct_approver"`
	ApprovalsNeeded  int            `json:"approvals_needed"`
	ApproverTeams    []string       `json:"approver_teams"`
}

// draft shows the form again with what was entered, what it says, and what it would have done if that was asked for.
func (h *handlers) draft(r *shell.Request) (*shell.Page, error) {
	form, err := r.Form()
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	r.Keep(form)
	r.SetPathValue("kind", policyKind)
	if id := r.URL.Query().Get("id"); id != "" {
		r.SetPathValue("id", id)
		return h.edit(r)
	}
	return h.create(r)
}

// policy returns the page of the form of a policy.
func (h *handlers) policy(b *builder, v view) (*shell.Page, error) {
	if h.Source.Read != nil {
		return &shell.Page{Title: v.Title, Nav: navOf(b.r, b.table), Tab: b.table.Home, Body: filePage(v, h.Source.Path)}, nil
	}
	p := policyForm{view: v, Draft: "/ui/objects/policies/draft"}
	id := b.r.PathValue("id")
	if id != "" {
		p.Draft += "?id=" + url.QueryEscape(id)
	}
	lacks := h.lacks(b.r.Context())
	p.arrange(lacks, slices.ContainsFunc([]string{"create-policy", "update-policy"},
		func(op string) bool { return b.r.Refused(op) != nil }))
	body, problem := b.drafted(), ""
	if b.r.Method == http.MethodPost {
		form, err := b.r.Form()
		if err != nil {
			return nil, err //nolint:wrapcheck // a fault
		}
		if etag := form.Get("_etag"); etag != "" { // what was edited, not what is there now
			p.Form.ETag, p.Sums = etag, form.Get("_base")
		}
		entered, wrong := shell.Body(form)
		if wrong != nil {
			problem = wrong.Text
		}
		body = entered
	}
	p.Summary = b.summary(body, lacks)
	p.Summary.Problem = problem
	if err := h.count(b.r.Context(), id, body, &p.Summary); err != nil {
		return nil, err
	}
	if b.r.Method == http.MethodPost && b.r.URL.Query().Has("try") && problem == "" {
		if textOf(body["name"]) == "" {
			body["name"] = "draft"
		}
		var err error
		if p.Trial, err = policyview.Try(b.r, body); err != nil {
			return nil, err //nolint:wrapcheck // a fault
		}
	}
	return &shell.Page{Title: v.Title, Nav: navOf(b.r, b.table), Tab: b.table.Home, Body: policyPage(p),
		Parts: map[string]templ.Component{"summary": summaryPart(p.Summary), "trial": policyview.Show(p.Trial)}}, nil
}

// arrange takes the fields of the sentences out of the groups. A refused form shows all of its fields.
func (p *policyForm) arrange(lacks map[string]system.Tier, refused bool) {
	take := func(before, member string, change func(*field)) slot {
		for i := range p.Groups {
			at := slices.IndexFunc(p.Groups[i].Fields, func(f field) bool { return f.Member == member })
			if at < 0 {
				continue
			}
			f := p.Groups[i].Fields[at]
			p.Groups[i].Fields = slices.Delete(p.Groups[i].Fields, at, at+1)
			if change != nil {
				change(&f)
			}
			return slot{before, f}
		}
		return slot{Before: before}
	}
	labeled := func(label, feature string) func(*field) {
		return func(f *field) { f.Label = label + tierOf(lacks, feature) }
	}
	p.Rule = []slot{
		take("", "effect", func(f *field) { effectWords(f, lacks) }),
		take(runsOfText, "match.tools", func(f *field) {
			f.Name, f.Kind, f.Help = f.Member+":list", "", toolsHelp
			f.Value = strings.ReplaceAll(f.Value, "\n", ", ")
		}),
		take(onInventoryText, "match.inventory_ids", nil),
		take(moreThanText, "match.hosts_over", nil),
		take(hostsText, "exclude_dry_run", labeled(unlessDryText, "")),
	}
	p.Release = []slot{
		take(releaseText, "approvals_needed", nil),
		take(ofTeamsText, "approver_teams", nil),
		take("", "distinct_approver", labeled(distinctText, policy.FeatureDistinct)),
	}
	for i := range p.Groups {
		for j, f := range p.Groups[i].Fields {
			feature := map[string]string{"risk_at_least": policy.FeatureRisk, "actors": policy.FeatureActors}[f.Member]
			p.Groups[i].Fields[j].Label += tierOf(lacks, feature)
		}
		if p.Groups[i].Name == whichGroup {
			p.Groups[i].Name, p.Groups[i].Folded = moreConditions, true
			p.Groups[i].Open = refused || slices.ContainsFunc(p.Groups[i].Fields, field.set)
		}
	}
	p.Groups = slices.DeleteFunc(p.Groups, func(g group) bool { return len(g.Fields) == 0 })
}

func effectWords(f *field, lacks map[string]system.Tier) {
	f.Choices = []shell.Choice{{Value: string(policy.RequireApproval), Label: holdWord},
		{Value: string(policy.Deny), Label: denyWord + tierOf(lacks, policy.FeatureDeny)}}
}

// lacks returns the features of policies that the licence does not include, with the lowest tier of each.
func (h *handlers) lacks(ctx context.Context) map[string]system.Tier {
	s := h.Licenses.License(ctx)
	out := map[string]system.Tier{}
	for name, tier := range system.LicensedFeatures() {
		if s.State != system.LicenseValid || !s.License.Allows(name) {
			out[name] = tier
		}
	}
	return out
}

// drafted returns the record without what only the API writes.
func (b *builder) drafted() map[string]any {
	out := map[string]any{"effect": string(policy.RequireApproval), "enabled": true}
	for name, v := range b.stored {
		if name != "id" && name != "created_by" && name != "created_at" && name != "updated_at" {
			out[name] = v
		}
	}
	return out
}

// summary words a draft, and says what the licence refuses of it.
func (b *builder) summary(body map[string]any, lacks map[string]system.Tier) (out summary) {
	var of rule
	raw, err := json.Marshal(body)
	if err == nil {
		err = json.Unmarshal(raw, &of)
	}
	if err != nil {
		return summary{Problem: err.Error()}
	}
	p := policy.Policy{Effect: of.Effect, Match: of.Match, ExcludeDryRun: of.ExcludeDryRun, RiskAtLeast: of.RiskAtLeast,
		Actors: of.Actors, DistinctApprover: of.DistinctApprover, ApprovalsNeeded: of.ApprovalsNeeded,
		ApproverTeams: of.ApproverTeams}
	out.Sentence, out.Effect = policyview.Sentence(p, b.nameOf), p.Effect
	for _, f := range []struct {
		name, what string
		used       bool
	}{
		{policy.FeatureDeny, denyFeature, p.Effect == policy.Deny}, {policy.FeatureRisk, riskFeature, p.RiskAtLeast != ""},
		{policy.FeatureActors, actorsFeature, len(p.Actors) > 0},
		{policy.FeatureDistinct, distinctFeature, p.DistinctApprover},
	} {
		if tier, ok := lacks[f.name]; ok && f.used {
			out.Notes = append(out.Notes, licenceText(f.what, tier))
		}
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(pruned(body)); err != nil {
		out.Problem = err.Error()
	}
	out.JSON = strings.TrimSpace(text.String())
	return out
}

// nameOf returns the name of a record of the choices of the form.
func (b *builder) nameOf(id string) string {
	for _, l := range b.lists {
		for _, c := range l.rows {
			if c.Value == id {
				return c.Label
			}
		}
	}
	return ""
}

// pruned leaves out what is empty, and what is not so.
func pruned(body map[string]any) map[string]any {
	out := map[string]any{}
	for name, v := range body {
		switch x := v.(type) {
		case map[string]any:
			if inner := pruned(x); len(inner) > 0 {
				out[name] = inner
			}
		case bool:
			if x || name == "enabled" {
				out[name] = x
			}
		default:
			if raw, err := json.Marshal(v); err == nil && string(raw) != `""` && string(raw) != "[]" {
				out[name] = v
			}
		}
	}
	return out
}

// count says before it is saved that the licence does not include one policy more in force.
func (h *handlers) count(ctx context.Context, id string, body map[string]any, s *summary) error {
	if on, ok := body["enabled"].(bool); ok && !on {
		return nil
	}
	list, _, err := h.Policies.InForce(ctx)
	if err != nil {
		return err //nolint:wrapcheck // a fault
	}
	n := 0
	for _, p := range list {
		if p.ID != id {
			n++
		}
	}
	lacks := h.lacks(ctx)
	most := -1
	if _, without := lacks[policy.FeatureUnlimited]; without {
		most = policy.FiveEnabled
		if _, without := lacks[policy.FeatureFive]; without {
			most = policy.FreeEnabled
		}
	}
	if most >= 0 && n >= most {
		s.Notes = append(s.Notes, tooManyText(most, n))
	}
	return nil
}
