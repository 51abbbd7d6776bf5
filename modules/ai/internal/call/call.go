// Package call asks the provider of the server, within bounds, and records each call.
package call

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/writ-automation/writ/modules/ai/internal/plain"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/ai"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/secret/mask"
	"github.com/writ-automation/writ/ports/tx"
)

const (
	// recordTimeout bounds the entry of a call whose caller is gone.
	recordTimeout = 10 * time.Second
	// busyAfter is when a caller should try again that found too many calls.
	busyAfter = 5 * time.Second
)

// Caller asks one provider.
type Caller struct {
	Provider extension.AIProvider // nil: there is none
	Name     string               // of the provider
	Model    string
	Recorder audit.Recorder
	Unit     tx.Unit
	Clock    clock.Clock
	Meter    ai.Meter // may be nil
	// Secrets finds the key of the provider, which nothing that the provider says may show.
	Secrets *mask.Masker
	Log     *slog.Logger

	mu   sync.Mutex
	open map[string]int // calls by account
	all  int            // calls
}

// Enabled returns Disabled if there is no provider.
func (c *Caller) Enabled() error {
	if c.Provider == nil {
		return ai.Disabled.New("this server has no AI provider; it needs --ai-provider")
	}
	return nil
}

// Do asks for a text and records that: the digests of what was sent and of what came back, and not the texts. An answer
// that cannot be recorded is not returned, and neither is an empty one.
func (c *Caller) Do(
	ctx context.Context, action audit.Action, about audit.Object, r extension.AIRequest, write ai.Write,
) (ai.Answer, error) {
	release, err := c.take(actor.From(ctx))
	if err != nil {
		c.Refuse(action)
		return ai.Answer{}, err
	}
	defer release()
	begun := c.Clock.Now()
	got, err := c.ask(ctx, r, write)
	took := c.Clock.Now().Sub(begun)
	if err == nil && strings.TrimSpace(got.Text) == "" {
		err = &extension.AIError{Message: "the AI provider gave no answer"}
	}
	recorded := c.record(ctx, action, about, r, got, err)
	c.count(ai.Call{Action: string(action), Result: result(ctx, cmp.Or(recorded, err)), Took: took, Tokens: got.Tokens})
	if recorded != nil {
		return ai.Answer{}, recorded
	}
	if err != nil {
		return ai.Answer{}, c.fault(ctx, err)
	}
	return ai.Answer{Text: got.Text, Model: c.Model, Provider: c.Name, Tokens: got.Tokens, Cut: got.Cut}, nil
}

// Refuse counts a call that was refused before the provider was asked.
func (c *Caller) Refuse(action audit.Action) {
	c.count(ai.Call{Action: string(action), Result: ai.Refused})
}

func (c *Caller) count(call ai.Call) {
	if c.Meter != nil {
		c.Meter.Count(call)
	}
}

// result returns how a call ended that was asked. A reader that is gone is a caller that did not wait.
func result(ctx context.Context, err error) ai.Result {
	switch {
	case err == nil:
		return ai.Answered
	case ctx.Err() != nil, errors.As(err, new(gone)):
		return ai.Canceled
	}
	return ai.NoAnswer
}

// take takes a place among the calls, or returns Busy.
func (c *Caller) take(a actor.Actor) (release func(), err error) {
	who := string(a.Type) + ":" + a.ID
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all >= ai.MaxCalls || c.open[who] >= ai.MaxAccountCalls {
		f := ai.Busy.New("a server asks the AI provider %d questions at a time, %d of them for one account", ai.MaxCalls,
			ai.MaxAccountCalls)
		f.RetryAfter = busyAfter
		return nil, f
	}
	if c.open == nil {
		c.open = map[string]int{}
	}
	c.all++
	c.open[who]++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.all--
		if c.open[who]--; c.open[who] == 0 {
			delete(c.open, who)
		}
	}, nil
}

// errEnough ends an answer that has reached its limit.
var errEnough = errors.New("enough")

// gone is an error of the reader of an answer.
type gone struct{ error }

func (g gone) Unwrap() error { return g.error }

// ask calls the provider, which may be anybody's code.
func (c *Caller) ask(ctx context.Context, r extension.AIRequest, write ai.Write) (a extension.AIAnswer, err error) {
	ctx, cancel := context.WithTimeout(ctx, ai.CallTimeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the provider panicked: %v", p)
		}
	}()
	var pieces strings.Builder
	shown := c.Secrets.Stream()
	add := func(text []byte) error {
		kept := plain.Head(string(text), ai.MaxAnswer-pieces.Len())
		pieces.WriteString(kept)
		if kept != "" && write != nil {
			if err := write(kept); err != nil {
				return gone{err}
			}
		}
		if len(kept) < len(text) {
			return errEnough
		}
		return nil
	}
	take := func(text string) error { return add(shown.Append(nil, []byte(plain.Text(text)))) }
	if s, ok := c.Provider.(extension.AIStreamer); ok && write != nil {
		a, err = s.Stream(ctx, r, take)
	} else if a, err = c.Provider.Complete(ctx, r); err == nil {
		err = take(a.Text)
	}
	if err == nil {
		err = add(shown.Close(nil))
	}
	if errors.Is(err, errEnough) {
		a.Cut, err = true, nil
	}
	a.Text, a.Tokens = pieces.String(), max(a.Tokens, 0)
	return a, err
}

// record adds the entry of a call, also of one whose caller did not wait. It is not the entry of the request: that of a
// proposal is the submission, and advice changes nothing.
func (c *Caller) record(
	ctx context.Context, action audit.Action, about audit.Object, r extension.AIRequest, a extension.AIAnswer,
	failed error,
) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	ctx, _ = audit.WithCollector(ctx)
	e := audit.Entry{Action: action, Object: about, Detail: map[string]any{
		"provider": c.Name, "model": c.Model, "prompt_sha256": digest(r.System + "\n\n" + r.Prompt),
	}}
	if failed != nil {
		e.Outcome = audit.Failure
	}
	if failed == nil || a.Text != "" {
		e.Detail["answer_sha256"], e.Detail["tokens"] = digest(a.Text), int64(a.Tokens)
	}
	return c.Unit.Do(ctx, func(ctx context.Context) error { return c.Recorder.Record(ctx, e) })
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// fault returns what a caller sees of an error. An error that does not say so is only logged: it may hold anything.
func (c *Caller) fault(ctx context.Context, err error) error {
	var reader gone
	if errors.As(err, &reader) {
		return reader.error
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	c.Log.WarnContext(ctx, "the AI provider failed", "provider", c.Name, "model", c.Model, "error", c.redacted(err))
	var shown *extension.AIError
	switch {
	case errors.As(err, &shown):
		f := ai.Failed.New("%s", plain.Head(c.text(shown.Message), 300)).Because(c.redacted(shown.Cause))
		f.RetryAfter = shown.RetryAfter
		return f
	case errors.Is(err, context.DeadlineExceeded):
		return ai.Failed.New("the AI provider did not answer within %s", ai.CallTimeout)
	}
	return ai.Failed.New("the AI provider failed; the server's log has the reason").Because(c.redacted(err))
}

// text returns a text of the provider without its key.
func (c *Caller) text(s string) string { return c.Secrets.String(plain.Text(s)) }

// redacted returns an error with such a text in place of another one, which could hold the key.
func (c *Caller) redacted(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(c.text(err.Error()))
}
