package install

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/proof/checkpoint"
	"github.com/writ-automation/writ/ports/proof/keys"
)

// abandoned finds the heads that an accepted rollback abandoned. It serves one pass over heads.
type abandoned struct {
	in    *Install
	id    Identity
	asked map[string]bool // results of vouched
}

func (i *Install) abandoned(id Identity) *abandoned {
	return &abandoned{in: i, id: id, asked: make(map[string]bool)}
}

// Abandoned returns a function that reports whether an anchor was abandoned. It serves one pass.
//
// Anybody who writes the database can close an epoch. For an anchor that only the database holds this is enough,
// since it could be deleted as well. For the head of a worker, as for the head file, the signing key must have
// signed a head of a later epoch.
func (i *Install) Abandoned(id Identity) func(ctx context.Context, a *audit.Anchor) (bool, error) {
	return i.abandoned(id).up
}

// Vouched reports whether the head of the head file was abandoned: its epoch was closed, and the signing key signed a
// head of a later epoch. It is false without a head file.
func (i *Install) Vouched(ctx context.Context) (bool, error) {
	note, err := i.filed()
	if err != nil || note == "" {
		return false, err
	}
	id, err := i.Identity(ctx)
	if err != nil {
		return false, err
	}
	h, err := i.read(id, note)
	if err != nil {
		return false, ofFile(err)
	}
	return i.abandoned(id).held(ctx, h)
}

// Closed reports whether a head is larger than what remained of its epoch, as the store has it. Such a head is
// abandoned if the rule of Abandoned or Vouched confirms it.
func (id *Identity) Closed(epoch, size int64) bool {
	for _, e := range id.Epochs {
		if e.N == epoch {
			return e.Closed && size > e.LastSize
		}
	}
	return false
}

// up reports whether an anchor was abandoned.
func (g *abandoned) up(ctx context.Context, a *audit.Anchor) (bool, error) {
	if !g.id.Closed(a.Epoch, a.Size) {
		return false, nil
	}
	if a.Kind != audit.KindWorker {
		return true, nil
	}
	h, err := g.in.read(g.id, a.Note)
	if err != nil && !Foreign(err) {
		return false, err
	}
	return g.vouched(ctx, a.Epoch, h.by)
}

// held reports whether a head that is stored outside of the database was abandoned.
func (g *abandoned) held(ctx context.Context, h Held) (bool, error) {
	if !g.id.Closed(h.Epoch, h.Size) {
		return false, nil
	}
	return g.vouched(ctx, h.Epoch, h.by)
}

// vouched reports whether the store has a head of a later epoch that this server's key or one of these keys signed.
// Unlike a closed epoch, nobody can forge it with the database alone.
func (g *abandoned) vouched(ctx context.Context, epoch int64, by []keys.Key) (bool, error) {
	if own, _ := g.in.pair(); own != nil {
		mine, err := keys.NewKey(own.checkpoint.Public(), keys.Checkpoint, g.id.Epoch.Origin)
		if err != nil {
			return false, err
		}
		by = append([]keys.Key{mine}, by...)
	}
	if len(by) == 0 {
		return false, nil
	}
	who := fmt.Sprint(epoch)
	for _, k := range by {
		who += " " + k.ID
	}
	if found, ok := g.asked[who]; ok {
		return found, nil
	}
	found, err := g.in.heardOf(ctx, g.id, epoch, by)
	if err == nil {
		g.asked[who] = found
	}
	return found, err
}

// heardOf looks for a head of a later epoch by one of these keys: first among those already found, then among the
// newest, then among all.
func (i *Install) heardOf(ctx context.Context, id Identity, epoch int64, by []keys.Key) (bool, error) {
	i.mu.Lock()
	for _, k := range by {
		if i.heard[k.ID] > epoch {
			i.mu.Unlock()
			return true, nil
		}
	}
	i.mu.Unlock()
	newest, err := i.p.Anchors.NewestAnchors(ctx, audit.KindCheckpoint, looked)
	if err != nil {
		return false, fmt.Errorf("read anchors: %w", err)
	}
	for n := range newest {
		if i.hear(&newest[n], id, epoch, by) {
			return true, nil
		}
	}
	enough := errors.New("found")
	err = i.p.Anchors.Anchors(ctx, func(a *audit.Anchor) error {
		if i.hear(a, id, epoch, by) {
			return enough
		}
		return nil
	})
	if err != nil && !errors.Is(err, enough) {
		return false, fmt.Errorf("read anchors: %w", err)
	}
	return err != nil, nil
}

// hear reports whether an anchor is a head of a later epoch by one of these keys, and caches a positive result.
func (i *Install) hear(a *audit.Anchor, id Identity, epoch int64, by []keys.Key) bool {
	if a.Kind != audit.KindCheckpoint || a.Epoch <= epoch || !strings.HasPrefix(a.Note, base(id.Epoch.Origin)) {
		return false
	}
	parsed, err := checkpoint.Parse([]byte(a.Note))
	if err != nil || base(parsed.Origin) != base(id.Epoch.Origin) {
		return false
	}
	of, err := keys.EpochOf(parsed.Origin)
	if err != nil || of <= epoch {
		return false
	}
	for _, k := range by {
		ring, _, err := lifeless([]keys.Key{k}, parsed.Origin)
		if err != nil {
			continue
		}
		if _, err := checkpoint.Open([]byte(a.Note), ring); err == nil {
			i.mu.Lock()
			defer i.mu.Unlock()
			i.heard[k.ID] = max(i.heard[k.ID], of)
			return true
		}
	}
	return false
}
