package compose

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	auditmodule "github.com/writ-automation/writ/modules/audit"
	"github.com/writ-automation/writ/ports/secret"
)

const (
	signingFile = "signing.key"
	// maxSigningKey bounds what is read as a signing key.
	maxSigningKey = 64 << 10
)

// signingKeys is where the signing key of an install over this data directory rests.
func (s *Settings) signingKeys(root string) signingKeys {
	return signingKeys{text: s.SigningKey, configured: s.SigningKeyFile, file: filepath.Join(root, signingFile)}
}

// signingKeys is where signing.key rests: in the environment, in a file that the operator names, or in the data
// directory.
type signingKeys struct {
	text             secret.Text
	configured, file string
}

var _ auditmodule.Keys = signingKeys{}

// A file that was named and is not there is an error.
func (k signingKeys) Load() ([]byte, error) {
	switch {
	case k.text != "":
		return []byte(string(k.text)), nil
	case k.configured != "":
		raw, err := readKey(k.configured)
		if err != nil {
			return nil, fmt.Errorf("signing-key-file: %w", err)
		}
		return raw, nil
	}
	raw, err := readKey(k.file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return raw, err
}

func (k signingKeys) Save(pem []byte) error {
	if k.text != "" {
		return errors.New("the signing key comes from the environment, where no command can replace it")
	}
	to := k.path()
	// The former key stays beside it: should the change that it is replaced for not come about, nothing is lost.
	former, err := k.Load()
	if err != nil {
		return err
	}
	if len(former) > 0 {
		if err := writeDurably(to+".previous", string(former)); err != nil {
			return err
		}
	}
	return writeDurably(to, string(pem))
}

// path is the file of the key.
func (k signingKeys) path() string {
	if k.configured != "" {
		return k.configured
	}
	return k.file
}

// String says where the key rests and nothing of it.
func (k signingKeys) String() string {
	if k.text != "" {
		return "from the environment"
	}
	return k.path()
}

// keyChange replaces the signing key for one command. While it has the key's file, no other command replaces it: two
// rotations at once would else leave a key in the file that the install does not sign with, and the one that it does
// nowhere.
type keyChange struct {
	keys   signingKeys
	expect []byte   // what the file holds as far as this command knows
	held   *os.File // locked; nil until the first change
}

func (k signingKeys) change() (*keyChange, error) {
	expect, err := k.Load()
	return &keyChange{keys: k, expect: expect}, err
}

// replace replaces the signing key where nobody else did meanwhile.
func (c *keyChange) replace(pem []byte) error {
	if err := c.lock(); err != nil {
		return err
	}
	present, err := c.keys.Load()
	if err != nil {
		return err
	}
	if !bytes.Equal(present, c.expect) {
		return errors.New("the signing key was replaced since this command began: run it again")
	}
	if err := c.keys.Save(pem); err != nil {
		return err
	}
	c.expect = pem
	return nil
}

// lock locks the file that the key was read from. What replaces it is another file, which whoever locks that compares.
func (c *keyChange) lock() error {
	if c.held != nil || c.keys.text != "" {
		return nil
	}
	f, err := os.Open(c.keys.path())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil { //nolint:gosec // descriptors are small
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return errors.New("another command replaces the signing key: wait until it is done, and run this again")
		}
		return fmt.Errorf("lock the signing key: %w", err)
	}
	c.held = f
	return nil
}

// release lets others replace the key. The lock also ends with the process.
func (c *keyChange) release() error {
	if c.held == nil {
		return nil
	}
	return c.held.Close()
}

// readKey reads a file that nobody else may read.
func readKey(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o077 != 0 || !info.Mode().IsRegular() || info.Size() > maxSigningKey {
		return nil, fmt.Errorf("%s is no file that its owner alone may read (chmod 600), or is too large", path)
	}
	return os.ReadFile(path) //nolint:gosec // the operator names it
}
