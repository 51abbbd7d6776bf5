package fleet

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"os"
	"strings"

	"golang.org/x/crypto/ssh"
)

// writeKey makes a key pair where there is none yet: the private half at path, the public one beside it.
func writeKey(path, comment string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return fmt.Errorf("make a key: %w", err)
	}
	block, err := ssh.MarshalPrivateKey(private, comment)
	if err != nil {
		return fmt.Errorf("encode a key: %w", err)
	}
	line, err := ssh.NewPublicKey(public)
	if err != nil {
		return fmt.Errorf("encode a key: %w", err)
	}
	if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
		return err
	}
	return os.WriteFile(path+".pub", ssh.MarshalAuthorizedKey(line), 0o600)
}

func (f *Fleet) writeKnownHosts() error {
	var b strings.Builder
	for _, h := range f.hosts {
		public, err := os.ReadFile(h.keyPath() + ".pub")
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "[%s]:%d %s", h.Address, h.Port, public)
	}
	return os.WriteFile(f.KnownHostsPath(), []byte(b.String()), 0o600)
}
