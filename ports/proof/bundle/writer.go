package bundle

import (
	"bufio"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"hash"
	"io"
	"strconv"

	"github.com/writ-automation/writ/ports/proof/disclosure"
	"github.com/writ-automation/writ/ports/proof/dsse"
	"github.com/writ-automation/writ/ports/proof/jcs"
	"github.com/writ-automation/writ/ports/proof/keys"
	"github.com/writ-automation/writ/ports/proof/leaf"
	"github.com/writ-automation/writ/ports/proof/tree"
)

// Writer writes a document entry by entry. It does not check its input: the caller makes sure that the entries link
// and lead to the checkpoint.
type Writer struct {
	head Head
	w    *bufio.Writer
	sum  hash.Hash
	b    []byte // buffer of the current entry
	n    int64
}

// NewWriter begins a document. Fault: keys.FormatInvalid for a head that no reader would accept.
func NewWriter(w io.Writer, h Head) (*Writer, error) {
	if err := h.check(); err != nil {
		return nil, err
	}
	list, err := keys.MarshalKeys(h.Keys)
	if err != nil {
		return nil, err
	}
	out := &Writer{head: h, w: bufio.NewWriterSize(w, 64<<10), sum: sha256.New()}
	b := append([]byte(nil), Opening...)
	b = quote(b, h.Origin)
	b = strconv.AppendInt(append(b, `,"from":`...), h.From, 10)
	b = strconv.AppendInt(append(b, `,"to":`...), h.To, 10)
	b = strconv.AppendInt(append(b, `,"size":`...), h.Size, 10)
	b = quote(append(b, `,"generated_at":`...), h.GeneratedAt.UTC().Format(keys.Stamp))
	b = quote(append(b, `,"checkpoint":`...), h.Checkpoint)
	b = append(append(b, `,"keys":`...), list...)
	b = appendAnchors(b, h.Anchors)
	if h.From > 1 {
		b = appendHash(append(b, `,"prev":`...), h.Prev)
	}
	if !h.Whole() {
		b = appendHashes(append(b, `,"inclusion":{"first":`...), h.First)
		b = append(appendHashes(append(b, `,"last":`...), h.Last), '}')
	}
	if c := h.Consistency; c != nil {
		b = strconv.AppendInt(append(b, `,"consistency":{"from":`...), c.From, 10)
		b = appendHash(append(b, `,"root":`...), c.Root)
		b = append(appendHashes(append(b, `,"proof":`...), c.Proof), '}')
	}
	return out, out.put(append(b, `,"entries":[`...))
}

// Add writes the next entry.
func (w *Writer) Add(e Entry) error {
	if len(e.Leaf) > leaf.MaxSize || len(e.Disclosures) > MaxDisclosures {
		return keys.FormatInvalid.New("an entry is too large")
	}
	if w.n++; w.n > w.head.To-w.head.From+1 {
		return keys.FormatInvalid.New("there are more entries than the window has")
	}
	b := w.b[:0]
	if w.n > 1 {
		b = append(b, ',')
	}
	if e.Hash != nil {
		w.b = append(appendHash(append(b, `{"hash":`...), *e.Hash), '}')
		return w.put(w.b)
	}
	b, flaw := jcs.Append(append(b, `{"leaf":`...), string(e.Leaf))
	if flaw != jcs.None {
		return keys.FormatInvalid.New("the leaf is not valid text")
	}
	total := 0
	for i, d := range e.Disclosures {
		if total += len(d); len(d) > disclosure.MaxSize || total > maxOpen {
			return keys.FormatInvalid.New("the disclosures of an entry are too large")
		}
		lead := `,`
		if i == 0 {
			lead = `,"disclosures":[`
		}
		if b, flaw = jcs.Append(append(b, lead...), d); flaw != jcs.None {
			return keys.FormatInvalid.New("the disclosure is not valid text")
		}
	}
	if len(e.Disclosures) > 0 {
		b = append(b, ']')
	}
	w.b = append(b, '}')
	return w.put(w.b)
}

// Close ends the document with a manifest that a statement key signs. It does not close the underlying writer.
func (w *Writer) Close(signer keys.Signer) error {
	if w.n != w.head.To-w.head.From+1 {
		return keys.FormatInvalid.New("there are fewer entries than the window has")
	}
	if err := w.put([]byte{']'}); err != nil {
		return err
	}
	s, err := dsse.NewStatement(dsse.BundleV1, w.head.Manifest(),
		dsse.Subject{Name: SubjectName, SHA256: [32]byte(w.sum.Sum(nil))})
	if err != nil {
		return err
	}
	signed, err := dsse.SignStatement(s, signer)
	if err != nil {
		return err
	}
	if err := w.put([]byte(`,"manifest":`), signed, []byte("}\n")); err != nil {
		return err
	}
	return w.w.Flush()
}

func (w *Writer) put(parts ...[]byte) error {
	for _, b := range parts {
		_, _ = w.sum.Write(b) // a hash never fails
		if _, err := w.w.Write(b); err != nil {
			return fmt.Errorf("bundle: write: %w", err)
		}
	}
	return nil
}

// quote appends a valid text as a JSON string.
func quote(b []byte, s string) []byte {
	b, _ = jcs.Append(b, s)
	return b
}

func appendAnchors(b []byte, list []Anchor) []byte {
	b = append(b, `,"anchors":[`...)
	for i, a := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = quote(append(b, `{"id":`...), a.ID)
		b = quote(append(b, `,"kind":`...), a.Kind)
		b = strconv.AppendInt(append(b, `,"size":`...), a.Size, 10)
		b = append(quote(append(b, `,"note":`...), a.Note), '}')
	}
	return append(b, ']')
}

func appendHash(b []byte, h tree.Hash) []byte {
	b = base64.StdEncoding.AppendEncode(append(b, '"'), h[:])
	return append(b, '"')
}

func appendHashes(b []byte, list []tree.Hash) []byte {
	b = append(b, '[')
	for i, h := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendHash(b, h)
	}
	return append(b, ']')
}
