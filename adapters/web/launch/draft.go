package launch

import (
	"net/url"
	"strings"

	"github.com/writ-automation/writ/adapters/web/adviceview"
	"github.com/writ-automation/writ/adapters/web/shell"
)

const draftAPI = "/v1/ai/draft"

// The fields of a draft: the text that is kept beside the script, and who wrote the draft.
const (
	fieldDraft = "_draft"
	fieldBy    = "_draft_by"
)

// keptDraft returns the draft that the posted form has, nil for none.
func keptDraft(form url.Values) *adviceview.Advice {
	if form.Get(fieldBy) == "" {
		return nil
	}
	return &adviceview.Advice{Text: plainLines(form.Get(fieldDraft)), By: form.Get(fieldBy)}
}

func plainLines(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// draft puts the draft of a model into the script while that is empty, and else beside it. It also swaps the two, and
// discards what is beside. All that was entered stays, and nothing is submitted.
func (h *handlers) draft(r *shell.Request) (*shell.Page, error) {
	form, err := r.Form()
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	a := &adviceview.Advice{Text: plainLines(form.Get(fieldDraft)), By: form.Get(fieldBy)}
	command := plainLines(form.Get("command"))
	switch {
	case form.Has("_swap"):
		command, a.Text = a.Text, command
	case form.Has("_drop"):
		a.Text = ""
	case a.Text != "":
		a.Problem = shell.Invalid(fieldDraft, draftFull)
	default:
		a, err = adviceview.Ask(r, draftAPI, map[string]string{"tool": form.Get("tool"),
			"description": form.Get("_description")})
		if err != nil {
			return nil, err //nolint:wrapcheck // a fault
		}
		if a.Problem == nil && strings.TrimSpace(command) == "" {
			command, a.Text = a.Text, ""
		}
	}
	form.Set("command", command)
	form.Set(fieldDraft, a.Text)
	form.Set(fieldBy, a.By)
	r.Keep(form)
	p, err := h.adhocPage(r, form, a)
	if err == nil && a.Problem != nil {
		p.Status = a.Problem.Status
	}
	return p, err
}
