package prove

import (
	"context"
	"fmt"
	"io"

	"github.com/writ-automation/writ/modules/audit/internal/archive"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/proof/checkpoint"
	"github.com/writ-automation/writ/ports/proof/keys"
	"github.com/writ-automation/writ/ports/proof/tree"
)

// tiles is a bundle in the layout of tlog-tiles.
type tiles struct {
	document
	files archive.Head
}

// maxArchived bounds the anchors in the zip, the newest first. Each takes one or two files.
const maxArchived = 256

// tiled makes the zip from the contents of the document.
func (d *document) tiled(ctx context.Context) (audit.Document, error) {
	if d.visibility != nil {
		if err := d.each(ctx, wholly); err != nil {
			return nil, err
		}
	}
	h := &d.head
	key, err := d.by()
	if err != nil {
		return nil, err
	}
	out := &tiles{document: document{p: d.p, s: d.s, head: *h, last: d.last, visibility: d.visibility}}
	out.files = archive.Head{
		Manifest: h.Manifest(), Made: h.GeneratedAt, Checkpoint: h.Checkpoint, VKey: key.VKey, KeyPEM: key.SPKI,
		Policy: d.p.policy(h.Keys),
	}
	if out.files.Seal, err = d.p.Seal(ctx); err != nil {
		return nil, err
	}
	list := d.anchors
	if n := len(list) - maxArchived; n > 0 {
		list = list[n:]
		out.files.Remarks = append(out.files.Remarks, fmt.Sprintf("%d older heads of the install are not in this file.", n))
	}
	for _, a := range list {
		made := archive.Anchor{ID: a.ID, Note: a.Note}
		if a.Kind == audit.KindTimestamp {
			made.Token = a.Evidence
		}
		out.files.Anchors = append(out.files.Anchors, made)
	}
	return out, nil
}

// by returns the key that signed the head.
func (d *document) by() (keys.Key, error) {
	ring, err := keys.NewRing(d.head.Keys...)
	if err != nil {
		return keys.Key{}, fmt.Errorf("the keys of the install: %w", err)
	}
	signed, err := checkpoint.Open([]byte(d.head.Checkpoint), ring)
	if err != nil {
		return keys.Key{}, fmt.Errorf("the signed head: %w", err)
	}
	return signed.By[0], nil
}

// wholly refuses an entry that the reader does not see.
func wholly(_ *audit.Stored, _ tree.Hash, seen bool) error {
	if seen {
		return nil
	}
	return access.NotAllowed.New(
		"the form tiles cannot omit the entries about objects that you may not read: use the form json")
}

func (t *tiles) MediaType() string { return archive.MediaType }

func (t *tiles) Name() string { return fmt.Sprintf("audit-%s-%d.zip", t.s.id.InstallID, t.head.Size) }

func (t *tiles) WriteTo(ctx context.Context, w io.Writer) error {
	if t.written.Swap(true) {
		return fault.Wrap(fault.Internal, nil, "a bundle can be written only once")
	}
	out, err := archive.NewWriter(w, t.files)
	if err != nil {
		return err
	}
	if err := t.each(ctx, func(e *audit.Stored, hash tree.Hash, seen bool) error {
		if err := wholly(e, hash, seen); err != nil {
			return err
		}
		return out.Add([]byte(e.Leaf), hash)
	}); err != nil {
		return err
	}
	if out.Root() != t.s.Root {
		return changed(t.head.To, t.head.To)
	}
	return out.Close(t.s.signer)
}
