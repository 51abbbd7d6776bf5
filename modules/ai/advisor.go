package ai

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-automation/writ/modules/ai/internal/call"
	"github.com/writ-automation/writ/modules/ai/internal/collect"
	"github.com/writ-automation/writ/modules/ai/internal/prompt"
	"github.com/writ-automation/writ/modules/ai/internal/proposal"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/ai"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/runs"
)

// kind is the kind of advice in the trail where it is about no object. The id tells what it is.
const kind = "ai"

// What a model is told to do.
const (
	explainTask = "You help operators of Writ, which runs automation on hosts. Explain in plain words why the run is in " +
		"its state: the cause first, with the lines that show it, then what to look at or to change. Say so if the data " +
		"does not show the cause."
	draftTask = "You write one script for operators, who read it before they run it. Answer with the script alone: no " +
		"words around it and no Markdown. It fails on errors, changes only what was asked for, can run twice, and has no " +
		"secret in it."
	askTask = "You answer questions of operators about the runs and hosts of Writ, which runs automation. Answer " +
		"briefly, from the data alone. The lists have the first rows only; say so if the answer needs more."
	proposeTask = "You turn a request of an operator into one run of Writ, which runs automation on hosts. A person " +
		"reads and approves it before it starts. Answer with one JSON object alone, without Markdown. Its members, of " +
		"which most can be left out: " + proposal.Members + ". Use ids of the data alone. Set dry_run unless the request " +
		"is a change."
)

type advisor struct {
	caller    *call.Caller
	collect   *collect.Collector
	submitter runs.Submitter
	asked     *limit
}

var _ ai.Advisor = (*advisor)(nil)

func (a *advisor) Enabled() bool { return a.caller.Enabled() == nil }

func (a *advisor) Explain(ctx context.Context, runID string, write ai.Write) (ai.Answer, error) {
	if err := a.caller.Enabled(); err != nil {
		return ai.Answer{}, err
	}
	p, run, err := a.collect.Run(ctx, runID, explainTask, "Why is this run in its state?")
	if err != nil {
		return ai.Answer{}, err
	}
	about := audit.Object{Kind: ids.KindOf(run.ID), ID: run.ID, Name: run.Name}
	return a.caller.Do(ctx, audit.AIExplain, about, p.Request(), write)
}

func (a *advisor) Draft(ctx context.Context, tool, description string, write ai.Write) (ai.Answer, error) {
	if err := a.caller.Enabled(); err != nil {
		return ai.Answer{}, err
	}
	if !slices.Contains(ai.DraftTools(), tool) {
		return ai.Answer{}, fault.NoneOf("tool", tool, ai.DraftTools()...)
	}
	if err := check("description", description); err != nil {
		return ai.Answer{}, err
	}
	p := prompt.New(draftTask, fmt.Sprintf("Write a script for %s: %s", tool, description), prompt.NewHider(nil))
	out, err := a.caller.Do(ctx, audit.AIDraft, audit.Object{Kind: kind, ID: "draft"}, p.Request(), write)
	out.Text = proposal.Unfenced(out.Text)
	return out, err
}

func (a *advisor) Ask(ctx context.Context, question string, write ai.Write) (ai.Answer, error) {
	if err := a.caller.Enabled(); err != nil {
		return ai.Answer{}, err
	}
	if err := check("question", question); err != nil {
		return ai.Answer{}, err
	}
	if err := a.asked.take(actor.From(ctx)); err != nil {
		a.caller.Refuse(audit.AIAsk)
		return ai.Answer{}, err
	}
	p := prompt.New(askTask, question, prompt.NewHider(nil))
	if err := a.collect.Estate(ctx, p); err != nil {
		return ai.Answer{}, err
	}
	return a.caller.Do(ctx, audit.AIAsk, audit.Object{Kind: kind, ID: "question"}, p.Request(), write)
}

// Propose records the call before it submits: nothing is made that the trail does not explain.
func (a *advisor) Propose(ctx context.Context, request string) (*runs.Run, error) {
	if err := a.caller.Enabled(); err != nil {
		return nil, err
	}
	if err := check("request", request); err != nil {
		return nil, err
	}
	p := prompt.New(proposeTask, request, prompt.NewHider(nil))
	if err := a.collect.Objects(ctx, p); err != nil {
		return nil, err
	}
	answer, err := a.caller.Do(ctx, audit.AIPropose, audit.Object{Kind: kind, ID: "proposal"}, p.Request(), nil)
	if err != nil {
		return nil, err
	}
	if answer.Cut {
		return nil, ai.BadProposal.New("the AI provider's answer is cut off at its limit")
	}
	s, err := proposal.Read(answer.Text)
	if err != nil {
		return nil, err
	}
	run, _, err := a.submitter.Submit(ctx, s)
	return run, proposal.Refused(err)
}

// check checks a text of the caller.
func check(field, text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return fault.BadField(field, "is required")
	case len(text) > ai.MaxText:
		return fault.BadField(field, "has more than %d bytes", ai.MaxText)
	}
	return nil
}
