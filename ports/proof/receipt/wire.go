package receipt

import (
	"encoding/base64"
	"encoding/json"

	"github.com/writ-automation/writ/ports/proof/bundle"
	"github.com/writ-automation/writ/ports/proof/keys"
	"github.com/writ-automation/writ/ports/proof/tree"
)

// The wire types are the JSON form. A pointer distinguishes an absent list from an empty one.
type wire struct {
	Anchors     []wireAnchor     `json:"anchors"`
	Checkpoint  string           `json:"checkpoint"`
	Consistency *wireConsistency `json:"consistency,omitempty"`
	Entries     []wireEntry      `json:"entries"`
	Keys        json.RawMessage  `json:"keys"`
	Mode        Mode             `json:"mode"`
	Origin      string           `json:"origin"`
	Run         json.RawMessage  `json:"run"`
	Scope       string           `json:"scope"`
	V           int              `json:"v"`
}

type wireAnchor struct {
	ID    string   `json:"id"`
	Kind  string   `json:"kind"`
	Note  string   `json:"note"`
	Proof []string `json:"proof"`
	Size  int64    `json:"size"`
	Token string   `json:"token,omitempty"`
}

type wireConsistency struct {
	From  int64    `json:"from"`
	Proof []string `json:"proof"`
}

type wireEntry struct {
	Disclosures []string  `json:"disclosures,omitempty"`
	Index       int64     `json:"index"`
	Leaf        string    `json:"leaf"`
	Proof       *[]string `json:"proof,omitempty"`
}

func (r *Receipt) wire() (wire, error) {
	list, err := keys.MarshalKeys(r.Keys)
	if err != nil {
		return wire{}, err
	}
	w := wire{
		Anchors: make([]wireAnchor, 0, len(r.Anchors)), Checkpoint: r.Checkpoint,
		Entries: make([]wireEntry, 0, len(r.Entries)),
		Keys:    list, Mode: r.Mode, Origin: r.Origin, Run: r.Run, Scope: r.Scope, V: Version,
	}
	for _, a := range r.Anchors {
		w.Anchors = append(w.Anchors, wireAnchor{
			ID: a.ID, Kind: a.Kind, Note: a.Note, Proof: texts(a.Proof), Size: a.Size,
			Token: base64.StdEncoding.EncodeToString(a.Token),
		})
	}
	if c := r.Consistency; c != nil {
		w.Consistency = &wireConsistency{From: c.From, Proof: texts(c.Proof)}
	}
	for _, e := range r.Entries {
		out := wireEntry{Disclosures: e.Disclosures, Index: e.Index, Leaf: e.Leaf}
		if e.Proven {
			proof := texts(e.Proof)
			out.Proof = &proof
		}
		w.Entries = append(w.Entries, out)
	}
	return w, nil
}

// receipt converts the wire form to a Receipt.
func (w *wire) receipt() (Receipt, error) {
	if w.V != Version {
		return Receipt{}, keys.FormatInvalid.New("the receipt is of version %d", w.V)
	}
	list, err := keys.ParseKeys(w.Keys)
	if err != nil {
		return Receipt{}, err
	}
	r := Receipt{
		Origin: w.Origin, Mode: w.Mode, Scope: w.Scope, Run: w.Run, Checkpoint: w.Checkpoint, Keys: list,
		Entries: make([]Entry, 0, min(len(w.Entries), MaxEntries)),
	}
	if c := w.Consistency; c != nil {
		r.Consistency = &Consistency{From: c.From}
		if r.Consistency.Proof, err = hashes(c.Proof); err != nil {
			return Receipt{}, err
		}
	}
	for _, a := range w.Anchors {
		out := Anchor{ID: a.ID, Kind: a.Kind, Size: a.Size, Note: a.Note}
		if out.Proof, err = hashes(a.Proof); err != nil {
			return Receipt{}, err
		}
		if out.Token, err = keys.Base64(a.Token); err != nil {
			return Receipt{}, err
		}
		r.Anchors = append(r.Anchors, out)
	}
	for _, e := range w.Entries {
		out := Entry{Index: e.Index, Leaf: e.Leaf, Disclosures: e.Disclosures}
		if e.Proof != nil {
			out.Proven = true
			if out.Proof, err = hashes(*e.Proof); err != nil {
				return Receipt{}, err
			}
		}
		r.Entries = append(r.Entries, out)
	}
	return r, nil
}

func texts(list []tree.Hash) []string {
	out := make([]string, 0, len(list))
	for _, h := range list {
		out = append(out, base64.StdEncoding.EncodeToString(h[:]))
	}
	return out
}

func hashes(list []string) ([]tree.Hash, error) {
	if len(list) > bundle.MaxProof {
		return nil, keys.FormatInvalid.New("a proof has at most %d hashes", bundle.MaxProof)
	}
	out := make([]tree.Hash, 0, len(list))
	for _, text := range list {
		h, err := keys.ParseRoot(text)
		if err != nil {
			return nil, err
		}
		out = append(out, h)
	}
	return out, nil
}
