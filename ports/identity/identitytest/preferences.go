package identitytest

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
)

// preferenceOwner is who preferences are kept for: an account or a team.
type preferenceOwner struct {
	add     func(*testing.T, *env) string
	read    func(identity.PreferenceStore, context.Context, string) (identity.Preferences, error)
	save    func(identity.PreferenceStore, context.Context, string, json.RawMessage, int64) (int64, error)
	missing fault.Code
}

func preferenceOwners() map[string]preferenceOwner {
	return map[string]preferenceOwner{
		"an account": {
			func(t *testing.T, e *env) string { return e.addAccount(t).ID },
			identity.PreferenceStore.PreferencesOf, identity.PreferenceStore.SavePreferences, identity.UserNotFound,
		},
		"a team": {
			func(t *testing.T, e *env) string { return e.addTeam(t).ID },
			identity.PreferenceStore.TeamPreferencesOf, identity.PreferenceStore.SaveTeamPreferences, identity.TeamNotFound,
		},
	}
}

func preferenceCases() map[string]func(*testing.T, *env) {
	out := map[string]func(*testing.T, *env){
		"they end with the account": preferencesDeleted,
		"they are shared in teams":  preferencesShared,
	}
	for of, o := range preferenceOwners() {
		for name, c := range map[string]func(*testing.T, *env, preferenceOwner){
			"none saved":                       preferencesNone,
			"they are replaced and counted":    preferencesSaved,
			"they are saved for a revision":    preferencesRevised,
			"of many saves for one, one wins":  preferencesRace,
			"of many saves for any, all count": preferencesBusy,
		} {
			out[of+": "+name] = func(t *testing.T, e *env) { c(t, e, o) }
		}
	}
	return out
}

func (e *env) savePreferences(
	ctx context.Context, o preferenceOwner, id, document string, revision int64,
) (rev int64, err error) {
	err = e.Unit.Do(ctx, func(ctx context.Context) error {
		rev, err = o.save(e.Preferences, ctx, id, json.RawMessage(document), revision)
		return err
	})
	return rev, err
}

func (e *env) wantPreferences(t *testing.T, o preferenceOwner, id, document string, revision int64) {
	t.Helper()
	got, err := o.read(e.Preferences, t.Context(), id)
	noError(t, err)
	same(t, "preferences", identity.Preferences{Document: json.RawMessage(document), Revision: revision}, got)
}

func preferencesNone(t *testing.T, e *env, o preferenceOwner) {
	e.wantPreferences(t, o, o.add(t, e), "{}", identity.FirstRevision)
	e.wantPreferences(t, o, "nobody", "{}", identity.FirstRevision)
	_, err := e.savePreferences(t.Context(), o, "nobody", "{}", 0)
	wantFault(t, err, o.missing)
}

func preferencesSaved(t *testing.T, e *env, o preferenceOwner) {
	a, other := o.add(t, e), o.add(t, e)
	texts, err := json.Marshal(map[string]string{"odd": odd})
	noError(t, err)
	for i, doc := range []string{string(texts), `{}`, `{"n":12345678901234567890.10}`, `{"z":1,"a":2}`} {
		rev, err := e.savePreferences(t.Context(), o, a, doc, 0)
		noError(t, err)
		same(t, "revision", int64(i+2), rev)
		e.wantPreferences(t, o, a, doc, rev)
	}
	e.wantPreferences(t, o, other, "{}", identity.FirstRevision)
}

func preferencesRevised(t *testing.T, e *env, o preferenceOwner) {
	a := o.add(t, e)
	for _, wrong := range []int64{2, -1} {
		_, err := e.savePreferences(t.Context(), o, a, `{"a":1}`, wrong)
		wantFault(t, err, identity.RevisionChanged)
	}
	e.wantPreferences(t, o, a, "{}", identity.FirstRevision)
	for want := int64(2); want < 5; want++ {
		rev, err := e.savePreferences(t.Context(), o, a, `{"a":1}`, want-1)
		noError(t, err)
		same(t, "revision", want, rev)
		_, err = e.savePreferences(t.Context(), o, a, `{"a":2}`, want-1)
		wantFault(t, err, identity.RevisionChanged)
	}
	e.wantPreferences(t, o, a, `{"a":1}`, 4)
}

func preferencesRace(t *testing.T, e *env, o preferenceOwner) {
	a := o.add(t, e)
	for rev := int64(identity.FirstRevision); rev < 4; rev++ {
		same(t, "winners", int64(1), wins(t, crowd, identity.RevisionChanged, func(int) error {
			_, err := e.savePreferences(t.Context(), o, a, `{"a":1}`, rev)
			return err
		}))
		e.wantPreferences(t, o, a, `{"a":1}`, rev+1)
	}
}

func preferencesBusy(t *testing.T, e *env, o preferenceOwner) {
	a := o.add(t, e)
	same(t, "winners", int64(crowd), wins(t, crowd, identity.RevisionChanged, func(int) error {
		_, err := e.savePreferences(t.Context(), o, a, `{"a":1}`, 0)
		return err
	}))
	e.wantPreferences(t, o, a, `{"a":1}`, identity.FirstRevision+crowd)
}

func preferencesDeleted(t *testing.T, e *env) {
	o, a := preferenceOwners()["an account"], e.addAccount(t)
	_, err := e.savePreferences(t.Context(), o, a.ID, `{"a":1}`, 0)
	noError(t, err)
	e.must(t, func(ctx context.Context) error { return e.Accounts.DeleteAccount(ctx, a.ID) })
	e.wantPreferences(t, o, a.ID, "{}", identity.FirstRevision)
	e.must(t, func(ctx context.Context) error { return e.Accounts.InsertAccount(ctx, a, "") })
	e.wantPreferences(t, o, a.ID, "{}", identity.FirstRevision)
}

func preferencesShared(t *testing.T, e *env) {
	o, a := preferenceOwners()["a team"], e.addAccount(t).ID
	list, err := e.Preferences.SharedWith(t.Context(), a)
	noError(t, err)
	same(t, "none", 0, len(list))
	one, two, unsaved, other := e.addTeam(t, a), e.addTeam(t, a), e.addTeam(t, a), e.addTeam(t)
	for _, team := range []identity.Team{two, one, other} {
		_, err := e.savePreferences(t.Context(), o, team.ID, `{"of":"`+team.ID+`"}`, 0)
		noError(t, err)
	}
	want := []identity.SharedPreferences{{
		Team:        identity.Team{ID: unsaved.ID, Name: unsaved.Name},
		Preferences: identity.Preferences{Document: json.RawMessage("{}"), Revision: identity.FirstRevision},
	}}
	for _, team := range []identity.Team{one, two} {
		want = append(want, identity.SharedPreferences{Team: identity.Team{ID: team.ID, Name: team.Name},
			Preferences: identity.Preferences{Document: json.RawMessage(`{"of":"` + team.ID + `"}`), Revision: 2}})
	}
	slices.SortFunc(want, func(a, b identity.SharedPreferences) int { return strings.Compare(a.Team.Name, b.Team.Name) })
	got, err := e.Preferences.SharedWith(t.Context(), a)
	noError(t, err)
	same(t, "shared", want, got)
	e.must(t, func(ctx context.Context) error { return e.Teams.DeleteTeam(ctx, one.ID) })
	e.must(t, func(ctx context.Context) error { return e.Teams.RemoveTeamMember(ctx, two.ID, a) })
	got, err = e.Preferences.SharedWith(t.Context(), a)
	noError(t, err)
	same(t, "left", 1, len(got))
	e.wantPreferences(t, o, one.ID, "{}", identity.FirstRevision)
}
