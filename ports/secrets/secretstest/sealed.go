package secretstest

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

func sealedCases() txtest.Cases[*env] {
	return txtest.Cases[*env]{
		"sealed texts":                       sealedTexts,
		"versions of secrets":                versions,
		"new secrets at once":                versionsRace,
		"a credential and its secrets agree": oneMoment,
		"new secrets while they are wrapped": resealRace,
		"settings while they are wrapped":    settingsRace,
	}
}

// sealed reads a credential with its sealed secrets.
func (e *env) sealed(t *testing.T, id string) (secrets.Credential, []byte) {
	t.Helper()
	c, text, err := e.Credentials.SealedByID(t.Context(), id)
	txtest.NoError(t, err)
	return c, text
}

// addSealed stores a credential with secrets, whose version is 1.
func (e *env) addSealed(t *testing.T, text []byte) secrets.Credential {
	t.Helper()
	c := secrets.Credential{Record: e.Record(ids.Credential, ""), Kind: secrets.Token, HasSecret: true, SecretVersion: 1}
	e.Must(t, func(ctx context.Context) error { return e.Credentials.InsertCredential(ctx, c, text) })
	return c
}

func (e *env) setSecret(
	ctx context.Context, c secrets.Credential, version int64, text []byte, revision int64,
) (secrets.Credential, error) {
	c.SecretVersion = version
	return e.Credentials.UpdateCredential(ctx, c, text, revision)
}

func sealedTexts(t *testing.T, e *env) {
	for i, text := range [][]byte{nil, {0}, []byte("'; --"), []byte(odd), bytesOf(0, 256), bytesOf(1, 1<<20),
		{0xff, 0xfe, 0}} {
		c := e.addSealed(t, text)
		got, is := e.sealed(t, c.ID)
		txtest.Same(t, fmt.Sprint("the credential ", i), c, got)
		if !bytes.Equal(is, text) || text == nil && is != nil {
			t.Errorf("%d bytes came back as %d", len(text), len(is))
		}
		txtest.Same(t, "alone", c, credentials(e).Get(t, c.ID))

		next := bytesOf(i+100, 300)
		var changed secrets.Credential
		e.Must(t, func(ctx context.Context) (err error) {
			changed, err = e.setSecret(ctx, c, 2, next, 1)
			return err
		})
		c.SecretVersion, c.Revision = 2, 2
		txtest.Same(t, "changed", c, changed)
		got, is = e.sealed(t, c.ID)
		txtest.Same(t, "changed, with its secrets", c, got)
		txtest.Same(t, "secrets", next, is)
		e.Must(t, func(ctx context.Context) error {
			_, err := e.setSecret(ctx, c, 3, nil, 0)
			return err
		})
		if _, is = e.sealed(t, c.ID); is != nil {
			t.Errorf("%d bytes are left of no secrets", len(is))
		}
	}
	if _, is := e.sealed(t, e.addSealed(t, []byte{}).ID); is != nil {
		t.Errorf("no bytes came back as %v", is)
	}
	for _, id := range []string{"crd_none", "", odd} {
		_, _, err := e.Credentials.SealedByID(t.Context(), id)
		txtest.WantFault(t, err, secrets.CredentialNotFound)
	}
	// Within a unit the read returns what the unit wrote.
	c := e.addSealed(t, bytesOf(7, 9))
	e.Must(t, func(ctx context.Context) error {
		if _, err := e.setSecret(ctx, c, 2, bytesOf(8, 9), 0); err != nil {
			return err
		}
		got, text, err := e.Credentials.SealedByID(ctx, c.ID)
		txtest.Same(t, "in the unit", [2]any{int64(2), bytesOf(8, 9)}, [2]any{got.SecretVersion, text})
		return err
	})
	_, changed := e.setSecret(t.Context(), c, 3, nil, 0)
	_, wrapped := e.SealedCredentials.Reseal(t.Context(), e.listed(t, c.ID), []byte("wrapped"))
	for _, err := range []error{changed, wrapped} {
		if !fault.Is(err, fault.Internal) {
			t.Errorf("outside of a unit: %v", err)
		}
	}
	_, text := e.sealed(t, c.ID)
	txtest.Same(t, "after changes outside of a unit", bytesOf(8, 9), text)
}

func versions(t *testing.T, e *env) {
	old, other := bytesOf(1, 40), bytesOf(2, 40)
	for _, c := range []struct {
		version int64
		text    []byte
		fits    bool
	}{
		{5, old, true}, {5, nil, true}, {6, other, true}, {6, old, true}, {6, nil, true},
		{4, old, false}, {4, other, false}, {4, nil, false}, {7, other, false}, {7, nil, false}, {0, nil, false},
		{-5, other, false},
		// Other secrets with the stored version come from an earlier state.
		{5, other, false}, {5, old[1:], false}, {5, append(bytesOf(1, 40), 0), false},
	} {
		is := secrets.Credential{Record: e.Record(ids.Credential, ""), Kind: secrets.Token, HasSecret: true, SecretVersion: 5}
		e.Must(t, func(ctx context.Context) error { return e.Credentials.InsertCredential(ctx, is, old) })
		for _, revision := range []int64{1, 0} {
			next := is
			next.Settings = map[string]any{"a": fmt.Sprint(revision)}
			err := e.Do(t, func(ctx context.Context) error {
				_, err := e.setSecret(ctx, next, c.version, c.text, revision)
				return err
			})
			if !c.fits {
				txtest.WantFault(t, err, catalog.RevisionChanged)
				got, text := e.sealed(t, is.ID)
				txtest.Same(t, "after a refusal", is, got)
				txtest.Same(t, "secrets after a refusal", old, text)
				continue
			}
			txtest.NoError(t, err)
			got, text := e.sealed(t, is.ID)
			txtest.Same(t, fmt.Sprintf("version %d, secrets", c.version), c.text, text)
			txtest.Same(t, "version", c.version, got.SecretVersion)
			break
		}
		// A revision that is not the stored one is refused whatever the version.
		e.Refused(t, catalog.RevisionChanged, func(ctx context.Context) error {
			_, err := e.setSecret(ctx, is, 6, other, 9)
			return err
		})
	}
}

// versionsRace changes the same secrets in concurrent units with any revision: exactly one succeeds.
func versionsRace(t *testing.T, e *env) {
	c := e.addSealed(t, bytesOf(0, 50))
	for version := int64(2); version < 8; version++ {
		var winner atomic.Int64
		won := e.Wins(t, txtest.Crowd, catalog.RevisionChanged, func(ctx context.Context, i int) error {
			_, err := e.setSecret(ctx, c, version, bytesOf(int(version)*txtest.Crowd+i, 50), 0)
			if err == nil {
				winner.Store(int64(i))
			}
			return err
		})
		txtest.Same(t, "winners", 1, won)
		got, text := e.sealed(t, c.ID)
		txtest.Same(t, "version", version, got.SecretVersion)
		txtest.Same(t, "secrets", bytesOf(int(version)*txtest.Crowd+int(winner.Load()), 50), text)
	}
}

// oneMoment reads a credential with its secrets during changes of both: each read returns one version.
func oneMoment(t *testing.T, e *env) {
	c := e.addSealed(t, bytesOf(1, 50))
	const last = 60
	var done atomic.Bool
	txtest.Together(4, func(i int) {
		if i == 0 {
			defer done.Store(true)
			for version := int64(2); version <= last; version++ {
				err := e.Do(t, func(ctx context.Context) error {
					_, err := e.setSecret(ctx, c, version, bytesOf(int(version), 50), 0)
					return err
				})
				if err != nil {
					t.Errorf("version %d: %v", version, err)
					return
				}
			}
			return
		}
		for !done.Load() {
			got, text, err := e.Credentials.SealedByID(t.Context(), c.ID)
			if err != nil || !bytes.Equal(text, bytesOf(int(got.SecretVersion), 50)) {
				t.Errorf("version %d has others: %v", got.SecretVersion, err)
				return
			}
		}
	})
	got, _ := e.sealed(t, c.ID)
	txtest.Same(t, "version", int64(last), got.SecretVersion)
}

// listed returns the sealed text of a credential.
func (e *env) listed(t *testing.T, id string) secrets.Sealed {
	t.Helper()
	list, err := e.SealedCredentials.ListSealed(t.Context(), "", 1000)
	txtest.NoError(t, err)
	for _, x := range list {
		if x.Key == id {
			return x
		}
	}
	t.Fatalf("%s is not held", id)
	return secrets.Sealed{}
}

func (e *env) reseal(t *testing.T, was secrets.Sealed, text []byte) (ok bool) {
	t.Helper()
	err := e.Do(t, func(ctx context.Context) (err error) {
		ok, err = e.SealedCredentials.Reseal(ctx, was, text)
		return err
	})
	if err != nil {
		t.Errorf("reseal: %v", err)
	}
	return ok
}

// resealRace stores new secrets while the old ones are rewrapped: the new ones stay.
func resealRace(t *testing.T, e *env) {
	c := e.addSealed(t, bytesOf(1, 50))
	for version := int64(2); version < 30; version++ {
		was := e.listed(t, c.ID)
		txtest.Same(t, "record", secrets.CredentialRecord(c.ID, version-1), was.Record)
		txtest.Together(2, func(i int) {
			if i == 0 {
				e.reseal(t, was, append([]byte("wrapped "), was.Text...))
				return
			}
			err := e.Do(t, func(ctx context.Context) error {
				_, err := e.setSecret(ctx, c, version, bytesOf(int(version), 50), 0)
				return err
			})
			if err != nil {
				t.Errorf("new secrets: %v", err)
			}
		})
		is := e.listed(t, c.ID)
		txtest.Same(t, "what is held", secrets.Sealed{Key: c.ID, Record: secrets.CredentialRecord(c.ID, version),
			Text: bytesOf(int(version), 50)}, is)
	}
}

// settingsRace checks that a change of only settings does not restore a sealed text that was rewrapped since it was
// read.
func settingsRace(t *testing.T, e *env) {
	c := e.addSealed(t, bytesOf(1, 50))
	for round := range 30 {
		was, wrapped := e.listed(t, c.ID), bytesOf(round+2, 50)
		txtest.Together(2, func(i int) {
			if i == 0 {
				if !e.reseal(t, was, wrapped) {
					t.Error("it was not wrapped")
				}
				return
			}
			err := e.Do(t, func(ctx context.Context) error {
				_, err := e.setSecret(ctx, c, 1, was.Text, 0)
				return err
			})
			if err != nil && !catalog.RevisionChanged.Is(err) {
				t.Errorf("settings: %v", err)
			}
		})
		txtest.Same(t, "what is held", wrapped, e.listed(t, c.ID).Text)
	}
	list, n, err := e.Credentials.ListCredentials(t.Context(), access.Everything(), secrets.Filter{}, page.Window{})
	txtest.NoError(t, err)
	txtest.Same(t, "credentials", [2]int{1, 1}, [2]int{len(list), n})
}
