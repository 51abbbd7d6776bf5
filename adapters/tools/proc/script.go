package proc

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// WriteScript writes a script for its owner alone, 0700, into a run's directory and returns its path. A link in the
// way is refused, not followed.
func WriteScript(dir, name, text string) (string, error) {
	path := filepath.Join(dir, name)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|unix.O_NOFOLLOW, 0o700)
	if err != nil {
		return "", fmt.Errorf("write the script: %w", err)
	}
	_, err = f.WriteString(text)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return "", fmt.Errorf("write the script: %w", err)
	}
	return path, nil
}
