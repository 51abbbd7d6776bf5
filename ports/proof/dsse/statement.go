package dsse

import (
	"encoding/hex"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/proof/keys"
)

const (
	statementV1 = "https://in-toto.io/Statement/v1"
	maxSubjects = 64
	maxName     = 256
)

// predicateBase begins each of our predicate types; a name and a version follow.
const predicateBase = "https://github.com/writ-automation/writ/audit/"

// The predicate types. A change that old readers would misread takes a new version.
const (
	ReceiptV1 = predicateBase + "receipt/v1"
	BundleV1  = predicateBase + "bundle/v1"
)

// Subject identifies the subject of a statement: a name and the SHA-256 of the document.
type Subject struct {
	Name   string
	SHA256 [32]byte
}

// Statement is an in-toto Statement v1. Predicate is canonical JSON; PredicateType defines its meaning.
type Statement struct {
	Subjects      []Subject
	PredicateType string
	Predicate     json.RawMessage
}

type wireStatement struct {
	Type          string          `json:"_type"`
	Predicate     json.RawMessage `json:"predicate"`
	PredicateType string          `json:"predicateType"`
	Subjects      []wireSubject   `json:"subject"`
}

type wireSubject struct {
	Digest wireDigest `json:"digest"`
	Name   string     `json:"name"`
}

type wireDigest struct {
	SHA256 string `json:"sha256"`
}

// NewStatement makes a statement whose predicate is the canonical form of a value. Fault: FormatInvalid.
func NewStatement(predicateType string, predicate any, subjects ...Subject) (Statement, error) {
	raw, err := keys.Encode(predicate)
	if err != nil {
		return Statement{}, err
	}
	s := Statement{Subjects: subjects, PredicateType: predicateType, Predicate: raw}
	return s, s.check()
}

// Marshal returns the statement in its canonical form, the payload of an envelope.
func (s Statement) Marshal() ([]byte, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	w := wireStatement{Type: statementV1, Predicate: s.Predicate, PredicateType: s.PredicateType}
	for _, sub := range s.Subjects {
		w.Subjects = append(w.Subjects, wireSubject{Digest: wireDigest{SHA256: hex.EncodeToString(sub.SHA256[:])},
			Name: sub.Name})
	}
	return keys.Encode(w)
}

// ParseStatement reads a statement in its canonical form. Fault: FormatInvalid.
func ParseStatement(payload []byte) (Statement, error) {
	if len(payload) > MaxPayload {
		return Statement{}, keys.FormatInvalid.New("a statement has at most %d bytes", MaxPayload)
	}
	var w wireStatement
	if err := keys.Decode(payload, &w); err != nil {
		return Statement{}, err
	}
	if w.Type != statementV1 {
		return Statement{}, keys.FormatInvalid.New("the payload is not an in-toto Statement v1")
	}
	s := Statement{PredicateType: w.PredicateType, Predicate: w.Predicate}
	for _, sub := range w.Subjects {
		raw, err := hex.DecodeString(sub.Digest.SHA256)
		if err != nil || len(raw) != len(Subject{}.SHA256) || hex.EncodeToString(raw) != sub.Digest.SHA256 {
			return Statement{}, keys.FormatInvalid.New("a subject's sha256 is not 64 lower-case hex digits")
		}
		s.Subjects = append(s.Subjects, Subject{Name: sub.Name, SHA256: [32]byte(raw)})
	}
	return s, s.check()
}

func (s Statement) check() error {
	if err := checkPredicateType(s.PredicateType); err != nil {
		return err
	}
	if len(s.Subjects) == 0 || len(s.Subjects) > maxSubjects {
		return keys.FormatInvalid.New("a statement has one to %d subjects", maxSubjects)
	}
	seen := make(map[string]bool, len(s.Subjects))
	for _, sub := range s.Subjects {
		if sub.Name == "" || len(sub.Name) > maxName || !utf8.ValidString(sub.Name) || seen[sub.Name] {
			return keys.FormatInvalid.New("each subject has a different name of at most %d bytes", maxName)
		}
		seen[sub.Name] = true
	}
	if len(s.Predicate) == 0 || s.Predicate[0] != '{' {
		return keys.FormatInvalid.New("the predicate of a statement is an object")
	}
	return nil
}

// checkPredicateType requires one of our URIs with a version.
func checkPredicateType(uri string) error {
	rest, ok := strings.CutPrefix(uri, predicateBase)
	name, version, two := strings.Cut(rest, "/v")
	n, err := keys.ParseSize(version)
	if !ok || !two || err != nil || n == 0 || name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz-") != "" {
		return keys.FormatInvalid.New("the predicate type is not %s with a name and a version", predicateBase)
	}
	return nil
}

// About checks that the statement is about a document. Fault: ProofInvalid if it has no subject of this name, or one
// with another digest.
func (s Statement) About(name string, sum [32]byte) error {
	for _, sub := range s.Subjects {
		if sub.Name != name {
			continue
		}
		if sub.SHA256 != sum {
			return keys.ProofInvalid.New("the statement is about another document of the name %q", name)
		}
		return nil
	}
	return keys.ProofInvalid.New("the statement is not about %q", name)
}

// SignStatement returns the envelope of a statement.
func SignStatement(s Statement, signers ...keys.Signer) ([]byte, error) {
	payload, err := s.Marshal()
	if err != nil {
		return nil, err
	}
	e, err := Sign(StatementType, payload, signers...)
	if err != nil {
		return nil, err
	}
	return e.Marshal()
}

// Opened is a statement with the trusted keys that signed it.
type Opened struct {
	Statement
	By []keys.Key
}

// OpenStatement reads and verifies an envelope and reads its statement, which has to be of this predicate type. The
// statement contains its tree size: pass that to Admit.
func OpenStatement(data []byte, predicateType string, trusted keys.Ring, need ...string) (Opened, error) {
	e, err := Parse(data, StatementType)
	if err != nil {
		return Opened{}, err
	}
	by, err := e.Verify(trusted, need...)
	if err != nil {
		return Opened{}, err
	}
	s, err := ParseStatement(e.Payload)
	if err != nil {
		return Opened{}, err
	}
	if s.PredicateType != predicateType {
		return Opened{}, keys.FormatInvalid.New("the statement is not of the type %s", predicateType)
	}
	return Opened{Statement: s, By: by}, nil
}

// Admit checks that the signing keys are valid for a size, which is that of the verified checkpoint in the statement.
// Faults: those of keys.Key.Admit.
func (o Opened) Admit(size int64) error {
	if len(o.By) == 0 {
		return keys.KeyUntrusted.New("the statement was not opened")
	}
	return admit(o.By, size)
}

func admit(by []keys.Key, size int64) error {
	for _, k := range by {
		if err := k.Admit(size); err != nil {
			return err
		}
	}
	return nil
}
