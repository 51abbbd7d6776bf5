package rundir

import (
	"fmt"
	"path/filepath"
)

// knownHosts is where ssh looks below the home directory of an account that a run has for itself.
const knownHosts = workDir + "/.ssh/known_hosts"

// maxKnownHosts bounds what is read of known hosts after the run, in bytes.
const maxKnownHosts = 4 << 20

// WriteKnownHosts writes the run's own known hosts and returns their path.
func (d Dir) WriteKnownHosts(text []byte) (string, error) {
	path := d.file(knownHosts)
	err := d.makeOwn(filepath.Dir(path))
	if err == nil {
		err = d.write(path, text)
	}
	if err != nil {
		return "", fmt.Errorf("write the known hosts: %w", err)
	}
	return path, nil
}

// ReadKnownHosts returns the known hosts of a run that has ended, nil if it has none.
func (d Dir) ReadKnownHosts() ([]byte, error) {
	return d.read("the known hosts", knownHosts, maxKnownHosts)
}
