package inventories

import (
	"context"

	"github.com/writ-automation/writ/modules/catalog/internal/pattern"
	"github.com/writ-automation/writ/ports/catalog"
)

// Indexes parses inventories and keeps the most recently used ones.
type Indexes struct {
	store catalog.InventoryStore
	cache *cache
}

// NewIndexes returns the indexes of the inventories of a store.
func NewIndexes(s catalog.InventoryStore) *Indexes { return &Indexes{s, newCache(maxCached)} }

func (x *Indexes) of(ctx context.Context, i catalog.Inventory) (*pattern.Index, error) {
	return x.cache.get(ctx, i.Digest, i.Format, func(ctx context.Context) (catalog.InventoryText, error) {
		return x.store.InventoryText(ctx, i.ID)
	})
}

// Selected returns the digests of the content and of the selected hosts.
func (x *Indexes) Selected(ctx context.Context, id, limit string) (content, hosts string, err error) {
	if err := pattern.Check(limit); err != nil {
		return "", "", err
	}
	i, err := x.store.InventoryByID(ctx, id)
	if err != nil {
		return "", "", err
	}
	e, err := x.of(ctx, i)
	if err != nil {
		return "", "", err
	}
	hosts, err = e.Digest(ctx, limit)
	return i.Digest, hosts, err
}

// Hosts returns the names of the hosts that a limit selects.
func (x *Indexes) Hosts(ctx context.Context, id, limit string) ([]string, error) {
	if err := pattern.Check(limit); err != nil {
		return nil, err
	}
	i, err := x.store.InventoryByID(ctx, id)
	if err != nil {
		return nil, err
	}
	e, err := x.of(ctx, i)
	if err != nil {
		return nil, err
	}
	return e.Names(ctx, limit)
}

// Targets counts the hosts that a limit selects.
func (x *Indexes) Targets(ctx context.Context, id, limit string) (catalog.Targets, error) {
	i, err := x.store.InventoryByID(ctx, id)
	if err != nil || limit == "" {
		return catalog.Targets{Hosts: i.Hosts, Of: i.Hosts}, err
	}
	if err := pattern.Check(limit); err != nil {
		return catalog.Targets{}, err
	}
	e, err := x.of(ctx, i)
	if err != nil {
		return catalog.Targets{}, err
	}
	r, err := e.Resolve(ctx, limit)
	return catalog.Targets{Hosts: r.Count, Of: i.Hosts}, err
}

// Variables returns what says which of some variables a host has.
func (x *Indexes) Variables(ctx context.Context, id string, names ...string) (func(host string) map[string]any, error) {
	i, err := x.store.InventoryByID(ctx, id)
	if err != nil {
		return nil, err
	}
	e, err := x.of(ctx, i)
	if err != nil {
		return nil, err
	}
	return e.Variables(names...), nil
}
