package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/crypto/ssh"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/secrets"
)

const (
	// maxPath is the longest path that a unix socket can have, in bytes.
	maxPath = 107
	// maxKeys bounds the keys of one agent: a server ends a login after a handful of keys that it does not know.
	maxKeys    = 64
	maxComment = 200
	socketFile = "agent.sock"
)

// Config says where sockets are made whose own directory has too long a path.
type Config struct {
	// Base is a short directory. Empty means the system's temporary one.
	Base string
}

// Agents implements secrets.Agents. Many goroutines may use it.
type Agents struct{ base string }

var _ secrets.Agents = (*Agents)(nil)

// New makes what starts agents. Nothing runs until then.
func New(c Config) *Agents {
	if c.Base == "" {
		c.Base = os.TempDir()
	}
	return &Agents{base: c.Base}
}

// The directory must exist and be closed to everybody else. Where its path is too long for a socket, that gets a
// directory of its own below the base; the public halves are in dir in any case, as 0.pub, 1.pub, and so on. An
// Invalid fault names private_key for a key that is none.
func (a *Agents) Start(dir string, keys []secrets.Key) (_ secrets.Agent, err error) {
	if err := private(dir); err != nil {
		return nil, err
	}
	if len(keys) == 0 || len(keys) > maxKeys {
		return nil, fmt.Errorf("an agent serves 1 to %d keys", maxKeys)
	}
	s := newServer()
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	for i, k := range keys {
		if err := s.add(k, filepath.Join(dir, strconv.Itoa(i)+".pub")); err != nil {
			return nil, err
		}
	}
	s.path = filepath.Join(dir, socketFile)
	if len(s.path) > maxPath {
		if s.folder, err = os.MkdirTemp(a.base, "wa"); err != nil {
			return nil, fmt.Errorf("make the folder of an agent: %w", err)
		}
		s.path = filepath.Join(s.folder, socketFile)
	}
	if err := s.listen(); err != nil {
		return nil, fmt.Errorf("listen as an agent: %w", err)
	}
	return s, nil
}

// private reports a directory that others may look into.
func private(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("look at the folder of an agent: %w", err)
	}
	if !info.IsDir() || info.Mode().Perm()&0o077 != 0 {
		return errors.New("the folder of an agent must be closed to everybody else")
	}
	return nil
}

// add takes a key and writes its public half.
func (s *server) add(k secrets.Key, path string) error {
	signer, err := ssh.ParsePrivateKey([]byte(k.PrivateKey.Reveal()))
	if err != nil {
		return fault.BadField("private_key", "is none that can be served")
	}
	comment := clean(k.Comment)
	s.keys = append(s.keys, key{signer: signer, blob: signer.PublicKey().Marshal(), comment: comment})
	line := strings.TrimSuffix(string(ssh.MarshalAuthorizedKey(signer.PublicKey())), "\n")
	if comment != "" {
		line += " " + comment
	}
	// ssh takes the file for a private key too, and complains of one that others may read.
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write a public key: %w", err)
	}
	s.publics = append(s.publics, path)
	_, err = f.WriteString(line + "\n")
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write a public key: %w", err)
	}
	return nil
}

// clean makes one line of a comment.
func clean(comment string) string {
	comment = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, comment)
	if len(comment) > maxComment {
		comment = comment[:maxComment]
	}
	return strings.TrimSpace(strings.ToValidUTF8(comment, ""))
}

// listen makes the socket, which nobody else may reach, and begins to serve.
func (s *server) listen() error {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: s.path, Net: "unix"})
	if err != nil {
		return err
	}
	s.listener = l
	if err := os.Chmod(s.path, 0o600); err != nil {
		return err
	}
	s.work.Go(s.accept)
	return nil
}

// sweep removes what Start wrote.
func (s *server) sweep() error {
	var errs []error
	gone := func(err error) {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	for _, path := range s.publics {
		gone(os.Remove(path))
	}
	if s.listener != nil {
		gone(os.Remove(s.path)) // closing the listener did, unless somebody moved it
	}
	if s.folder != "" {
		gone(os.Remove(s.folder))
	}
	return errors.Join(errs...)
}
