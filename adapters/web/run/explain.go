package run

import (
	"context"

	"github.com/writ-automation/writ/adapters/web/adviceview"
	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/runs"
)

const explainForm = "explain-run"

// explainable reports whether the viewer may have a model explain why the run failed.
func explainable(ctx context.Context, r *runs.Run) bool {
	failed := r.Status == runs.Failed || r.Status == runs.Interrupted || r.Status.Terminal() && broken(r)
	return failed && shell.Advised(ctx, "read")
}

func explainAPI(r *runs.Run) string { return "/v1/runs/" + r.ID + "/explain" }

// explain shows the run with the explanation of a model, for browsers without script.
func (h *handlers) explain(r *shell.Request) (*shell.Page, error) {
	form, err := r.Form()
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	if form.Has("_copy") {
		return r.Do(explainForm, map[string]string{"id": r.PathValue("id")}) //nolint:wrapcheck // a fault
	}
	top, err := h.head(r, "matrix")
	if err != nil {
		return nil, err
	}
	if top.Advice, err = adviceview.Ask(r, explainAPI(top.Run), nil); err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	p, err := h.view(r, top)
	if err == nil && top.Advice.Problem != nil {
		p.Status = top.Advice.Problem.Status
	}
	return p, err
}
