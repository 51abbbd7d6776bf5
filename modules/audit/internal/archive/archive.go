package archive

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"time"

	"github.com/writ-automation/writ/ports/proof/bundle"
	"github.com/writ-automation/writ/ports/proof/dsse"
	"github.com/writ-automation/writ/ports/proof/keys"
	"github.com/writ-automation/writ/ports/proof/tree"
)

const (
	// MediaType is the media type of the file.
	MediaType = "application/zip"
	// SumsName is the name of the file with the digests of all other files. The statement in the manifest uses the
	// same name.
	SumsName = "SHA256SUMS"

	manifestName = "manifest.dsse.json"
)

// Head holds what the writer needs before the entries.
type Head struct {
	Manifest   bundle.Manifest
	Made       time.Time
	Checkpoint string // the note, byte for byte
	VKey       string // of the key that signed the note
	KeyPEM     string
	Policy     string // empty for none
	Seal       []byte // empty for none
	Anchors    []Anchor
	Remarks    []string // sentences for VERIFY.txt
}

// Anchor is a head that was recorded earlier. Token is the DER of a time-stamp response over the note, or empty.
type Anchor struct {
	ID    string
	Note  string
	Token []byte
}

// Writer writes one entry at a time. It buffers the entries of one bundle (256) and the partial tile of each level.
type Writer struct {
	head     Head
	zip      *zip.Writer
	sums     []byte
	frontier tree.Range
	entries  []byte
	width    int
	levels   [7][]byte
}

// NewWriter begins a file. An anchor whose id is not a valid file name is a keys.FormatInvalid fault.
func NewWriter(w io.Writer, h Head) (*Writer, error) {
	out := &Writer{head: h, zip: zip.NewWriter(w)}
	files := []struct {
		name string
		data []byte
	}{
		{"VERIFY.txt", []byte(Instructions(h))}, {"checkpoint", []byte(h.Checkpoint)}, {"vkey", []byte(h.VKey + "\n")},
		{"key.pem", []byte(h.KeyPEM)},
		{"policy", []byte(h.Policy)}, {"seal.json", h.Seal},
	}
	for _, a := range h.Anchors {
		if err := (bundle.Anchor{ID: a.ID, Kind: "checkpoint"}).CheckID(); err != nil {
			return nil, err
		}
		files = append(files, struct {
			name string
			data []byte
		}{"anchors/" + a.ID + ".note", []byte(a.Note)}, struct {
			name string
			data []byte
		}{"anchors/" + a.ID + ".tsr", a.Token})
	}
	for _, f := range files {
		if len(f.data) == 0 {
			continue
		}
		if err := out.put(f.name, f.data); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Add writes the next entry with its leaf hash.
func (w *Writer) Add(leaf []byte, hash tree.Hash) (err error) {
	if w.entries, err = tree.AppendEntry(w.entries, leaf); err != nil {
		return err
	}
	if w.width++; w.width == tree.TileWidth {
		if err := w.bundle(); err != nil {
			return err
		}
	}
	w.frontier.AppendVisit(hash, func(n tree.Node, h tree.Hash) {
		if n.Level%8 != 0 || err != nil {
			return
		}
		level := n.Level / 8
		if w.levels[level] = append(w.levels[level], h[:]...); len(w.levels[level]) == tree.TileWidth*len(h) {
			err = w.tile(level, n.Index/tree.TileWidth)
		}
	})
	return err
}

// Root returns the root over all added entries.
func (w *Writer) Root() tree.Hash { return w.frontier.Root() }

// Close writes the partial tiles and the manifest, which a statement key signs.
func (w *Writer) Close(signer keys.Signer) error {
	if w.width > 0 {
		if err := w.bundle(); err != nil {
			return err
		}
	}
	for level := range w.levels {
		if len(w.levels[level]) == 0 {
			continue
		}
		full := w.frontier.Size() >> (8 * level) / tree.TileWidth
		if err := w.tile(uint(level), full); err != nil {
			return err
		}
	}
	sums := sha256.Sum256(w.sums)
	s, err := dsse.NewStatement(dsse.BundleV1, w.head.Manifest, dsse.Subject{Name: SumsName, SHA256: sums})
	if err != nil {
		return err
	}
	signed, err := dsse.SignStatement(s, signer)
	if err != nil {
		return err
	}
	if err := w.put(SumsName, w.sums); err != nil {
		return err
	}
	if err := w.put(manifestName, signed); err != nil {
		return err
	}
	if err := w.zip.Close(); err != nil {
		return fmt.Errorf("archive: write: %w", err)
	}
	return nil
}

// bundle writes the buffered entries. The tree is at most one full tile ahead: see Add.
func (w *Writer) bundle() error {
	t := tree.Tile{Index: w.frontier.Size() / tree.TileWidth, Width: w.width}
	err := w.put(t.EntriesPath(), w.entries)
	w.entries, w.width = w.entries[:0], 0
	return err
}

func (w *Writer) tile(level uint, index uint64) error {
	t := tree.Tile{Level: level, Index: index, Width: len(w.levels[level]) / len(tree.Hash{})}
	err := w.put(t.Path(), w.levels[level])
	w.levels[level] = w.levels[level][:0]
	return err
}

func (w *Writer) put(name string, data []byte) error {
	f, err := w.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: w.head.Made})
	if err == nil {
		_, err = f.Write(data)
	}
	if err != nil {
		return fmt.Errorf("archive: write %s: %w", name, err)
	}
	sum := sha256.Sum256(data)
	w.sums = append(w.sums, hex.EncodeToString(sum[:])+"  "+name+"\n"...)
	return nil
}
