package sshkey

import (
	"crypto/rsa"
	"encoding/pem"
	"errors"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

const (
	// maxText bounds the text of a key in bytes. RSA with 16384 bits, the maximum of OpenSSH, needs about 13,000.
	maxText = 32 << 10
	// maxPassphrase bounds the input of the key derivation.
	maxPassphrase = 4 << 10
	// minRSA is the length in bits under which OpenSSH uses no RSA key.
	minRSA = 1024
)

// Reader implements secrets.KeyReader. Its zero value is ready, and many goroutines may use it.
type Reader struct{}

var _ secrets.KeyReader = Reader{}

// New returns a Reader.
func New() Reader { return Reader{} }

// Unlock returns a key of Ed25519, of RSA with at least 1024 bits, or of ECDSA on one of the NIST curves of OpenSSH.
// The comment stays empty.
func (Reader) Unlock(private, passphrase secret.Text) (secrets.Key, error) {
	text := normalize(private.Reveal())
	switch {
	case text == "":
		return secrets.Key{}, badKey("is needed")
	case len(text) > maxText:
		return secrets.Key{}, badKey("is longer than %d bytes", maxText)
	case len(passphrase) > maxPassphrase:
		return secrets.Key{}, badPassphrase("is longer than %d bytes", maxPassphrase)
	}
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return secrets.Key{}, badKey("is not a private key in a form that OpenSSH reads")
	}
	key, err := open(text, block, passphrase)
	if err != nil {
		return secrets.Key{}, err
	}
	return normal(key)
}

// normalize converts a text to the line ends of PEM. Browsers and editors of Windows change them or remove the last
// one.
func normalize(text string) string {
	text = strings.TrimPrefix(text, "\ufeff")
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	if text = strings.TrimSpace(text); text == "" {
		return ""
	}
	return text + "\n"
}

// open parses a key, with the passphrase if it is encrypted.
func open(text string, block *pem.Block, passphrase secret.Text) (any, error) {
	if block.Type == encryptedPKCS8 {
		return openPKCS8(block.Bytes, passphrase)
	}
	key, err := ssh.ParseRawPrivateKey([]byte(text))
	var locked *ssh.PassphraseMissingError
	if !errors.As(err, &locked) {
		if err != nil {
			return nil, badKey("is not a private key in a form that OpenSSH reads")
		}
		return key, nil
	}
	if passphrase == "" {
		return nil, passphraseMissing()
	}
	if !supported(block) {
		return nil, unknownCipher()
	}
	// A well-formed key that does not open has another passphrase. Old PEM cannot distinguish that from damage.
	if key, err = ssh.ParseRawPrivateKeyWithPassphrase([]byte(text), []byte(passphrase.Reveal())); err != nil {
		return nil, passphraseWrong()
	}
	return key, nil
}

// supported reports whether the encryption of a key is one that can be undone here at all.
func supported(block *pem.Block) bool {
	const magic = "openssh-key-v1\x00"
	if block.Type != "OPENSSH PRIVATE KEY" {
		name, _, _ := strings.Cut(block.Headers["DEK-Info"], ",")
		switch name {
		case "DES-CBC", "DES-EDE3-CBC", "AES-128-CBC", "AES-192-CBC", "AES-256-CBC":
			return true
		}
		return false
	}
	var head struct {
		Cipher, KDF, Options string
		Rest                 []byte `ssh:"rest"`
	}
	body, ok := strings.CutPrefix(string(block.Bytes), magic)
	if !ok || ssh.Unmarshal([]byte(body), &head) != nil || head.KDF != "bcrypt" {
		return false
	}
	var options struct {
		Salt   string
		Rounds uint32
	}
	if ssh.Unmarshal([]byte(head.Options), &options) != nil || options.Rounds == 0 || options.Rounds > maxRounds {
		return false
	}
	return head.Cipher == "aes256-ctr" || head.Cipher == "aes256-cbc"
}

// maxRounds is the most rounds of bcrypt that are spent on a key, some seconds of work.
const maxRounds = 1 << 11

// normal writes a key in OpenSSH's form, once it is known to sign.
func normal(key any) (secrets.Key, error) {
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		return secrets.Key{}, badKey("is of a kind that OpenSSH does not accept")
	}
	if r, ok := key.(*rsa.PrivateKey); ok && (r.N.BitLen() < minRSA || len(r.Primes) != 2) {
		return secrets.Key{}, badKey("is an RSA key that OpenSSH does not accept: it needs %d bits or more", minRSA)
	}
	if signer.PublicKey().Type() == ssh.InsecureKeyAlgoDSA {
		return secrets.Key{}, badKey("is of a kind that OpenSSH does not accept")
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		return secrets.Key{}, badKey("is of a kind that OpenSSH does not accept")
	}
	return secrets.Key{PrivateKey: secret.Text(pem.EncodeToMemory(block))}, nil
}

func badKey(format string, args ...any) error { return fault.BadField("private_key", format, args...) }

func badPassphrase(format string, args ...any) error {
	return fault.BadField("passphrase", format, args...)
}

func passphraseMissing() error { return badPassphrase("is needed: the private key is encrypted") }

func passphraseWrong() error { return badPassphrase("does not open the private key") }

func unknownCipher() error {
	return badKey("is encrypted in a way that is not supported; ssh-keygen -p converts it")
}
