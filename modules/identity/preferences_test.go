package identity_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
)

func preferenceChanges() []change {
	return []change{
		{"OwnPreferences.SavePreferences", "without its content", func(b *bundle, s *scene) (audit.Entry, string, error) {
			_, err := b.Preferences.SavePreferences(b.as(s.ann.User, ""), json.RawMessage(`{"theme":"dark"}`), 0)
			return audit.Entry{Object: userObject(s.ann.User), Detail: map[string]any{"bytes": 16}}, "", err
		}, audit.UserPreferences, nil},
	}
}

// TestPreferencesAreBounded: white space does not count, and nothing but an object is taken.
func TestPreferencesAreBounded(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx := b.as(b.account("ann", identity.Viewer).User, "")
		full := `{"a":"` + strings.Repeat("x", identity.MaxPreferences-len(`{"a":""}`)) + `"}`
		for _, doc := range []string{"", "null", "[]", `"x"`, "7", `{"a":`, `{} {}`} {
			if _, err := b.Preferences.SavePreferences(ctx, json.RawMessage(doc), 0); !invalid(err) || field(err) != "body" {
				t.Errorf("%q: %v", doc, err)
			}
		}
		if _, err := b.Preferences.SavePreferences(ctx, json.RawMessage(strings.Replace(full, "x", "xx", 1)),
			0); !fault.Is(err, fault.TooLarge) {
			t.Errorf("one byte too many: %v", err)
		}
		spaced := strings.Replace(full, ":", ":   \n", 1)
		if _, err := b.Preferences.SavePreferences(ctx, json.RawMessage(spaced), 0); err != nil {
			t.Errorf("the largest: %v", err)
		}
		got, err := b.Preferences.Preferences(ctx)
		if err != nil || string(got.Document) != full || got.Revision != 2 {
			t.Errorf("revision %d, %d bytes, %v", got.Revision, len(got.Document), err)
		}
		if _, err := b.Preferences.Preferences(t.Context()); !identity.NotAllowed.Is(err) {
			t.Errorf("nobody reads: %v", err)
		}
		if _, err := b.Preferences.SavePreferences(t.Context(), json.RawMessage("{}"), 0); !identity.NotAllowed.Is(err) {
			t.Errorf("nobody saves: %v", err)
		}
	})
}
