package sshtest

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"os"

	"golang.org/x/crypto/ssh"
)

// WriteKey makes a key pair unless it exists: the private half at path, the public one in the same directory with the
// suffix ".pub".
func WriteKey(path, comment string) error {
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
