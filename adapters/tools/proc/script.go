package proc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// names bounds the number of alternative names for a file.
const names = 100

// WriteScript writes a script for the run alone, 0700, into the run's directory and returns its path. It overwrites
// nothing: if the file exists, the script gets another name with the same extension.
func WriteScript(ctx context.Context, dir, name, text string) (string, error) {
	var path string
	err := Beside(dir, name, func(p string) error {
		f, err := os.OpenFile(p, os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o700)
		if err != nil {
			return err
		}
		path = p
		_, err = f.WriteString(text)
		return errors.Join(err, f.Close(), InsideOf(ctx).Give(p))
	})
	if err != nil {
		return "", fmt.Errorf("write the script: %w", err)
	}
	return path, nil
}

// Beside calls do with name in dir, and with other names of the same extension while the file exists.
func Beside(dir, name string, do func(path string) error) error {
	ext := filepath.Ext(name)
	err := do(filepath.Join(dir, name))
	for i := 1; errors.Is(err, fs.ErrExist) && i < names; i++ {
		err = do(filepath.Join(dir, strings.TrimSuffix(name, ext)+"-"+strconv.Itoa(i)+ext))
	}
	return err
}
