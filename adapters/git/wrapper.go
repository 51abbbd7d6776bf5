package git

import (
	"os"
	"os/exec"
	"path/filepath"
)

// gitWrapper and hgWrapper stand in front of the programs that ansible-galaxy starts. It gives them the addresses,
// names and versions of requirements, also of those that a role brings along, without a mark where the options end.
// For git these are the last arguments, of clone the last two; for Mercurial all but two options.
const (
	gitWrapper = `for a; do previous=$last last=$a; done
case $1 in -c) command=$3 ;; *) command=$1 ;; esac
case $last in -*) refuse "$last" ;; esac
[ "$command" != clone ] || case $previous in -*) refuse "$previous" ;; esac
`
	hgWrapper = `for a; do case $a in -r|--prefix) ;; -*) refuse "$a" ;; esac; done
`
)

// wrap puts wrappers of git and Mercurial into a directory, which belongs in front of the PATH.
func (k *Checkouts) wrap(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	for name, checks := range map[string]string{"git": gitWrapper, "hg": hgWrapper} {
		real := k.git
		if name == "hg" {
			var err error
			if real, err = exec.LookPath(name); err != nil {
				continue
			}
		}
		text := "#!/bin/sh\nrefuse() { echo \"fatal: a requirement begins with -: $1\" >&2; exit 128; }\n" + checks +
			"exec " + quote(real) + " \"$@\"\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			return err
		}
	}
	return nil
}
