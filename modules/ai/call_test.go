package ai_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/ai"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/fault"
)

// streaming is a provider that gives its answer in pieces.
type streaming struct {
	*fixture
	pieces []string
}

func (s streaming) Complete(ctx context.Context, r extension.AIRequest) (extension.AIAnswer, error) {
	return s.complete(ctx, r)
}

func (s streaming) Stream(
	_ context.Context, _ extension.AIRequest, write func(string) error,
) (extension.AIAnswer, error) {
	for _, p := range s.pieces {
		if err := write(p); err != nil {
			return extension.AIAnswer{}, errors.Join(errors.New("stopped"), err)
		}
	}
	return extension.AIAnswer{Text: strings.Join(s.pieces, ""), Tokens: 3}, nil
}

// TestStream: the pieces are those of the answer, without control characters, and a giant answer is cut.
func TestStream(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "")
	s := streaming{w, []string{"a\x1b[31mb", "", "\x00", "京\u202e\n", "\r\nc"}}
	w.open(t, s)
	var pieces []string
	write := func(text string) error { pieces = append(pieces, text); return nil }
	got, err := w.advisor.Draft(t.Context(), "bash", "x", write)
	if err != nil || strings.Join(pieces, "|") != "a[31mb|京\n|\nc" || got.Text != "a[31mb京\n\nc" || got.Tokens != 3 ||
		w.last(t).Detail["answer_sha256"] != digest(strings.Join(pieces, "")) {
		t.Errorf("%q %+v %v", pieces, got, err)
	}

	w.counted(t, audit.AIDraft, ai.Answered)
	if n := w.calls[0].Tokens; n != 3 {
		t.Errorf("%d tokens were counted", n)
	}

	s.pieces, pieces = []string{strings.Repeat("京", 30_000), "more"}, nil
	w.open(t, s)
	got, err = w.advisor.Explain(t.Context(), "run_1", write)
	if err != nil || !got.Cut || len(got.Text) > ai.MaxAnswer || len(got.Text) < ai.MaxAnswer-3 ||
		strings.Join(pieces, "") != got.Text {
		t.Errorf("a giant: %d bytes, cut %v, %v", len(got.Text), got.Cut, err)
	}

	gone := errors.New("gone")
	if _, err := w.advisor.Explain(t.Context(), "run_1", func(string) error { return gone }); !errors.Is(err, gone) {
		t.Errorf("a reader that is gone: %v", err)
	}
	if last := w.entries[len(w.entries)-1]; last.Outcome != audit.Failure || last.Detail["answer_sha256"] == nil {
		t.Errorf("%+v", last)
	}
	w.counted(t, audit.AIExplain, ai.Canceled)

	// A provider that cannot stream gives its answer at once.
	plain := newFixture(t, "whole")
	pieces = nil
	if got, err := plain.advisor.Ask(t.Context(), "x", write); err != nil || got.Text != "whole" || len(pieces) != 1 {
		t.Errorf("%q %+v %v", pieces, got, err)
	}
}

// TestFailures: a provider that fails in any way is one fault, without its texts unless it says so, and an entry.
func TestFailures(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer func(context.Context) (extension.AIAnswer, error)
		want   string
	}{
		"an error": {func(context.Context) (extension.AIAnswer, error) {
			return extension.AIAnswer{}, errors.New("key c4nary")
		}, "log has the reason"},
		"an error to show": {func(context.Context) (extension.AIAnswer, error) {
			return extension.AIAnswer{}, &extension.AIError{Message: "it is asked\x1b too often", RetryAfter: time.Minute,
				Cause: errors.New("c4nary")}
		}, "it is asked too often"},
		"a panic": {func(context.Context) (extension.AIAnswer, error) { panic("c4nary") }, "log has the reason"},
		"no text": {func(context.Context) (extension.AIAnswer, error) {
			return extension.AIAnswer{Text: " \x00\n"}, nil
		}, "gave no answer"},
		"no end": {func(ctx context.Context) (extension.AIAnswer, error) {
			<-ctx.Done()
			return extension.AIAnswer{}, ctx.Err()
		}, "did not answer within 2m"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newFixture(t, "")
				w.answer = func(ctx context.Context, _ extension.AIRequest) (extension.AIAnswer, error) { return c.answer(ctx) }
				_, err := w.advisor.Ask(t.Context(), "x", nil)
				var f *fault.Error
				if !ai.Failed.Is(err) || !errors.As(err, &f) || !strings.Contains(f.Message, c.want) ||
					strings.Contains(f.Message, "c4nary") {
					t.Errorf("%v", err)
				}
				if e := w.last(t); e.Action != audit.AIAsk || e.Outcome != audit.Failure || e.Detail["prompt_sha256"] == nil {
					t.Errorf("%+v", e)
				}
				w.counted(t, audit.AIAsk, ai.NoAnswer)
				if took := w.calls[0].Took; name == "no end" && took != ai.CallTimeout {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}

// TestKeyIsNotShown: no text of a provider shows the key of the server: no message, no cause, no line of the log and no
// answer, also not in another form, in pieces or with unseen characters in it.
func TestKeyIsNotShown(t *testing.T) {
	t.Parallel()
	forms := []string{key, url.QueryEscape(key), base64.StdEncoding.EncodeToString([]byte(key)),
		"k3y/of\u200b+the-provider42"}
	clean := func(name, text string) {
		t.Helper()
		for _, f := range append(forms, "+the-provider") {
			if strings.Contains(text, f) {
				t.Errorf("%s: %s", name, text)
			}
		}
	}
	for _, form := range forms {
		for name, fail := range map[string]func() error{
			"an error":         func() error { return errors.New("refused " + form) },
			"an error to show": func() error { return &extension.AIError{Message: "refused " + form, Cause: errors.New(form)} },
			"a panic":          func() error { panic("refused " + form) },
		} {
			w := newFixture(t, "")
			w.answer = func(context.Context, extension.AIRequest) (extension.AIAnswer, error) {
				return extension.AIAnswer{}, fail()
			}
			_, err := w.advisor.Draft(t.Context(), "bash", "x", nil)
			var f *fault.Error
			if !errors.As(err, &f) || !strings.Contains(w.logged.String(), "refused ***") ||
				name == "an error to show" && f.Message != "refused ***" {
				t.Errorf("%s: %v, and the log has %s", name, err, &w.logged)
			}
			clean(name, fmt.Sprint(err, f.Cause)+w.logged.String())
		}
		w := newFixture(t, "It is "+form+".")
		got, err := w.advisor.Draft(t.Context(), "bash", "x", nil)
		if err != nil || got.Text != "It is ***." {
			t.Errorf("an answer: %q %v", got.Text, err)
		}
		w.open(t, streaming{w, []string{"It is " + form[:5], form[5:] + ".", " It begins " + key[:6]}})
		var pieces string
		got, err = w.advisor.Draft(t.Context(), "bash", "x", func(text string) error { pieces += text; return nil })
		if want := "It is ***. It begins k3y/of"; err != nil || got.Text != want || pieces != want {
			t.Errorf("a stream: %q, %q %v", got.Text, pieces, err)
		}
	}
}

// TestCallerIsGone: a call whose caller did not wait has an entry too.
func TestCallerIsGone(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "")
	ctx, cancel := context.WithCancel(t.Context())
	w.answer = func(context.Context, extension.AIRequest) (extension.AIAnswer, error) {
		cancel()
		return extension.AIAnswer{}, ctx.Err()
	}
	if _, err := w.advisor.Ask(ctx, "x", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if e := w.last(t); e.Outcome != audit.Failure {
		t.Errorf("%+v", e)
	}
	w.counted(t, audit.AIAsk, ai.Canceled)
}

// TestUnrecorded: what the trail does not have is not answered, and nothing is made of it.
func TestUnrecorded(t *testing.T) {
	t.Parallel()
	w := newFixture(t, `{"tool":"bash","command":"true"}`)
	w.broken = errors.New("no disk")
	got, err := w.advisor.Ask(t.Context(), "x", nil)
	_, proposed := w.advisor.Propose(t.Context(), "x")
	if !errors.Is(err, w.broken) || got != (ai.Answer{}) || !errors.Is(proposed, w.broken) || len(w.submitted) != 0 {
		t.Errorf("%+v %v %v", got, err, proposed)
	}
	w.counted(t, audit.AIPropose, ai.NoAnswer)
}

// TestBusy: the calls at a time are bounded, in all and for an account.
func TestBusy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, "")
		release := make(chan struct{})
		w.answer = func(context.Context, extension.AIRequest) (extension.AIAnswer, error) {
			<-release
			return extension.AIAnswer{Text: "yes"}, nil
		}
		draft := func(account int) error {
			_, err := w.advisor.Draft(actor.With(t.Context(), actor.Actor{Type: actor.User, ID: fmt.Sprint("usr_", account)}),
				"bash", "x", nil)
			return err
		}
		results := make(chan error, ai.MaxCalls)
		for i := range ai.MaxCalls {
			go func() { results <- draft(i / ai.MaxAccountCalls) }()
			synctest.Wait()
			if i+1 == ai.MaxAccountCalls {
				if err := draft(0); !ai.Busy.Is(err) {
					t.Errorf("one more of the account: %v", err)
				}
				w.counted(t, audit.AIDraft, ai.Refused)
			}
		}
		if err := draft(ai.MaxCalls); !ai.Busy.Is(err) {
			t.Errorf("one more: %v", err)
		}
		close(release)
		for range ai.MaxCalls {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		if err := draft(0); err != nil {
			t.Errorf("after them: %v", err)
		}
	})
}
