package provide_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/writ-automation/writ/modules/execution/internal/provide"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

// engine panics with a secret, fails, or gives it.
type engine struct {
	panics bool
	err    error
}

const canary = "hunter2"

func (e engine) Provide(context.Context, secrets.Owner, []string) (secrets.Injection, error) {
	if e.panics {
		panic(canary)
	}
	return secrets.Injection{Hide: []secret.Text{canary}}, e.err
}

func (e engine) Warnings(secrets.Owner) []string { return nil }

func (e engine) Release(context.Context, secrets.Owner) {
	if e.panics {
		panic(canary)
	}
}

// TestSecrets returns no value with an error, and turns a panic into an error without the panic's text.
func TestSecrets(t *testing.T) {
	t.Parallel()
	refused := secrets.Unresolved.New("the credential crd_1: its engine vault did not answer")
	for name, e := range map[string]engine{"panics": {panics: true}, "fails": {err: refused}} {
		in, err := provide.Secrets(t.Context(), e, nil, secrets.Owner{}, nil, []string{"crd_1"})
		if err == nil || len(in.Hide) != 0 || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: %v %v", name, in, err)
		}
		if e.panics == secrets.Unresolved.Is(err) {
			t.Errorf("%s: the fault is %v", name, err)
		}
		if err := provide.Release(t.Context(), e, secrets.Owner{}); (err != nil) != e.panics ||
			err != nil && strings.Contains(err.Error(), canary) {
			t.Errorf("%s: the release gives %v", name, err)
		}
	}
	if in, err := provide.Secrets(t.Context(), engine{}, nil, secrets.Owner{}, nil, nil); err != nil || len(in.Hide) != 1 {
		t.Errorf("%v %v", in, err)
	}
}

// redactor keeps what it hides, or fails.
type redactor struct {
	run    string
	hidden []secret.Text
	err    error
}

func (r *redactor) HideSecrets(_ context.Context, run string, list []secret.Text) error {
	r.run, r.hidden = run, list
	return r.err
}

// TestSecretsAreHidden hides secrets before anybody gets them: where that fails nobody does.
func TestSecretsAreHidden(t *testing.T) {
	t.Parallel()
	r := &redactor{}
	in, err := provide.Secrets(t.Context(), engine{}, r, secrets.Owner{ID: "run_1"}, nil, nil)
	if err != nil || len(in.Hide) != 1 || r.run != "run_1" || len(r.hidden) != 1 || r.hidden[0] != canary {
		t.Errorf("%v %v %+v", in, err, r)
	}
	r.err = &fault.Error{Kind: fault.Unavailable, Message: "the database is away"}
	in, err = provide.Secrets(t.Context(), engine{}, r, secrets.Owner{ID: "run_1"}, nil, nil)
	if !fault.Is(err, fault.Unavailable) || len(in.Hide) != 0 {
		t.Errorf("%v %v", in, err)
	}
}

// TestSentence checks that only the text of a fault is returned, and no cause.
func TestSentence(t *testing.T) {
	t.Parallel()
	const begin = "what the run names could not be provided"
	for want, err := range map[string]error{
		begin: errors.New("dial 10.0.0.1"),
		begin + ": the credential crd_1 has no secret": secrets.SecretMissing.New("the credential crd_1 has no secret").
			Because(errors.New("dial")),
	} {
		if got := provide.Sentence(err); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
	if got := provide.Sentence(fault.Wrap(fault.Internal, nil, "a defect")); got != begin {
		t.Errorf("of a defect is told %q", got)
	}
}
