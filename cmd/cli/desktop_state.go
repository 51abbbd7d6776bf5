package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/writ-automation/writ/ports/secret"
)

// desktopFile has the state of the desktop of a directory.
const desktopFile = "desktop.json"

// desktopState is where a desktop runs, and the secret of its links. Without a process id none runs.
type desktopState struct {
	PID     int         `json:"pid,omitempty"`
	Address string      `json:"address,omitempty"`
	Secret  secret.Text `json:"-"`
}

// storedDesktop is the form in the file, which only its owner reads.
type storedDesktop struct {
	desktopState
	Plain string `json:"secret,omitempty"`
}

// readDesktop reads the state. A missing file and one that was not written by a desktop are a zero state.
func readDesktop(path string) (desktopState, error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return desktopState{}, nil
	}
	if err != nil {
		return desktopState{}, fmt.Errorf("read the state of the desktop: %w", err)
	}
	var s storedDesktop
	if json.Unmarshal(raw, &s) != nil {
		return desktopState{}, nil
	}
	s.Secret = secret.Text(s.Plain)
	return s.desktopState, nil
}

// write writes the state whole or not at all.
func (s desktopState) write(path string) error {
	raw, err := json.Marshal(storedDesktop{s, s.Secret.Reveal()})
	if err == nil {
		err = os.WriteFile(path+".new", raw, 0o600)
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return fmt.Errorf("write the state of the desktop: %w", err)
	}
	return nil
}
