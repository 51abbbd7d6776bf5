package ai

import (
	"context"
	"mime"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/ai"
)

// AdviceBody is the answer of a model.
type AdviceBody struct {
	Text     string `json:"text" doc:"Plain text, whatever it looks like: never render it as markup, and never execute it unread."`
	Model    string `json:"model"`
	Provider string `json:"provider"`
	Tokens   int    `json:"tokens" doc:"What the question and the answer took, as the provider counts; 0 if it does not tell."`
	Cut      bool   `json:"cut,omitempty" doc:"The answer reached a limit, so that its end is missing."`
}

func bodyOf(a ai.Answer) AdviceBody {
	return AdviceBody{Text: a.Text, Model: a.Model, Provider: a.Provider, Tokens: a.Tokens, Cut: a.Cut}
}

// PieceBody is a piece of an answer in a stream.
type PieceBody struct {
	Text string `json:"text"`
}

// Accepting is the header that asks for a stream.
type Accepting struct {
	Accept string `header:"Accept" doc:"text/event-stream answers with the events text (a piece of the answer), then answer (all of it, like the body of an answer at once) or error (a problem)."`
}

// streamed reports whether a stream is asked for.
func (a *Accepting) streamed() bool {
	for part := range strings.SplitSeq(a.Accept, ",") {
		media, _, err := mime.ParseMediaType(part)
		if err == nil && media == "text/event-stream" {
			return true
		}
	}
	return false
}

// ExplainInput names a run.
type ExplainInput struct {
	ID string `path:"id"`
	Accepting
}

// DraftBody asks for a script.
type DraftBody struct {
	Tool        string `json:"tool" enum:"bash,python,powershell,go"`
	Description string `json:"description" minLength:"1" maxLength:"8192" doc:"At most 8 KiB."`
}

// DraftInput carries it.
type DraftInput struct {
	Accepting
	Body DraftBody
}

// AskBody asks a question.
type AskBody struct {
	Question string `json:"question" minLength:"1" maxLength:"8192" doc:"At most 8 KiB."`
}

// AskInput carries it.
type AskInput struct {
	Accepting
	Body AskBody
}

// ProposeBody asks for a run.
type ProposeBody struct {
	Request string `json:"request" minLength:"1" maxLength:"8192" doc:"At most 8 KiB."`
}

func (h *handlers) explain(ctx context.Context, in *ExplainInput) (*httpapi.StreamOutput, error) {
	return h.advise(ctx, &in.Accepting, func(ctx context.Context, write ai.Write) (ai.Answer, error) {
		return h.Advisor.Explain(ctx, in.ID, write)
	})
}

func (h *handlers) draft(ctx context.Context, in *DraftInput) (*httpapi.StreamOutput, error) {
	return h.advise(ctx, &in.Accepting, func(ctx context.Context, write ai.Write) (ai.Answer, error) {
		return h.Advisor.Draft(ctx, in.Body.Tool, in.Body.Description, write)
	})
}

func (h *handlers) ask(ctx context.Context, in *AskInput) (*httpapi.StreamOutput, error) {
	return h.advise(ctx, &in.Accepting, func(ctx context.Context, write ai.Write) (ai.Answer, error) {
		return h.Advisor.Ask(ctx, in.Body.Question, write)
	})
}

func (h *handlers) propose(
	ctx context.Context, in *httpapi.NewInput[ProposeBody],
) (*httpapi.NewRunOutput, error) {
	run, err := h.Advisor.Propose(ctx, in.Body.Request)
	return h.answers.Created(ctx, run, false, err)
}

// question asks for an answer, whose pieces go to write.
type question func(ctx context.Context, write ai.Write) (ai.Answer, error)

// advise answers at once, or with a stream if that is asked for.
func (h *handlers) advise(ctx context.Context, in *Accepting, ask question) (*httpapi.StreamOutput, error) {
	if in.streamed() {
		return &httpapi.StreamOutput{Body: func(hctx huma.Context) { h.stream(hctx, ask) }}, nil
	}
	answer, err := ask(ctx, nil)
	if err != nil {
		return nil, err
	}
	body, err := httpapi.Encode(bodyOf(answer))
	if err != nil {
		return nil, err
	}
	return &httpapi.StreamOutput{Body: func(hctx huma.Context) {
		hctx.SetHeader("Content-Type", "application/json")
		hctx.SetStatus(http.StatusOK)
		_, _ = hctx.BodyWriter().Write(body) // the client is gone
	}}, nil
}

// stream answers with server-sent events. An error before the first piece is an error answer.
func (h *handlers) stream(hctx huma.Context, ask question) {
	sink := h.router.NewSink(hctx, http.StatusOK, func(hd http.Header) {
		hd.Set("Content-Type", "text/event-stream; charset=utf-8")
		hd.Set("X-Accel-Buffering", "no")
	})
	defer sink.Done()
	ctx := hctx.Context()
	err := h.router.Stream(ctx, func(ctx context.Context) error {
		answer, err := ask(ctx, func(text string) error { return sink.Event("text", PieceBody{text}) })
		if err != nil {
			return err
		}
		return sink.Event("answer", bodyOf(answer))
	})
	if err != nil {
		sink.FailEvent(ctx, err)
	}
}
