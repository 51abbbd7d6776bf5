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
		in, err := provide.Secrets(t.Context(), e, secrets.Owner{}, []string{"crd_1"})
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
	if in, err := provide.Secrets(t.Context(), engine{}, secrets.Owner{}, nil); err != nil || len(in.Hide) != 1 {
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
