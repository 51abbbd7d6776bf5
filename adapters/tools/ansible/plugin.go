package ansible

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
)

//go:embed writ_events.py
var callback []byte

const callbackFile = "writ_events.py"

// install writes the callback to a directory named after its content, so that it is compiled once and two versions of
// the server do not conflict. An existing file must have exactly this text.
func install(state string) (string, error) {
	sum := sha256.Sum256(callback)
	dir, err := filepath.Abs(filepath.Join(state, "ansible-callback-"+hex.EncodeToString(sum[:8])))
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	// Runs have another account, whatever the mask of this process says.
	for _, d := range []string{state, dir} {
		if err := os.Chmod(d, 0o755); err != nil { //nolint:gosec // there are no secrets in it
			return "", err
		}
	}
	path := filepath.Join(dir, callbackFile)
	have, err := os.ReadFile(path)
	switch {
	case err == nil && bytes.Equal(have, callback):
		return dir, nil
	case err == nil:
		return "", fmt.Errorf("%s was changed; remove it", path)
	case !os.IsNotExist(err):
		return "", err
	}
	tmp, err := os.CreateTemp(dir, "new-*")
	if err != nil {
		return "", err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(callback)
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return "", err
	}
	if err := os.Chmod(tmp.Name(), 0o644); err != nil {
		return "", err
	}
	return dir, os.Rename(tmp.Name(), path)
}
