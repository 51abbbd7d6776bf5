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
	// maxSigningKey is the limit of the size of a signing key.
	maxSigningKey = 64 << 10
)

// signingKeys returns the location of the signing key of an install with this data directory.
func (s *Settings) signingKeys(root string) signingKeys {
	return signingKeys{text: s.SigningKey, configured: s.SigningKeyFile, file: filepath.Join(root, signingFile)}
}

// signingKeys is the location of signing.key: the environment, a file that the operator names, or the data directory.
type signingKeys struct {
	text             secret.Text
	configured, file string
}

var _ auditmodule.Keys = signingKeys{}

// Load returns an error if a named file is missing.
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
		return errors.New("the signing key comes from WRIT_SIGNING_KEY, which no command can replace")
	}
	to := k.path()
	// The former key is kept next to it: if the replacement fails, nothing is lost.
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

// String returns the location of the key and no part of it.
func (k signingKeys) String() string {
	if k.text != "" {
		return "from the environment"
	}
	return k.path()
}

// keyChange replaces the signing key for one command. While it holds the key's file, no other command replaces it: with
// two rotations at once, the file could contain another key than the one that the install signs with, which would be
// lost.
type keyChange struct {
	keys   signingKeys
	expect []byte   // the content of the file that this command expects
	held   *os.File // locked; nil until the first change
}

func (k signingKeys) change() (*keyChange, error) {
	expect, err := k.Load()
	return &keyChange{keys: k, expect: expect}, err
}

// replace replaces the signing key unless another process changed it meanwhile.
func (c *keyChange) replace(pem []byte) error {
	if err := c.lock(); err != nil {
		return err
	}
	present, err := c.keys.Load()
	if err != nil {
		return err
	}
	if !bytes.Equal(present, c.expect) {
		return errors.New("another command replaced the signing key: run this command again")
	}
	if err := c.keys.Save(pem); err != nil {
		return err
	}
	c.expect = pem
	return nil
}

// lock locks the file that the key was read from. A replaced key is another file, so the holder of the lock compares
// the files.
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
	//nolint:gosec // descriptors are small
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return errors.New("another command is replacing the signing key: run this command again when it has ended")
		}
		return fmt.Errorf("lock the signing key: %w", err)
	}
	c.held = f
	return nil
}

// release unlocks the key. The lock also ends with the process.
func (c *keyChange) release() error {
	if c.held == nil {
		return nil
	}
	return c.held.Close()
}

// readKey reads a file that no other user may read.
func readKey(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o077 != 0 || !info.Mode().IsRegular() || info.Size() > maxSigningKey {
		return nil, fmt.Errorf("%s is not a file that only its owner may read (chmod 600), or is too large", path)
	}
	return os.ReadFile(path) //nolint:gosec // the operator names it
}
