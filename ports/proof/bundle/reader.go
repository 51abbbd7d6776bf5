package bundle

import (
	"errors"
	"io"
	"time"

	"github.com/writ-automation/writ/ports/proof/keys"
	"github.com/writ-automation/writ/ports/proof/tree"
)

// Reader reads a document in the order of writing: Head, then Next until io.EOF, then Manifest. After an error no
// further call is allowed. Errors are those of the io.Reader, ErrUnknown, ErrTooLarge, and keys.FormatInvalid for
// everything that a Writer would not write.
//
// It verifies no signature and no link.
type Reader struct {
	s *source
	n int64
}

// NewReader reads a document from r.
func NewReader(r io.Reader) *Reader { return &Reader{s: newSource(r)} }

// Head reads the members before the entries.
func (r *Reader) Head() (Head, error) {
	var h Head
	ok, err := r.s.has(Opening)
	if !ok && (err == nil || errors.Is(err, errEnd)) {
		return h, ErrUnknown
	}
	if err != nil {
		return h, err
	}
	p := parser{s: r.s}
	h.Origin = p.text(maxShortText)
	h.From = p.integer(`,"from":`)
	h.To = p.integer(`,"to":`)
	h.Size = p.integer(`,"size":`)
	p.want(`,"generated_at":`)
	h.GeneratedAt = p.stamp()
	p.want(`,"checkpoint":`)
	h.Checkpoint = p.text(maxNoteText)
	p.want(`,"keys":`)
	h.Keys = p.keys()
	h.Anchors = p.anchors()
	if h.From != 1 {
		p.want(`,"prev":`)
		h.Prev = p.hash()
	}
	if !h.Whole() {
		p.want(`,"inclusion":{"first":`)
		h.First = p.hashes()
		p.want(`,"last":`)
		h.Last = p.hashes()
		p.want(`}`)
	}
	if p.has(`,"consistency":`) {
		h.Consistency = &Consistency{From: p.integer(`{"from":`)}
		p.want(`,"root":`)
		h.Consistency.Root = p.hash()
		p.want(`,"proof":`)
		h.Consistency.Proof = p.hashes()
		p.want(`}`)
	}
	p.want(`,"entries":[`)
	if p.err != nil {
		return h, p.err
	}
	return h, h.check()
}

// Next reads the next entry. At the end of the list it returns io.EOF.
func (r *Reader) Next() (Entry, error) {
	p := parser{s: r.s}
	if p.has(`]`) {
		return Entry{}, io.EOF
	}
	if r.n++; r.n > 1 {
		p.want(`,`)
	}
	if p.has(`{"hash":`) {
		hash := p.hash()
		p.want(`}`)
		return Entry{Hash: &hash}, p.err
	}
	p.want(`{"leaf":`)
	e := Entry{Leaf: []byte(p.text(maxLeafText))}
	if p.has(`,"disclosures":[`) {
		total := 0
		for more := true; more && p.err == nil; more = p.has(`,`) {
			d := p.text(maxOpenText)
			if total += len(d); total > maxOpen || len(e.Disclosures) == MaxDisclosures {
				p.fail("the disclosures of an entry are too many or too large")
			}
			e.Disclosures = append(e.Disclosures, d)
		}
		p.want(`]`)
	}
	p.want(`}`)
	return e, p.err
}

// Manifest reads the rest of the document. It returns the unparsed envelope and the digest of every byte before the
// comma in front of the manifest.
func (r *Reader) Manifest() (envelope []byte, covered tree.Hash, err error) {
	covered = r.s.read()
	if err := r.s.want(`,"manifest":`); err != nil {
		return nil, covered, err
	}
	if envelope, err = r.s.value(maxManifest); err != nil {
		return nil, covered, err
	}
	if err := r.s.want("}\n"); err != nil {
		return nil, covered, err
	}
	return envelope, covered, r.s.end()
}

// parser keeps the first error and does nothing after it.
type parser struct {
	s   *source
	err error
}

func (p *parser) fail(text string) {
	if p.err == nil {
		p.err = keys.FormatInvalid.New("%s", text)
	}
}

func (p *parser) want(text string) {
	if p.err == nil {
		p.err = p.s.want(text)
	}
}

func (p *parser) has(text string) bool {
	if p.err != nil {
		return false
	}
	ok, err := p.s.has(text)
	p.err = err
	return ok && err == nil
}

func (p *parser) text(limit int) (text string) {
	if p.err == nil {
		text, p.err = p.s.text(limit)
	}
	return text
}

func (p *parser) integer(lead string) (n int64) {
	p.want(lead)
	if p.err == nil {
		n, p.err = p.s.integer()
	}
	return n
}

func (p *parser) stamp() time.Time {
	text := p.text(maxShortText)
	t, err := time.Parse(keys.Stamp, text)
	if err != nil || t.Year() < 1 || t.Format(keys.Stamp) != text {
		p.fail("a time is not UTC from the year 1 on, with six fractional digits")
	}
	return t
}

func (p *parser) keys() (list []keys.Key) {
	if p.err != nil {
		return nil
	}
	raw, err := p.s.value(maxKeyList)
	if p.err = err; err == nil {
		list, p.err = keys.ParseKeys(raw)
	}
	return list
}

func (p *parser) anchors() (list []Anchor) {
	p.want(`,"anchors":[`)
	notes := 0
	for p.err == nil && !p.has(`]`) {
		if len(list) > 0 {
			p.want(`,`)
		}
		p.want(`{"id":`)
		a := Anchor{ID: p.text(maxShortText)}
		p.want(`,"kind":`)
		a.Kind = p.text(maxShortText)
		a.Size = p.integer(`,"size":`)
		p.want(`,"note":`)
		a.Note = p.text(maxNoteText)
		p.want(`}`)
		if notes += len(a.Note); notes > maxNotes || len(list) == MaxAnchors {
			p.fail("the anchors are too many or too large")
		}
		list = append(list, a)
	}
	return list
}

func (p *parser) hash() (h tree.Hash) {
	text := p.text(maxShortText)
	if p.err == nil {
		h, p.err = keys.ParseRoot(text)
	}
	return h
}

func (p *parser) hashes() (list []tree.Hash) {
	p.want(`[`)
	for p.err == nil && !p.has(`]`) {
		if len(list) > 0 {
			p.want(`,`)
		}
		if len(list) == MaxProof {
			p.fail("a proof is too long")
		}
		list = append(list, p.hash())
	}
	return list
}
