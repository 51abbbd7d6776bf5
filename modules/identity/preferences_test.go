package identity_test

import (
	"context"
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
		{"TeamPreferences.SavePreferences", "without its content", func(b *bundle, s *scene) (audit.Entry, string, error) {
			_, err := b.Shared.SavePreferences(s.ctx, s.team.ID, json.RawMessage(`{"theme":"dark"}`), 0)
			return audit.Entry{Object: object("team", s.team.ID, s.team.Name), Detail: map[string]any{"bytes": 16}}, "", err
		}, audit.TeamPreferences, nil},
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

// TestTeamsSharePreferences: members and admins read and save them, others do not.
func TestTeamsSharePreferences(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		admin := b.as(b.account("root", identity.Admin).User, "")
		ann := b.account("ann", identity.Viewer)
		member, stranger := b.as(ann.User, ""), b.as(b.account("eve", identity.Operator).User, "")
		team, err := b.Teams.Create(admin, "ops")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Teams.AddMember(admin, team.ID, ann.ID); err != nil {
			t.Fatal(err)
		}
		for _, ctx := range []context.Context{member, admin} {
			was, err := b.Shared.Preferences(ctx, team.ID)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := b.Shared.SavePreferences(ctx, team.ID, json.RawMessage(`{"a": 1}`), was.Revision); err != nil {
				t.Error(err)
			}
			if _, err := b.Shared.SavePreferences(ctx, team.ID, nil, was.Revision); !invalid(err) {
				t.Errorf("no document: %v", err)
			}
			_, err = b.Shared.SavePreferences(ctx, team.ID, json.RawMessage("{}"), was.Revision)
			if !identity.RevisionChanged.Is(err) {
				t.Errorf("an earlier revision: %v", err)
			}
			if _, err := b.Shared.Preferences(ctx, "team_none"); !identity.TeamNotFound.Is(err) {
				t.Errorf("no team: %v", err)
			}
		}
		for _, ctx := range []context.Context{stranger, b.from("192.0.2.1")} {
			_, err := b.Shared.Preferences(ctx, team.ID)
			_, denied := b.Shared.SavePreferences(ctx, team.ID, json.RawMessage("{}"), 0)
			if !identity.NotAllowed.Is(err) || !identity.NotAllowed.Is(denied) {
				t.Errorf("a stranger: %v, %v", err, denied)
			}
		}
		for ctx, n := range map[context.Context]int{member: 1, stranger: 0, t.Context(): 0} {
			list, err := b.Shared.Shared(ctx)
			if err != nil || len(list) != n || n == 1 && string(list[0].Document) != `{"a":1}` {
				t.Errorf("%+v, %v", list, err)
			}
		}
	})
}
