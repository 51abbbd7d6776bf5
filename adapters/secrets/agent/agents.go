package agent

import (
	"cmp"
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
	sshagent "golang.org/x/crypto/ssh/agent"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/secrets"
)

const (
	// maxPath is the longest path that a unix socket can have, in bytes.
	maxPath = 107
	// maxKeys bounds the keys of one agent. An ssh server ends a login after a few unknown keys.
	maxKeys    = 64
	maxComment = 200
	socketFile = "agent.sock"
)

// Config is the configuration of Agents.
type Config struct {
	// Base is a directory for the sockets of runs whose own directory has a path too long for a socket. Empty is the
	// system's temporary directory.
	Base string
}

// Agents implements secrets.Agents. Many goroutines may use it.
type Agents struct{ base string }

var _ secrets.Agents = (*Agents)(nil)

// New returns Agents. It starts nothing.
func New(c Config) *Agents {
	c.Base = cmp.Or(c.Base, os.TempDir())
	return &Agents{base: c.Base}
}

// Start requires a directory that exists and that other users may not write. If its path is too long for a socket, the
// socket gets a directory below Config.Base. The public halves are always in dir, as 0.pub, 1.pub, and so on. An
// Invalid fault names private_key if a key cannot be parsed.
func (a *Agents) Start(dir string, client *secrets.Client, keys []secrets.Key) (_ secrets.Agent, err error) {
	if err := private(dir); err != nil {
		return nil, err
	}
	if len(keys) == 0 || len(keys) > maxKeys {
		return nil, fmt.Errorf("an agent serves 1 to %d keys", maxKeys)
	}
	s := newServer(client)
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
		if client != nil {
			if err := os.Chmod(s.folder, 0o755); err != nil { //nolint:gosec // the socket has permissions of its own
				return nil, fmt.Errorf("make the folder of an agent: %w", err)
			}
		}
		s.path = filepath.Join(s.folder, socketFile)
	}
	if err := s.listen(); err != nil {
		return nil, fmt.Errorf("listen as an agent: %w", err)
	}
	return s, nil
}

// private fails if dir is not a directory or others may change it.
func private(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("look at the folder of an agent: %w", err)
	}
	if !info.IsDir() || info.Mode().Perm()&0o022 != 0 {
		return errors.New("nobody else may write the folder of an agent")
	}
	return nil
}

// add adds a key to the server and writes its public half to path.
func (s *server) add(k secrets.Key, path string) error {
	private, err := ssh.ParseRawPrivateKey([]byte(k.PrivateKey.Reveal()))
	if err != nil {
		return fault.BadField("private_key", "is not a key that the agent can serve")
	}
	key, err := ssh.NewSignerFromKey(private)
	if err != nil {
		return fault.BadField("private_key", "is not a key that the agent can serve")
	}
	comment := clean(k.Comment)
	if err := s.keys.Add(sshagent.AddedKey{PrivateKey: private, Comment: comment}); err != nil {
		return fmt.Errorf("add a key to an agent: %w", err)
	}
	s.blobs = append(s.blobs, key.PublicKey().Marshal())
	line := strings.TrimSuffix(string(ssh.MarshalAuthorizedKey(key.PublicKey())), "\n")
	if comment != "" {
		line += " " + comment
	}
	// ssh reads the file as a private key too and refuses one that others may read.
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write a public key: %w", err)
	}
	s.publics = append(s.publics, path)
	_, err = f.WriteString(line + "\n")
	if err = errors.Join(err, f.Close(), s.give(path)); err != nil {
		return fmt.Errorf("write a public key: %w", err)
	}
	return nil
}

// clean returns a comment as one line of at most maxComment bytes.
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

// listen creates the socket, closed to other users, and starts to accept clients.
func (s *server) listen() error {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: s.path, Net: "unix"})
	if err != nil {
		return err
	}
	s.listener = l
	if err := errors.Join(os.Chmod(s.path, 0o600), s.give(s.path)); err != nil {
		return err
	}
	s.work.Go(s.accept)
	return nil
}

// give makes the client the owner of a file.
func (s *server) give(path string) error {
	if s.client == nil {
		return nil
	}
	return os.Lchown(path, s.client.UID, s.client.GID)
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
		gone(os.Remove(s.path)) // normally removed with the listener
	}
	if s.folder != "" {
		gone(os.Remove(s.folder))
	}
	return errors.Join(errs...)
}
