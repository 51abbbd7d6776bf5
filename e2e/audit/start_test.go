package audit

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

const (
	keyFile  = "signing.key"
	seenFile = "audit.head"
)

// TestStartsThatAreRefused checks that the error names the file and the remedy.
func TestStartsThatAreRefused(t *testing.T) {
	t.Parallel()
	one, other := harness.Start(t, harness.Options{}), harness.Start(t, harness.Options{})
	one.Stop()
	other.Stop()
	foreign := func(name string) []byte {
		raw, err := os.ReadFile(filepath.Join(other.Dir, "data", name))
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	for name, c := range map[string]struct {
		file    string
		with    []byte
		mode    os.FileMode
		message string
	}{
		"a key that others may read": {keyFile, foreign(keyFile), 0o644, "chmod 600"},
		"no key":                     {keyFile, []byte("x"), 0o600, "PEM"},
		"no head":                    {seenFile, []byte("x"), 0o600, "move it away"},
		"half a head":                {seenFile, foreign(seenFile)[:40], 0o600, "move it away"},
		"another install's head":     {seenFile, foreign(seenFile), 0o600, "move it away"},
	} {
		file := filepath.Join(one.Dir, "data", c.file)
		before, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		put(t, file, c.with, c.mode)
		_, err = harness.Launch(t, one.Options)
		if err == nil || !strings.Contains(err.Error(), c.message) || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", name, err)
		}
		put(t, file, before, 0o600)
	}
	// Without a head file there is no head to compare.
	if err := os.Remove(filepath.Join(one.Dir, "data", seenFile)); err != nil {
		t.Fatal(err)
	}
	intact(t, one.Again())
}

func put(t *testing.T, file string, raw []byte, mode os.FileMode) {
	t.Helper()
	if err := errors.Join(os.WriteFile(file, raw, 0o600), os.Chmod(file, mode)); err != nil {
		t.Fatal(err)
	}
}
