package ask

import (
	"github.com/writ-automation/writ/adapters/web/adviceview"
	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/ai"
	"github.com/writ-automation/writ/ports/identity"
)

const (
	askForm     = "ask-question"
	proposeForm = "propose-run"
	askAPI      = "/v1/ai/ask"
)

// New returns the section.
func New() shell.Section {
	return shell.Section{Name: "ask", Register: func(s *shell.Shell) {
		read := identity.Need{Kind: "ai", Act: "read"}
		s.Get(shell.AskPath, read, show)
		s.Post(shell.AskPath, read, question)
	}}
}

func show(r *shell.Request) (*shell.Page, error) { return page(r, nil) }

// question asks, and shows the answer below the question.
func question(r *shell.Request) (*shell.Page, error) {
	form, err := r.Form()
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	if form.Has("_copy") {
		return r.Do(askForm, nil) //nolint:wrapcheck // a fault
	}
	r.Keep(form)
	answer, err := adviceview.Ask(r, askAPI, map[string]string{"question": form.Get("question")})
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	return page(r, answer)
}

func page(r *shell.Request, answer *adviceview.Advice) (*shell.Page, error) {
	if !r.Viewer.Advice {
		return nil, ai.Disabled.New("this server has no AI provider; it needs --ai-provider")
	}
	status := 0
	if answer != nil && answer.Problem != nil {
		status = answer.Problem.Status
	}
	return &shell.Page{Title: title, Nav: shell.Ask, Status: status, Body: askPage(answer)}, nil
}
