package goplugin

import (
	"context"
	"errors"
	"io"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/extension/plugin/wire"
)

// pieceCost is what a piece of an answer counts besides its text, so that empty ones end as well.
const pieceCost = 16

// remoteProvider is an AI provider of a plugin. Each call has the settings, so that a plugin that was started again
// answers as before.
type remoteProvider struct {
	plugin   *supervised
	settings *wire.ProviderSettings
}

var (
	_ extension.AIProvider = remoteProvider{}
	_ extension.AIStreamer = remoteProvider{}
)

// newProvider returns the factory of an AI provider.
func newProvider(p *supervised, name string) extension.AIProviderFactory {
	return func(s extension.AISettings) (extension.AIProvider, error) {
		r := remoteProvider{p, wire.FromSettings(name, s)}
		ctx, cancel := context.WithTimeout(context.Background(), validateTime)
		defer cancel()
		var v *wire.Verdict
		err := p.call(ctx, func(ctx context.Context, c wire.ExtensionClient) (_ proto.Message, err error) {
			v, err = c.CheckProvider(ctx, r.settings)
			return v, err
		})
		switch {
		case err != nil:
			return nil, err
		case v.GetMessage() != "":
			return nil, errors.New(p.short(v.GetMessage()))
		}
		return r, nil
	}
}

func (r remoteProvider) Complete(ctx context.Context, q extension.AIRequest) (extension.AIAnswer, error) {
	return r.ask(ctx, wire.FromRequest(r.settings, q, false), func(string) error { return nil })
}

func (r remoteProvider) Stream(
	ctx context.Context, q extension.AIRequest, write func(text string) error,
) (extension.AIAnswer, error) {
	return r.ask(ctx, wire.FromRequest(r.settings, q, true), write)
}

// ask passes on the pieces of an answer and returns the whole.
func (r remoteProvider) ask(
	ctx context.Context, q *wire.Completion, write func(text string) error,
) (none extension.AIAnswer, err error) {
	var text strings.Builder
	var finish *wire.Finish
	var gone error // of write
	err = r.plugin.callWithin(ctx, r.plugin.host.pace.answer, func(
		ctx context.Context, c wire.ExtensionClient,
	) (proto.Message, error) {
		pieces, err := c.Complete(ctx, q)
		if err != nil {
			return nil, err
		}
		for left := wire.MaxAnswer; ; {
			piece, err := pieces.Recv()
			switch {
			case errors.Is(err, io.EOF):
				return nil, errors.New("its answer has no end")
			case err != nil:
				return nil, err
			}
			if err := wire.Strict(piece); err != nil {
				return nil, err
			}
			if left -= len(piece.GetText()) + pieceCost; left < 0 {
				return nil, errors.New("its answer is too large")
			}
			if finish = piece.GetFinish(); finish != nil {
				return piece, nil
			}
			text.WriteString(piece.GetText())
			if gone = write(piece.GetText()); gone != nil {
				return piece, nil
			}
		}
	})
	switch {
	case gone != nil:
		return none, gone
	case err != nil:
		return none, err
	case finish.GetFailure() != nil:
		return none, r.plugin.aiError(finish.GetFailure())
	case finish.GetTokens() < 0:
		return none, errors.New("its answer has a wrong number of tokens")
	}
	return extension.AIAnswer{Text: text.String(), Tokens: int(finish.GetTokens()), Cut: finish.GetCut()}, nil
}

// aiError returns the error that a plugin answered.
func (t texts) aiError(m *wire.Failure) *extension.AIError {
	e := wire.ToFailure(m)
	if e.Message = t.short(e.Message); e.Cause != nil {
		e.Cause = errors.New(t.short(e.Cause.Error()))
	}
	return e
}
