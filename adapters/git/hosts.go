package git

import (
	"encoding/base64"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/writ-automation/writ/ports/lazyregexp"
)

const (
	// hostsFile is the name of a file of known hosts, and maxHosts its maximum size in bytes.
	hostsFile = "known_hosts"
	maxHosts  = 4 << 20
)

// alias is the name under which ssh stores the key of the server.
func (a address) alias() string {
	if a.port == "22" {
		return a.host
	}
	return "[" + a.host + "]:" + a.port
}

func (s *session) knownHosts() string { return filepath.Join(s.dir, hostsFile) }

// hosts are the known hosts that the requirements of a project brought. Other projects do not trust them: a program of
// an installation can write what it likes.
func (p *project) hosts() string { return filepath.Join(p.deps, hostsFile) }

// bringHosts gives a session a copy of the known hosts of all projects, and of further files: only this process changes
// the originals.
func (k *Checkouts) bringHosts(s *session, further ...string) error {
	k.home.Lock()
	defer k.home.Unlock()
	var all strings.Builder
	for _, file := range append([]string{k.knownHosts()}, further...) {
		text, err := readHosts(file)
		if err != nil {
			return err
		}
		all.WriteString(text)
	}
	return os.WriteFile(s.knownHosts(), []byte(all.String()), 0o600)
}

// readHosts reads a file of known hosts, which may be missing. The programs of a session may have replaced it.
func readHosts(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // it was only read
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() {
		return "", errors.Join(err, errors.New("the known hosts are not a file"))
	}
	b, err := io.ReadAll(io.LimitReader(f, maxHosts))
	return string(b), err
}

var (
	plainHost = lazyregexp.New(`^[A-Za-z0-9:._\[\]%-]{1,300}$`)
	keyType   = lazyregexp.New(`^[a-z0-9@.-]{1,64}$`)
)

// learn stores in a file the key of a server that the session met for the first time. A session without a server of its
// own may meet several.
func (k *Checkouts) learn(s *session, alias, file string) error {
	met, err := readHosts(s.knownHosts())
	if err != nil {
		return nil //nolint:nilerr // the next session meets the server again
	}
	k.home.Lock()
	defer k.home.Unlock()
	shared, err := readHosts(k.knownHosts())
	if err != nil {
		return err
	}
	known, err := readHosts(file)
	if err != nil {
		return err
	}
	names := map[string]bool{}
	for line := range strings.Lines(shared + known) {
		host, _, _ := strings.Cut(line, " ")
		names[host] = true
	}
	var learned strings.Builder
	for line := range strings.Lines(met) {
		f := strings.Fields(line)
		if len(f) != 3 || names[f[0]] || alias != "" && f[0] != alias || !plainHost.MatchString(f[0]) ||
			!keyType.MatchString(f[1]) {
			continue
		}
		if _, err := base64.StdEncoding.DecodeString(f[2]); err == nil {
			learned.WriteString(strings.Join(f, " ") + "\n")
		}
	}
	if learned.Len() == 0 || len(known)+learned.Len() > maxHosts {
		return nil
	}
	out, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = out.WriteString(learned.String())
	return errors.Join(err, out.Close())
}
