package insight

import (
	"container/list"
	"sync"
)

// maxBuilders bounds the builders in memory.
const maxBuilders = 64

// cache holds the most recently used builders.
type cache struct {
	mu    sync.Mutex
	byRun map[string]*list.Element
	order *list.List // of *entry, the most recently used first
	made  int64
}

type entry struct {
	run string
	b   *builder
}

func newCache() *cache { return &cache{byRun: map[string]*list.Element{}, order: list.New()} }

// get returns the builder of a run, and adds a new one if there is none.
func (c *cache) get(run string) *builder {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byRun[run]; ok {
		c.order.MoveToFront(e)
		return e.Value.(*entry).b
	}
	b := newBuilder()
	c.made++
	b.order = c.made << 32 // the low bits count the restarts of the builder
	c.byRun[run] = c.order.PushFront(&entry{run: run, b: b})
	if c.order.Len() > maxBuilders {
		last := c.order.Back()
		c.order.Remove(last)
		delete(c.byRun, last.Value.(*entry).run)
	}
	return b
}

// peek returns the builder of a run, or nil.
func (c *cache) peek(run string) *builder {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byRun[run]; ok {
		return e.Value.(*entry).b
	}
	return nil
}
