package checkpoint

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/proof/keys"
)

// typeCosignature is the type of Ed25519 cosignatures with a time (C2SP tlog-cosignature).
const typeCosignature = 0x04

// timeLen is the length of the time before the signature.
const timeLen = 8

// Witness is the public key of a C2SP witness, Ed25519 with a time.
type Witness struct {
	Name   string
	Hash   uint32
	VKey   string
	public ed25519.PublicKey
}

// ParseWitness reads a verifier key, <name>+<hex id>+<base64 of type and key>. Fault: FormatInvalid.
func ParseWitness(vkey string) (Witness, error) {
	name, rest, ok := strings.Cut(vkey, "+")
	id, data, both := strings.Cut(rest, "+")
	if !ok || !both || !ValidName(name) {
		return Witness{}, keys.FormatInvalid.New("the key of a witness is not of the form name+id+key")
	}
	key, err := keys.Base64(data)
	if err != nil {
		return Witness{}, err
	}
	if len(key) != 1+ed25519.PublicKeySize || key[0] != typeCosignature {
		return Witness{}, keys.FormatInvalid.New("the key of a witness is not of the type 0x04, Ed25519 with a time")
	}
	sum := sha256.Sum256(append([]byte(name+"\n"), key...))
	if id != hex.EncodeToString(sum[:hashLen]) {
		return Witness{}, keys.FormatInvalid.New("the id in the key of a witness is not that of the key")
	}
	return Witness{Name: name, Hash: binary.BigEndian.Uint32(sum[:]), VKey: vkey, public: key[1:]}, nil
}

// ValidName reports whether name may be the name of a key in a note.
func ValidName(name string) bool {
	return name != "" && utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool {
		return r == '+' || unicode.IsSpace(r) || unicode.IsControl(r)
	})
}

// Cosigned returns the time at which the witness saw the note, according to the witness; ok is false if the note has
// no line of its key. Fault: SignatureInvalid for a line of its key that does not verify.
func (w Witness) Cosigned(n Note) (at time.Time, ok bool, err error) {
	for _, l := range n.Lines {
		if l.Name != w.Name || l.Hash != w.Hash {
			continue
		}
		at, err := w.verify(n.Body, l.Sig)
		return at, err == nil, err
	}
	return time.Time{}, false, nil
}

func (w Witness) verify(b Body, sig []byte) (time.Time, error) {
	if len(sig) != timeLen+ed25519.SignatureSize {
		return time.Time{}, keys.SignatureInvalid.New("the cosignature has %d bytes", len(sig))
	}
	at := binary.BigEndian.Uint64(sig)
	if at == 0 || at > math.MaxInt64 {
		return time.Time{}, keys.SignatureInvalid.New("the cosignature has no time")
	}
	text, err := b.Text()
	if err != nil {
		return time.Time{}, err
	}
	if !ed25519.Verify(w.public, fmt.Appendf(nil, "cosignature/v1\ntime %d\n%s", at, text), sig[timeLen:]) {
		return time.Time{}, keys.SignatureInvalid.New("the cosignature does not verify with the key of witness %s", w.Name)
	}
	return time.Unix(int64(at), 0).UTC(), nil //nolint:gosec // compared above
}
