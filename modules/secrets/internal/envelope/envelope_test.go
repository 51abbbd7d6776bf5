package envelope_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/writ-automation/writ/modules/secrets/internal/envelope"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

const canary = "hunter2-do-not-tell"

// TestRoundTrip: a decoded document equals the encoded one.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var want envelope.Document
		for name, text := range rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "secret") {
			if want.Secret == nil {
				want.Secret = secrets.Values{}
			}
			want.Secret[name] = secret.Text(text)
		}
		values := rapid.OneOf(rapid.String().AsAny(), rapid.Bool().AsAny(), rapid.Float64Range(-1e9, 1e9).AsAny())
		if source := rapid.MapOf(rapid.String(), values).Draw(t, "source"); len(source) > 0 {
			want.Source = source
		}
		text, err := envelope.Encode(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := envelope.Decode(text)
		if d := cmp.Diff(want, got); err != nil || d != "" || got.Empty() != want.Empty() {
			t.Fatal(err, d)
		}
	})
}

// TestNothingIsPrinted: printing a document or an error about one reveals nothing of its content.
func TestNothingIsPrinted(t *testing.T) {
	t.Parallel()
	d := envelope.Document{Secret: secrets.Values{"password": canary}, Source: map[string]any{"token": canary}}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		if text := fmt.Sprintf(verb, d); strings.Contains(text, canary) || text == "" {
			t.Errorf("%s prints %q", verb, text)
		}
	}
	for _, text := range []string{
		"", canary, `"` + canary + `"`, `{"secret":{"a":["` + canary + `"]}}`, `{"` + canary + `":1}`,
		`{"secret":{"a":"` + canary + `"}} {}`,
		`{"secret":{"a":"` + canary, `[]`,
	} {
		if d, err := envelope.Decode([]byte(text)); err == nil || strings.Contains(err.Error(), canary) || !d.Empty() {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := envelope.Encode(envelope.Document{Source: map[string]any{canary: make(chan int)}}); err == nil ||
		strings.Contains(err.Error(), canary) {
		t.Error(err)
	}
}
