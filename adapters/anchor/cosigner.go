package anchor

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// typeCosignature is the type of Ed25519 cosignatures with a time (C2SP tlog-cosignature).
const typeCosignature = 0x04

// maxLines bounds the lines that a witness answers with.
const maxLines = 64

// cosigner is the public key of a witness.
type cosigner struct {
	name   string
	id     [4]byte
	public ed25519.PublicKey
}

// parseCosigner reads <name>+<hex id>+<base64 of type and key>.
func parseCosigner(vkey string) (cosigner, error) {
	name, rest, ok := strings.Cut(vkey, "+")
	id, data, both := strings.Cut(rest, "+")
	if !ok || !both || !goodName(name) {
		return cosigner{}, errors.New("not of the form name+id+key")
	}
	key, err := base64.StdEncoding.Strict().DecodeString(data)
	if err != nil || strings.ContainsAny(data, "\r\n") {
		return cosigner{}, errors.New("the key is not base64")
	}
	if len(key) != 1+ed25519.PublicKeySize || key[0] != typeCosignature {
		return cosigner{}, errors.New("the key is of another type")
	}
	c := cosigner{name: name, public: key[1:]}
	sum := sha256.Sum256(append([]byte(name+"\n"), key...))
	copy(c.id[:], sum[:4])
	if id != hex.EncodeToString(c.id[:]) {
		return cosigner{}, errors.New("the id is not that of the key")
	}
	return c, nil
}

func goodName(name string) bool {
	return name != "" && utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool {
		return r == '+' || unicode.IsSpace(r) || unicode.IsControl(r)
	})
}

// pick returns the cosigner's line out of an answer: exactly one has to be there, and it has to verify over the body of the
// checkpoint. Lines of others are left out.
func (c cosigner) pick(text, body string) (string, error) {
	if !utf8.ValidString(text) || !strings.HasSuffix(text, "\n") {
		return "", errors.New("no signature lines")
	}
	lines := strings.SplitN(strings.TrimSuffix(text, "\n"), "\n", maxLines+1)
	if len(lines) > maxLines {
		return "", fmt.Errorf("more than %d lines", maxLines)
	}
	found := ""
	for _, line := range lines {
		name, sig, err := parseLine(line)
		if err != nil {
			return "", err
		}
		if name != c.name || !bytes.Equal(sig[:4], c.id[:]) {
			continue
		}
		if found != "" {
			return "", errors.New("two lines of one key")
		}
		if err := c.verify(sig[4:], body); err != nil {
			return "", err
		}
		found = line + "\n"
	}
	if found == "" {
		return "", errors.New("no line of the witness's key")
	}
	return found, nil
}

// parseLine reads "— <name> <base64 of id and signature>".
func parseLine(line string) (name string, sig []byte, err error) {
	rest, ok := strings.CutPrefix(line, "— ")
	name, data, both := strings.Cut(rest, " ")
	if !ok || !both || !goodName(name) {
		return "", nil, errors.New("not a signature line")
	}
	sig, err = base64.StdEncoding.Strict().DecodeString(data)
	if err != nil || len(sig) < 5 || strings.Contains(data, "\r") {
		return "", nil, errors.New("not the base64 of a signature")
	}
	return name, sig, nil
}

// verify holds a timestamped signature to the body of a checkpoint.
func (c cosigner) verify(sig []byte, body string) error {
	if len(sig) != 8+ed25519.SignatureSize {
		return fmt.Errorf("a cosignature of %d bytes", len(sig))
	}
	at := binary.BigEndian.Uint64(sig)
	if at == 0 || at > math.MaxInt64 {
		return errors.New("a cosignature without a time")
	}
	message := fmt.Sprintf("cosignature/v1\ntime %d\n%s", at, body)
	if !ed25519.Verify(c.public, []byte(message), sig[8:]) {
		return errors.New("a cosignature that does not verify")
	}
	return nil
}
