package install

import (
	"context"
	"fmt"
	"time"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/proof/checkpoint"
)

// Retain stores a head as an anchor of the kind checkpoint, unless the store has one of the same epoch that is as
// large or one that is younger than apart. It reports whether the store now has one that is at least as large. If
// several servers do this at once, only one of them stores its head.
func (i *Install) Retain(ctx context.Context, h Head, apart time.Duration) (kept bool, err error) {
	err = i.p.Unit.Do(ctx, func(ctx context.Context) error {
		kept = false
		if _, err := i.p.Identity.Install(ctx); err != nil { // serializes servers
			return err
		}
		newest, err := i.p.Anchors.FindAnchors(ctx, audit.AnchorFilter{Kind: audit.KindCheckpoint, Epoch: h.Epoch, Limit: 1})
		if err != nil {
			return err
		}
		now := i.p.Clock.Now()
		if len(newest) > 0 {
			a := newest[0]
			kept = a.Size >= h.Size
			if kept || now.Sub(a.MadeAt) < apart && !a.MadeAt.After(now) {
				return nil
			}
		}
		kept = true
		return i.p.Anchors.PutAnchor(ctx, i.Anchor(h, audit.KindCheckpoint))
	})
	if err != nil {
		return false, fmt.Errorf("keep a head: %w", err)
	}
	return kept, nil
}

// Anchor returns a new anchor of a head and a kind.
func (i *Install) Anchor(h Head, kind string) audit.Anchor {
	return audit.Anchor{
		ID: i.p.IDs.New(ids.Anchor), Kind: kind, Epoch: h.Epoch, Size: h.Size, Root: h.Root, MadeAt: i.p.Clock.Now(),
		Note: h.Note,
	}
}

// File saves a head in the head file, unless the file holds one of the same epoch that is as large. Without a head
// file it does nothing. It never overwrites a head file that cannot be read, since that may hold the proof of a
// rollback.
func (i *Install) File(h Head) error {
	file := i.p.Config.HeadFile
	if file == nil {
		return nil
	}
	note, err := file.Load()
	if err != nil {
		return fault.Wrap(fault.Conflict, err, "the head file cannot be read")
	}
	if note != "" {
		parsed, err := checkpoint.Parse([]byte(note))
		if err != nil {
			return fault.Wrap(fault.Conflict, err, "the head file does not hold a signed head")
		}
		mine, err := checkpoint.Parse([]byte(h.Note))
		if err != nil {
			return fmt.Errorf("read a head: %w", err)
		}
		if parsed.Origin == mine.Origin && parsed.Size >= mine.Size {
			return nil
		}
	}
	if err := file.Save(h.Note); err != nil {
		return fault.Wrap(fault.Unavailable, err, "the head file cannot be written")
	}
	return nil
}
