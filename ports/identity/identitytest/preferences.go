package identitytest

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/writ-automation/writ/ports/identity"
)

func preferenceCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"an account that saved none":       preferencesNone,
		"they are replaced and counted":    preferencesSaved,
		"they are saved for a revision":    preferencesRevised,
		"of many saves for one, one wins":  preferencesRace,
		"of many saves for any, all count": preferencesBusy,
		"they end with the account":        preferencesDeleted,
	}
}

func (e *env) savePreferences(ctx context.Context, userID, document string, revision int64) (rev int64, err error) {
	err = e.Unit.Do(ctx, func(ctx context.Context) error {
		rev, err = e.Preferences.SavePreferences(ctx, userID, json.RawMessage(document), revision)
		return err
	})
	return rev, err
}

func (e *env) wantPreferences(t *testing.T, userID, document string, revision int64) {
	t.Helper()
	got, err := e.Preferences.PreferencesOf(t.Context(), userID)
	noError(t, err)
	same(t, "preferences", identity.Preferences{Document: json.RawMessage(document), Revision: revision}, got)
}

func preferencesNone(t *testing.T, e *env) {
	e.wantPreferences(t, e.addAccount(t).ID, "{}", identity.FirstRevision)
	e.wantPreferences(t, "usr_nobody", "{}", identity.FirstRevision)
	_, err := e.savePreferences(t.Context(), "usr_nobody", "{}", 0)
	wantFault(t, err, identity.UserNotFound)
}

func preferencesSaved(t *testing.T, e *env) {
	a, other := e.addAccount(t).ID, e.addAccount(t).ID
	texts, err := json.Marshal(map[string]string{"odd": odd})
	noError(t, err)
	for i, doc := range []string{string(texts), `{}`, `{"n":12345678901234567890.10}`, `{"z":1,"a":2}`} {
		rev, err := e.savePreferences(t.Context(), a, doc, 0)
		noError(t, err)
		same(t, "revision", int64(i+2), rev)
		e.wantPreferences(t, a, doc, rev)
	}
	e.wantPreferences(t, other, "{}", identity.FirstRevision)
}

func preferencesRevised(t *testing.T, e *env) {
	a := e.addAccount(t).ID
	for _, wrong := range []int64{2, -1} {
		_, err := e.savePreferences(t.Context(), a, `{"a":1}`, wrong)
		wantFault(t, err, identity.RevisionChanged)
	}
	e.wantPreferences(t, a, "{}", identity.FirstRevision)
	for want := int64(2); want < 5; want++ {
		rev, err := e.savePreferences(t.Context(), a, `{"a":1}`, want-1)
		noError(t, err)
		same(t, "revision", want, rev)
		_, err = e.savePreferences(t.Context(), a, `{"a":2}`, want-1)
		wantFault(t, err, identity.RevisionChanged)
	}
	e.wantPreferences(t, a, `{"a":1}`, 4)
}

func preferencesRace(t *testing.T, e *env) {
	a := e.addAccount(t).ID
	for rev := int64(identity.FirstRevision); rev < 4; rev++ {
		same(t, "winners", int64(1), wins(t, crowd, identity.RevisionChanged, func(int) error {
			_, err := e.savePreferences(t.Context(), a, `{"a":1}`, rev)
			return err
		}))
		e.wantPreferences(t, a, `{"a":1}`, rev+1)
	}
}

func preferencesBusy(t *testing.T, e *env) {
	a := e.addAccount(t).ID
	same(t, "winners", int64(crowd), wins(t, crowd, identity.RevisionChanged, func(int) error {
		_, err := e.savePreferences(t.Context(), a, `{"a":1}`, 0)
		return err
	}))
	e.wantPreferences(t, a, `{"a":1}`, identity.FirstRevision+crowd)
}

func preferencesDeleted(t *testing.T, e *env) {
	a := e.addAccount(t)
	_, err := e.savePreferences(t.Context(), a.ID, `{"a":1}`, 0)
	noError(t, err)
	e.must(t, func(ctx context.Context) error { return e.Accounts.DeleteAccount(ctx, a.ID) })
	e.wantPreferences(t, a.ID, "{}", identity.FirstRevision)
	e.must(t, func(ctx context.Context) error { return e.Accounts.InsertAccount(ctx, a, "") })
	e.wantPreferences(t, a.ID, "{}", identity.FirstRevision)
}
