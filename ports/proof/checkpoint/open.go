package checkpoint

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"github.com/writ-automation/writ/ports/proof/keys"
)

// Signed is a head with the trusted keys that signed it. Each of them is valid for its size.
type Signed struct {
	Body
	Bytes []byte // the note, byte for byte
	By    []keys.Key
	text  string
	sigs  []note.Signature
}

// Bare returns the note with only the lines of the trusted keys.
func (s Signed) Bare() string {
	var b strings.Builder
	b.WriteString(s.text + "\n")
	for _, sig := range s.sigs {
		b.WriteString(linePrefix + sig.Name + " " + sig.Base64 + "\n")
	}
	return b.String()
}

// SignedBy reports whether the key of this id signed.
func (s Signed) SignedBy(id string) bool {
	return slices.ContainsFunc(s.By, func(k keys.Key) bool { return k.ID == id })
}

// Open reads a note and verifies each line of a trusted key. It requires at least one such line, and one of each key
// whose id is in need. Lines of other keys are ignored. An invalid signature, or one of a key that is not valid for
// the size, makes the note invalid even if another line is good.
//
// Faults: FormatInvalid; KeyUntrusted if the origin or every signer is not trusted, or if a trusted key is not valid
// for the size; KeyRetired; SignatureInvalid for an invalid signature and for a missing one that is needed.
func Open(data []byte, trusted keys.Ring, need ...string) (Signed, error) {
	parsed, err := Parse(data)
	if err != nil {
		return Signed{}, err
	}
	for _, id := range need {
		if !trusted.Has(id, keys.Checkpoint) {
			return Signed{}, keys.KeyUntrusted.New("key %s is required and not trusted for checkpoints", id)
		}
	}
	verifiers := trusted.Verifiers(parsed.Origin)
	if len(verifiers) == 0 {
		return Signed{}, keys.KeyUntrusted.New("no key of origin %s is trusted", parsed.Origin)
	}
	verified, err := note.Open(data, note.VerifierList(verifiers...))
	if err != nil {
		return Signed{}, refusal(err, parsed)
	}
	s := Signed{Body: parsed.Body, Bytes: bytes.Clone(data), text: verified.Text, sigs: verified.Sigs}
	for _, sig := range verified.Sigs {
		k, ok := trusted.Named(sig.Name, sig.Hash)
		if !ok {
			return Signed{}, keys.KeyUntrusted.New("a signature line of the note is not by a trusted key")
		}
		if err := k.Admit(s.Size); err != nil {
			return Signed{}, err
		}
		s.By = append(s.By, k)
	}
	for _, id := range need {
		if !s.SignedBy(id) {
			return Signed{}, keys.SignatureInvalid.New("the signature of key %s is missing", id)
		}
	}
	return s, nil
}

// refusal distinguishes an invalid signature, a foreign key under the log's name and a note without a line under that
// name.
func refusal(err error, n Note) error {
	var wrong *note.InvalidSignatureError
	var unverified *note.UnverifiedNoteError
	switch {
	case errors.As(err, &wrong):
		return keys.SignatureInvalid.New("the signature of %s does not verify", wrong.Name)
	case !errors.As(err, &unverified):
		return keys.FormatInvalid.New("the note cannot be opened").Because(err)
	case slices.ContainsFunc(n.Lines, func(l Line) bool { return l.Name == n.Origin }):
		return keys.KeyUntrusted.New("the note of %s is not signed by a trusted key", n.Origin)
	default:
		return keys.SignatureInvalid.New("the note has no signature of its log %s", n.Origin)
	}
}

// Handover makes the note by which one key hands the log over to the next one: a head with the lines of both. The head
// is the last one of the old key and the first one of the new key.
func Handover(b Body, old, next keys.Signer) ([]byte, error) {
	return Sign(b, old, next)
}

// OpenHandover verifies a handover from the trusted key old to the key next: both lines have to be there, the head has
// to be the new key's first one and, if the old key is retired, that key's last one.
func OpenHandover(data []byte, old, next keys.Key) (Signed, error) {
	ring, err := keys.NewRing(old, next)
	if err != nil {
		return Signed{}, err
	}
	s, err := Open(data, ring, old.ID, next.ID)
	if err != nil {
		return Signed{}, err
	}
	if next.FirstSize != s.Size || old.Status == keys.Retired && old.LastSize != s.Size {
		return Signed{}, keys.KeyUntrusted.New(
			"the handover at size %d is not at the end of the old key and the beginning of the new one", s.Size)
	}
	return s, nil
}

// Follow extends a ring by the listed checkpoint keys that trusted keys hand over to, one after another. The status
// and sizes of a trusted key come from the listing only after the listing itself is verified, so pass a ring that has
// them. A listed key without a valid handover is left out.
func Follow(trusted keys.Ring, listed []keys.Key) (keys.Ring, error) {
	have := trusted.Keys()
	for grown := true; grown; {
		grown = false
		for _, k := range listed {
			if k.Use != keys.Checkpoint || k.Handover == "" || slices.ContainsFunc(have, same(k)) || !heir(have, k) {
				continue
			}
			have, grown = append(have, k), true
		}
	}
	return keys.NewRing(have...)
}

func same(k keys.Key) func(keys.Key) bool {
	return func(o keys.Key) bool { return o.ID == k.ID }
}

// heir reports whether one of the trusted keys hands over to k.
func heir(trusted []keys.Key, k keys.Key) bool {
	return slices.ContainsFunc(trusted, func(old keys.Key) bool {
		if old.Use != keys.Checkpoint {
			return false
		}
		_, err := OpenHandover([]byte(k.Handover), old, k)
		return err == nil
	})
}

// Conflict proves that a log misbehaved: two heads of one size with different roots, both signed by trusted keys. Keep
// both notes; one alone proves nothing.
type Conflict struct {
	First, Second Signed
}

// Equivocation opens two notes and reports whether they prove that the log misbehaved. Faults: those of Open, since a
// note without a valid signature proves nothing.
func Equivocation(first, second []byte, trusted keys.Ring) (Conflict, bool, error) {
	a, err := Open(first, trusted)
	if err != nil {
		return Conflict{}, false, err
	}
	b, err := Open(second, trusted)
	if err != nil {
		return Conflict{}, false, err
	}
	if !a.Contradicts(b.Body) {
		return Conflict{}, false, nil
	}
	return Conflict{First: a, Second: b}, true, nil
}
