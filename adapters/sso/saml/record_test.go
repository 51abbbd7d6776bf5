package saml

import (
	"errors"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/identity"
)

// TestRefusalsAreRecorded: a refused answer that uses up a request has one entry, which contains nothing of the
// answer. Other answers have none.
func TestRefusalsAreRecorded(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, form := range map[string]url.Values{
		"nothing": {}, "no base64": {"SAMLResponse": {"%"}, "RelayState": {"x"}},
		"made up": answer([]byte("<x/>"), "made up"),
	} {
		if _, err := b.Complete(t.Context(), form, "", false); !identity.BadSignIn.Is(err) || len(b.fake.recorded) != 0 {
			t.Errorf("%s: %v, %+v", name, err, b.fake.recorded)
		}
	}
	request, relay := b.begin(t)
	form := answer(write(t, letter{request: request}.build(t)), relay)
	if _, err := b.answered(t, form); err != nil || len(b.fake.recorded) != 0 {
		t.Fatalf("a good one: %v, %+v", err, b.fake.recorded)
	}
	if _, err := b.answered(t, form); !identity.BadSignIn.Is(err) || len(b.fake.recorded) != 0 {
		t.Errorf("again: %v, %+v", err, b.fake.recorded)
	}
	want := []audit.Entry{{Action: audit.AuthLogin, Outcome: audit.Denied,
		Detail: map[string]any{"method": "saml", "reason": "bad_sign_in"}}}
	_, relay = b.begin(t)
	if _, err := b.answered(t, answer([]byte("<c4nary/>"), relay)); !identity.BadSignIn.Is(err) {
		t.Errorf("a bad one: %v", err)
	}
	if diff := cmp.Diff(want, b.fake.recorded); diff != "" {
		t.Error(diff)
	}
	request, relay = b.begin(t)
	if _, err := b.Complete(t.Context(), answer(write(t, letter{request: request}.build(t)), relay), "another",
		false); !identity.BadSignIn.Is(err) {
		t.Errorf("from another browser: %v", err)
	}
	if diff := cmp.Diff(append(want, want...), b.fake.recorded); diff != "" {
		t.Error(diff)
	}
	for _, lost := range []error{audit.Unrecorded.New("full"), errors.New("a defect")} {
		b.fake.lost = lost
		_, relay = b.begin(t)
		got, err := b.answered(t, answer([]byte("<c4nary/>"), relay))
		if !audit.Unrecorded.Is(err) || !errors.Is(err, lost) || got.Username != "" {
			t.Errorf("unrecorded: %v", err)
		}
	}
}
