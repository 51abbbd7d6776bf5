package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/writ-automation/writ/ports/proof"
)

// errMoved means that another process changed the file of known logs since it was read.
var errMoved = errors.New("another command has just changed it, and nothing was written: run the command again")

// remember changes a file of known logs. Concurrent commands run one after the other, so that no command overwrites the
// change of another.
func remember(name string, read []byte, change func(known []byte) ([]byte, error)) error {
	known, err := change(read)
	if err != nil || bytes.Equal(known, read) {
		return err
	}
	release, err := alone(name)
	if err != nil {
		return err
	}
	defer release()
	now, err := small(name)
	switch {
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return err
	case !bytes.Equal(now, read):
		return errMoved
	}
	return writeFile(environment{}, name, func(to io.Writer) error {
		_, err := to.Write(known)
		return err
	})
}

// alone locks the files of a folder against other commands until release. The lock ends with the process at the latest.
func alone(name string) (release func(), err error) {
	dir, err := os.Open(filepath.Dir(name))
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX); err != nil { //nolint:gosec // descriptors are small
		return nil, errors.Join(err, dir.Close())
	}
	return func() { _ = dir.Close() }, nil
}

// saveConflict appends both heads of a log with two histories to the heads that were recorded before.
func saveConflict(pin, file string, v proof.Verdict) error {
	name := pin + ".conflict"
	text := fmt.Sprintf("# Two histories of %s. Recorded earlier:\n%s\n# In %s:\n%s\n", v.Origin, v.Conflict[0],
		oneLine(file, maxDetail), v.Conflict[1])
	release, err := alone(name)
	if err != nil {
		return err
	}
	defer release()
	had, err := small(name)
	if err != nil && !errors.Is(err, os.ErrNotExist) || strings.Contains(string(had), text) {
		return err
	}
	to, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) //nolint:gosec // the caller names the folder
	if err != nil {
		return err
	}
	_, err = io.WriteString(to, text)
	return errors.Join(err, to.Sync(), to.Close())
}
