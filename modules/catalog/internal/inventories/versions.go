package inventories

import (
	"context"
	"time"

	"github.com/writ-automation/writ/modules/catalog/internal/check"
	"github.com/writ-automation/writ/modules/catalog/internal/pattern"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/linediff"
	"github.com/writ-automation/writ/ports/page"
)

// The bounds of the difference of two contents in bytes.
const (
	maxDiff = 256 << 10
	maxLine = 2 << 10
)

// Versions implements catalog.InventoryVersions.
type Versions struct {
	inventories *Inventories
}

var _ catalog.InventoryVersions = (*Versions)(nil)

// NewVersions returns the Versions of inventories.
func NewVersions(k *Inventories) *Versions { return &Versions{k} }

// Contents stores inventories and the versions of their contents.
type Contents struct {
	catalog.InventoryStore
	catalog.InventoryVersionStore
}

// Change changes the content of an inventory in the open unit of work, and keeps the version that the change makes. An
// inventory without versions first keeps the content from before.
func (s Contents) Change(
	ctx context.Context, was catalog.Inventory, v catalog.InventoryVersion, change func() error,
) error {
	earlier := catalog.InventoryVersion{At: was.UpdatedAt, How: catalog.Earlier}
	if err := s.KeepVersion(ctx, was.ID, earlier); err != nil {
		return err
	}
	if err := change(); err != nil {
		return err
	}
	return s.KeepVersion(ctx, was.ID, v)
}

// edited is the version that the actor of ctx makes.
func edited(ctx context.Context, at time.Time) catalog.InventoryVersion {
	return catalog.InventoryVersion{At: at, By: actor.From(ctx), How: catalog.Edited}
}

func (s *Versions) Versions(
	ctx context.Context, inventoryID string, w page.Window,
) ([]catalog.InventoryVersion, int, error) {
	if _, err := s.inventories.Reach(ctx, access.Read, inventoryID); err != nil {
		return nil, 0, err
	}
	return s.inventories.store.InventoryVersions(ctx, inventoryID, w)
}

func (s *Versions) Version(ctx context.Context, inventoryID string, number int64) (catalog.InventoryVersion, error) {
	if _, err := s.inventories.Reach(ctx, access.Read, inventoryID); err != nil {
		return catalog.InventoryVersion{}, err
	}
	return s.inventories.store.InventoryVersion(ctx, inventoryID, number)
}

func (s *Versions) Diff(ctx context.Context, inventoryID string, from, to int64) (catalog.InventoryDiff, error) {
	if from < 0 {
		return catalog.InventoryDiff{}, fault.BadField("from", "expected the number of a version")
	}
	is, err := s.Version(ctx, inventoryID, to)
	if err != nil {
		return catalog.InventoryDiff{}, err
	}
	if from == 0 {
		from = to - 1
	}
	was := catalog.InventoryVersion{Format: catalog.INI, Digest: check.Sum(nil)}
	if from > 0 {
		was, err = s.inventories.store.InventoryVersion(ctx, inventoryID, from)
	}
	switch {
	case catalog.VersionNotFound.Is(err):
		return catalog.InventoryDiff{}, fault.BadField("from", "there is no version %d, or none any more", from)
	case err != nil:
		return catalog.InventoryDiff{}, err
	}
	d, err := s.compare(ctx, was, is)
	d.From, d.To = was, is
	d.From.Content, d.To.Content = nil, nil
	return d, err
}

func (s *Versions) compare(ctx context.Context, was, is catalog.InventoryVersion) (d catalog.InventoryDiff, err error) {
	from, err := s.index(ctx, was)
	if err != nil {
		return d, err
	}
	to, err := s.index(ctx, is)
	if err != nil {
		return d, err
	}
	if d.Hosts, d.Groups, d.Truncated, err = pattern.Compare(ctx, from, to); err != nil || was.Digest == is.Digest {
		return d, err
	}
	lines := linediff.Compare(linediff.Lines(string(was.Content)), linediff.Lines(string(is.Content)))
	text, cut := linediff.Unified(lines, maxDiff, maxLine)
	d.Text, d.Truncated = text, d.Truncated || cut
	return d, nil
}

func (s *Versions) index(ctx context.Context, v catalog.InventoryVersion) (*pattern.Index, error) {
	return s.inventories.indexes.cache.get(ctx, v.Digest, v.Format,
		func(context.Context) (catalog.InventoryText, error) {
			return catalog.InventoryText{Content: v.Content, Format: v.Format}, nil
		})
}
