package ai

import (
	"net/http"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/ai"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/runs"
)

const tag = "ai"

type handlers struct {
	Params
	router  *httpapi.Router
	answers httpapi.RunAnswers
}

// New returns the routes of the ai context.
func New(p Params) httpapi.Routes {
	return httpapi.Routes{Name: "ai", Register: func(r *httpapi.Router) {
		h := &handlers{p, r, httpapi.RunAnswers{Trail: p.Trail, Clock: p.Clock}}
		h.advising(r)
		h.proposing(r)
	}}
}

// advice is what the descriptions of advice share.
const advice = " The answer is advice and changes nothing. The trail has the digests of what the language model was " +
	"sent and of its answer. Without a provider it is 404 with the reason ai_disabled, and a provider that fails is 503 " +
	"with ai_failed."

func (h *handlers) advising(r *httpapi.Router) {
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPost, Path: "/v1/runs/{id}/explain", ID: "explain-run", Tag: tag,
		Summary: "Explain a run with a language model",
		Description: "The model gets the metadata of the run, its failures, and the end of its masked output; no " +
			"variables, environments, commands and credentials." + advice,
		Access: httpapi.Needs("ai", "read"), Harmless: true, Status: http.StatusOK,
		Example: example("The package nginx-extras is not in the sources of web01. Enable the repository or install nginx."),
		Errors:  []int{http.StatusNotFound, http.StatusTooManyRequests},
	}, h.explain)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPost, Path: "/v1/ai/draft", ID: "draft-script", Tag: tag,
		Summary:     "Draft a script with a language model",
		Description: "The text is a script of bash, python, powershell or go. Read it before you run it." + advice,
		Access:      httpapi.Needs("ai", "draft"), Harmless: true, Status: http.StatusOK,
		Request: DraftBody{Tool: "bash", Description: "Remove logs in /var/log/app that are older than a week."},
		Example: example("set -euo pipefail\nfind /var/log/app -name '*.log' -mtime +7 -delete\n"),
		Errors:  []int{http.StatusNotFound, http.StatusTooManyRequests},
	}, h.draft)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPost, Path: "/v1/ai/ask", ID: "ask-question", Tag: tag,
		Summary: "Ask a language model about the fleet",
		Description: "The model gets the newest runs, the health of hosts and drift, each as far as the caller may read " +
			"them. An account may ask ten questions a minute." + advice,
		Access: httpapi.Needs("ai", "read"), Harmless: true, Status: http.StatusOK,
		Request: AskBody{Question: "Which hosts failed most often this week?"},
		Example: example("web01 failed in 3 of its last 10 runs, db02 in 1."),
		Errors:  []int{http.StatusNotFound, http.StatusTooManyRequests},
	}, h.ask)
}

func (h *handlers) proposing(r *httpapi.Router) {
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	run := httpapi.RunsRunBody{ID: "run_01k0a8bq3vtx5zk9w2m4n6p8rs", Kind: string(runs.Single),
		Name:   "Uptime of web servers",
		Status: string(runs.PendingApproval), CreatedAt: at, Warnings: []runs.Warning{}, Source: string(runs.FromProposal),
		Actor: actor.Actor{Type: actor.User, ID: "usr_01k0a0000vtx5zk9w2m4n6p8rs", Name: "alex"}, Hosts: map[string]int{}}
	run.Tool, run.Command, run.Queue, run.RequireApproval = "bash", "uptime", runs.DefaultQueue, true
	run.Labels = map[string]string{ai.ProposalLabel: ai.ProposalValue}
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPost, Path: "/v1/ai/propose-run", ID: "propose-run", Tag: tag,
		Summary: "Have a language model propose a run",
		Description: "The model turns the request into a submission, which is checked like every other one of the caller " +
			"and is held for approval whatever the policies say. The run has the source proposal and the label " +
			"proposed-by: ai. An answer that is no valid submission is 400 with the reason ai_proposal_invalid, one that sets " +
			"a reserved variable is 400 with vars_reserved, and nothing is made. Without a provider it is 404 with the reason " +
			"ai_disabled, and a provider that fails is 503 with ai_failed.",
		Access: httpapi.Needs("ai", "propose"), Action: audit.RunSubmit, Status: http.StatusCreated,
		Request: ProposeBody{Request: "Show how long the web servers have been up."}, Example: run,
		Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, h.propose)
}

func example(text string) AdviceBody {
	return AdviceBody{Text: text, Model: "llama3.1:8b", Provider: "ollama", Tokens: 1830}
}
