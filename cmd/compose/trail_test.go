package compose

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// opened is the trail of an install for a command.
func opened(t *testing.T, s Settings) *Trail {
	t.Helper()
	made, err := OpenTrail(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = made.Close(t.Context()) })
	return made
}

// begun is an install that was started once.
func begun(t *testing.T) Settings {
	t.Helper()
	s := sampleSettings(t)
	s.OIDC, s.SAML = OIDC{}, SAML{}
	s.DB = filepath.Join(t.TempDir(), "writ.db")
	s.DataDir = filepath.Join(t.TempDir(), "data")
	start(t, s).stop(t)
	return s
}

// rotates checks that the install signs with the signing key in the data directory, by a rotation.
func rotates(t *testing.T, s Settings) {
	t.Helper()
	k := opened(t, s)
	if _, err := k.Admin.Rotate(t.Context(), k.ReplaceKey); err != nil {
		t.Errorf("the signing key is lost: %v", err)
	}
	if err := k.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestRotationsAtOnceLoseNoKey lets a second rotation begin between the file and the unit of a first one.
func TestRotationsAtOnceLoseNoKey(t *testing.T) {
	t.Parallel()
	s := begun(t)
	one, other := opened(t, s), opened(t, s)
	_, err := one.Admin.Rotate(t.Context(), func(pem []byte) error {
		if err := one.ReplaceKey(pem); err != nil {
			return err
		}
		if _, err := other.Admin.Rotate(t.Context(), other.ReplaceKey); err == nil {
			t.Error("a second rotation passes the first")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	// Its view of the file is outdated once the first one has ended, so it cannot continue.
	if _, err := other.Admin.Rotate(t.Context(), other.ReplaceKey); err == nil {
		t.Error("a key is replaced that this command never read")
	}
	_, _ = one.Close(t.Context()), other.Close(t.Context())
	rotates(t, s)
}

// TestARotationThatWasKilled leaves the new key in its file and the old one in the database: the error of the next
// start names the remedy.
func TestARotationThatWasKilled(t *testing.T) {
	t.Parallel()
	s := begun(t)
	killed := errors.New("killed")
	k := opened(t, s)
	if _, err := k.Admin.Rotate(t.Context(), func(pem []byte) error {
		return errors.Join(k.ReplaceKey(pem), killed)
	}); !errors.Is(err, killed) {
		t.Fatal(err)
	}
	_ = k.Close(t.Context())
	var log bytes.Buffer
	s.Log = slog.New(slog.NewTextHandler(&log, nil))
	start(t, s).stop(t)
	if message := log.String(); !strings.Contains(message, "signing.key.previous") {
		t.Errorf("the start says nothing of what to do: %s", message)
	}
	key := filepath.Join(s.DataDir, signingFile)
	if err := os.Rename(key+".previous", key); err != nil {
		t.Fatal(err)
	}
	rotates(t, s)
}
