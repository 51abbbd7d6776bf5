package record

import (
	"encoding/json"
	"strings"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/proof/disclosure"
	"github.com/writ-automation/writ/ports/proof/jcs"
	"github.com/writ-automation/writ/ports/proof/leaf"
)

// Line returns an entry for display: the leaf's values, the remaining private values and the document. An altered
// leaf, disclosure or document is a Broken fault with the place of the entry. The columns next to the leaf are not
// compared.
func Line(s *audit.Stored) (audit.Line, error) {
	l, err := leaf.Scan([]byte(s.Leaf))
	if err != nil {
		return audit.Line{}, altered(s, err)
	}
	at, err := l.Time()
	if err != nil {
		return audit.Line{}, altered(s, err)
	}
	line := audit.Line{
		Seq: l.Seq, ID: l.ID, At: at, Actor: actor.Actor{Type: typeOf(l.Sub), ID: l.Sub}, Action: audit.Action(l.Act),
		Method: l.Met,
		Run:    l.Run, Outcome: audit.Outcome(l.Out), DetailsHash: l.Det, PrevHash: l.Prev, Hash: leaf.Hash([]byte(s.Leaf)),
	}
	line.Object.Kind, line.Object.ID, _ = strings.Cut(l.Obj, "/")
	open, err := disclosure.Match(l.SD, s.Disclosures)
	if err != nil {
		return audit.Line{}, altered(s, err)
	}
	for _, d := range open.Open {
		switch d.Name {
		case disclosure.SubName:
			line.Actor.Name = d.Value
		case disclosure.NetAddr:
			line.Actor.IP = d.Value
		case disclosure.NetAgent:
			line.Agent = d.Value
		case disclosure.ObjName:
			line.Object.Name = d.Value
		case disclosure.Path:
			line.Path = d.Value
		case disclosure.Text:
			line.Text = d.Value
		}
	}
	if s.Detail == "" {
		return line, nil
	}
	if detailHash(s.Detail) != l.Det {
		return audit.Line{}, altered(s, nil)
	}
	if line.Details, err = unsalted(s.Detail); err != nil {
		return audit.Line{}, altered(s, err)
	}
	return line, nil
}

func altered(s *audit.Stored, err error) error {
	return audit.Broken.New("entry %d of the audit trail is not as it was recorded", s.Seq).
		With("broke_at", s.Seq).With("broke_seq", s.Seq).Because(err)
}

// unsalted returns a document without its salt: with the salt a reader could prove the contents even after an erasure.
func unsalted(doc string) (json.RawMessage, error) {
	d := json.NewDecoder(strings.NewReader(doc))
	d.UseNumber()
	var members map[string]any
	if err := d.Decode(&members); err != nil {
		return nil, err
	}
	delete(members, memberSalt)
	return jcs.Form{Negative: true, Null: true, NUL: true}.Append(make([]byte, 0, len(doc)), members)
}
