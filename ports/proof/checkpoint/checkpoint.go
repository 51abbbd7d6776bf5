package checkpoint

import (
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"github.com/writ-automation/writ/ports/proof/keys"
)

const (
	// MaxNote bounds a note; sixteen post-quantum signatures fit.
	MaxNote = 64 << 10
	// MaxLines bounds the signature lines of a note.
	MaxLines = 16
)

// Body is a head of the log: the number of leaves and the root of their tree.
type Body struct {
	Origin string
	Size   int64
	Root   [sha256.Size]byte
}

// Text returns the three signed lines.
func (b Body) Text() (string, error) {
	if err := b.check(); err != nil {
		return "", err
	}
	return b.Origin + "\n" + strconv.FormatInt(b.Size, 10) + "\n" + base64.StdEncoding.EncodeToString(b.Root[:]) +
		"\n", nil
}

func (b Body) check() error {
	if err := keys.CheckOrigin(b.Origin); err != nil {
		return err
	}
	if b.Size < 0 || b.Size > keys.MaxInteger {
		return keys.FormatInvalid.New("%d is not a tree size", b.Size)
	}
	if b.Size == 0 && b.Root != sha256.Sum256(nil) {
		return keys.FormatInvalid.New("the root is not that of the empty tree")
	}
	return nil
}

// Contradicts reports whether two heads exclude each other: same origin and size, different roots.
func (b Body) Contradicts(other Body) bool {
	return b.Origin == other.Origin && b.Size == other.Size && b.Root != other.Root
}

// ParseBody reads the three lines.
func ParseBody(text string) (Body, error) {
	lines := strings.Split(text, "\n")
	if len(lines) != 4 || lines[3] != "" {
		return Body{}, keys.FormatInvalid.New("a checkpoint has exactly three lines")
	}
	size, err := keys.ParseSize(lines[1])
	if err != nil {
		return Body{}, err
	}
	root, err := keys.ParseRoot(lines[2])
	if err != nil {
		return Body{}, err
	}
	b := Body{Origin: lines[0], Size: size, Root: root}
	return b, b.check()
}

// Sign makes the note of a committed head, with one line for each signer in their order. Faults: KeyUntrusted for a
// signer that is not for checkpoints, FormatInvalid for an invalid body and for a key that is listed twice.
func Sign(b Body, signers ...keys.Signer) ([]byte, error) {
	text, err := b.Text()
	if err != nil {
		return nil, err
	}
	if len(signers) == 0 || len(signers) > MaxLines {
		return nil, keys.FormatInvalid.New("a note has one to %d signature lines", MaxLines)
	}
	made := make([]note.Signer, 0, len(signers))
	seen := make(map[uint32]bool)
	for _, s := range signers {
		line, err := newLineSigner(b.Origin, s)
		if err != nil {
			return nil, err
		}
		if seen[line.hash] {
			return nil, keys.FormatInvalid.New("a key cannot sign a note twice")
		}
		seen[line.hash] = true
		made = append(made, line)
	}
	out, err := note.Sign(&note.Note{Text: text}, made...)
	if err != nil {
		return nil, keys.SignatureInvalid.New("the note could not be signed").Because(err)
	}
	return out, nil
}

// lineSigner signs under the origin's name, which is also in the key's verifier key.
type lineSigner struct {
	name   string
	hash   uint32
	signer keys.Signer
	verify note.Verifier
}

func newLineSigner(origin string, s keys.Signer) (lineSigner, error) {
	if s == nil || s.Use() != keys.Checkpoint {
		return lineSigner{}, keys.KeyUntrusted.New("the signer is not a checkpoint key")
	}
	vkey, err := note.NewEd25519VerifierKey(origin, s.Public())
	if err != nil {
		return lineSigner{}, keys.KeyUntrusted.New("the signer has no public key").Because(err)
	}
	v, err := note.NewVerifier(vkey)
	if err != nil {
		return lineSigner{}, keys.FormatInvalid.New("the origin gives no valid verifier key").Because(err)
	}
	return lineSigner{name: origin, hash: v.KeyHash(), signer: s, verify: v}, nil
}

func (l lineSigner) Name() string { return l.name }

func (l lineSigner) KeyHash() uint32 { return l.hash }

// The signature is verified before it is published: faulty hardware must not publish an invalid signature under the
// log's name.
func (l lineSigner) Sign(msg []byte) ([]byte, error) {
	sig, err := l.signer.Sign(msg)
	if err != nil {
		return nil, err
	}
	if !l.verify.Verify(msg, sig) {
		return nil, keys.SignatureInvalid.New("the signer returned a signature that does not verify")
	}
	return sig, nil
}
