package inventories

import (
	"container/list"
	"context"
	"sync"

	"github.com/writ-automation/writ/modules/catalog/internal/check"
	"github.com/writ-automation/writ/modules/catalog/internal/inventory"
	"github.com/writ-automation/writ/modules/catalog/internal/pattern"
	"github.com/writ-automation/writ/ports/catalog"
)

// maxCached is the maximum memory of the cached inventories in bytes.
const maxCached = 64 << 20

// cache keeps the most recently used inventories. It parses one inventory at a time, so concurrent requests for one
// inventory parse it once.
type cache struct {
	most      int
	parseSlot chan struct{}

	mu   sync.Mutex
	size int
	used *list.List // of *kept, the most recently used first
	by   map[string]*list.Element
}

type cachedIndex struct {
	key   string
	index *pattern.Index
}

func newCache(most int) *cache {
	return &cache{most: most, parseSlot: make(chan struct{}, 1), used: list.New(), by: map[string]*list.Element{}}
}

// get returns the inventory of a digest, and calls load if it is not cached. The result of load may be newer than the
// digest.
func (c *cache) get(ctx context.Context, digest string, f catalog.Format,
	load func(context.Context) (catalog.InventoryText, error)) (
	*pattern.Index, error,
) {
	if e := c.find(digest, f); e != nil {
		return e, nil
	}
	select {
	case c.parseSlot <- struct{}{}:
		defer func() { <-c.parseSlot }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if e := c.find(digest, f); e != nil {
		return e, nil
	}
	text, err := load(ctx)
	if err != nil {
		return nil, err
	}
	content, err := inventory.Parse(text.Content, text.Format)
	if err != nil {
		return nil, unreadable(err)
	}
	e := pattern.NewIndex(content)
	c.put(key(check.Sum(text.Content), text.Format), e)
	return e, nil
}

func key(digest string, f catalog.Format) string { return digest + "/" + string(f) }

func (c *cache) find(digest string, f catalog.Format) *pattern.Index {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.by[key(digest, f)]
	if !ok {
		return nil
	}
	c.used.MoveToFront(at)
	k, _ := at.Value.(*cachedIndex)
	return k.index
}

// put adds an inventory and evicts the least recently used ones. It ignores an inventory that is larger than the whole
// cache.
func (c *cache) put(key string, e *pattern.Index) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.by[key]; ok || e.Size() > c.most {
		return
	}
	c.by[key] = c.used.PushFront(&cachedIndex{key, e})
	for c.size += e.Size(); c.size > c.most; {
		old, _ := c.used.Remove(c.used.Back()).(*cachedIndex)
		delete(c.by, old.key)
		c.size -= old.index.Size()
	}
}
