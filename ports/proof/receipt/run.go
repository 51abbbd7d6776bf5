package receipt

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/writ-automation/writ/ports/proof/keys"
	"github.com/writ-automation/writ/ports/proof/tree"
)

// Run holds the members of a run's digest document that a verifier needs.
type Run struct {
	ID     string
	Status string // empty if the document has none
	Sum    [32]byte
	// Bare means that the document has only id, status and version, because the run has not ended.
	Bare bool
	// Own describes the run's entries before its last one; nil if the document does not.
	Own *Own
}

// Own is the number of entries of a run before its last one, and the digest over their hashes.
type Own struct {
	Count  int64
	Digest [32]byte
}

// Count counts own entries.
type Count struct {
	n    int64
	text []byte
}

// Add adds the hash of the next own entry, in ascending order.
func (c *Count) Add(h tree.Hash) {
	c.n++
	c.text = append(c.text, h[:]...)
}

// Own returns the result.
func (c *Count) Own() Own { return Own{Count: c.n, Digest: sha256.Sum256(c.text)} }

// Open returns the document of a run that has not ended. An empty status is left out.
func Open(id, status string) (json.RawMessage, error) {
	doc := map[string]any{"id": id, "v": Version}
	if status != "" {
		doc["status"] = status
	}
	return keys.Encode(doc)
}

// ParseRun reads a run's digest document in its canonical form. It ignores unknown members. Fault: FormatInvalid.
func ParseRun(doc json.RawMessage) (Run, error) {
	if len(doc) > maxRun {
		return Run{}, keys.FormatInvalid.New("the document of a run has at most %d bytes", maxRun)
	}
	var members map[string]json.RawMessage
	if err := keys.Decode(doc, &members); err != nil {
		return Run{}, err
	}
	r := Run{Sum: sha256.Sum256(doc), Bare: len(members) <= 3}
	for name := range members {
		r.Bare = r.Bare && (name == "id" || name == "status" || name == "v")
	}
	var err error
	if r.ID, err = token(members["id"], "abcdefghijklmnopqrstuvwxyz0123456789_"); err != nil {
		return Run{}, err
	}
	if raw, ok := members["status"]; ok {
		if r.Status, err = token(raw, "abcdefghijklmnopqrstuvwxyz_"); err != nil {
			return Run{}, err
		}
	}
	if string(members["v"]) != "1" {
		return Run{}, keys.FormatInvalid.New("the document of the run has another version")
	}
	if raw, ok := members["entries"]; ok {
		r.Own, err = parseOwn(raw)
	}
	return r, err
}

// token reads a string of one to 64 of these characters.
func token(raw json.RawMessage, of string) (string, error) {
	var s string
	if !bytes.HasPrefix(raw, []byte{'"'}) || json.Unmarshal(raw, &s) != nil || s == "" || len(s) > 64 ||
		strings.Trim(s, of) != "" {
		return "", keys.FormatInvalid.New("the document of the run has no id, or an invalid id or status")
	}
	return s, nil
}

func parseOwn(raw json.RawMessage) (*Own, error) {
	var w struct {
		Count  int64  `json:"count"`
		Digest string `json:"digest"`
	}
	if err := keys.Decode(raw, &w); err != nil {
		return nil, err
	}
	digits, ok := strings.CutPrefix(w.Digest, "sha256:")
	sum, err := hex.DecodeString(digits)
	if !ok || err != nil || len(sum) != sha256.Size || hex.EncodeToString(sum) != digits || w.Count < 0 {
		return nil, keys.FormatInvalid.New("the document of the run has an invalid count of its entries")
	}
	return &Own{Count: w.Count, Digest: [32]byte(sum)}, nil
}

// Belongs reports whether an entry is one of the run: the leaf has the run as its run, or as its object together with
// any run. A refusal has only the object.
func Belongs(run, leafRun, leafObject string) bool {
	return leafRun == run || leafRun != "" && leafObject == Object(run)
}

// Object returns the object of a leaf for a run.
func Object(run string) string { return "run/" + run }
