package runs

import (
	"net/http"
	"slices"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/fault"
)

// cancelView is the question before runs are canceled, or what became of each.
type cancelView struct {
	Runs []row
	// Outcomes are in the order of Runs; they are empty for a question.
	Outcomes []string
	Failed   int
	Back     string
}

// cancel asks before it cancels the chosen runs. Each is a request of its own to the API.
func (h *handlers) cancel(r *shell.Request) (*shell.Page, error) {
	form, err := r.Form()
	if err != nil {
		return nil, err
	}
	back := query{Q: form.Get("q"), Since: form.Get("since")}
	ids := slices.Compact(slices.Sorted(slices.Values(form["run"])))
	if len(ids) == 0 {
		return nil, shell.Redirect(back.at())
	}
	if len(ids) > rowsShown {
		return nil, fault.BadField("run", "takes at most %d runs", rowsShown)
	}
	v := &cancelView{Back: back.at()}
	for _, id := range ids {
		run, err := h.Reader.Get(r.Context(), id)
		if err != nil {
			return nil, err
		}
		v.Runs = append(v.Runs, rowOf(run))
	}
	if form.Get("confirm") == "" {
		return &shell.Page{Title: cancelTitle(len(ids)), Nav: shell.Runs, Body: cancelQuestion(v, back)}, nil
	}
	for _, id := range ids {
		a := r.Call(httpapi.Call{Method: http.MethodPost, Path: "/v1/runs/" + id + "/cancel"})
		text := cancelAsked
		if !a.OK() {
			v.Failed++
			text = r.Refusal(a)
		}
		v.Outcomes = append(v.Outcomes, text)
	}
	if v.Failed == 0 {
		r.Notice(canceledText(len(ids)))
		return nil, shell.Redirect(v.Back)
	}
	return &shell.Page{Title: cancelTitle(len(ids)), Nav: shell.Runs, Status: http.StatusConflict,
		Body: cancelOutcome(v)}, nil
}
