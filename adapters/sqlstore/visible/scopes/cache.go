package scopes

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"sync"
)

// generation is how many scopes are cached in each of two generations.
const generation = 4096

// cache holds scopes, which never change after their commit. A full generation replaces the older one.
type cache struct {
	mu         sync.Mutex
	young, old maps
}

type maps struct {
	objects map[int64][]string
	ids     map[string]int64 // by digest
}

func newMaps() maps {
	return maps{objects: make(map[int64][]string), ids: make(map[string]int64)}
}

func newCache() *cache { return &cache{young: newMaps()} }

func (k *cache) id(digest string) (int64, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if id, ok := k.young.ids[digest]; ok {
		return id, true
	}
	id, ok := k.old.ids[digest]
	if ok {
		k.store(id, digest, k.old.objects[id])
	}
	return id, ok
}

// objects returns a scope's objects, or nil if they are not cached. The list is shared and must not be changed.
func (k *cache) objects(id int64) []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if list := k.young.objects[id]; list != nil {
		return list
	}
	list := k.old.objects[id]
	if list != nil {
		k.store(id, digestOf(list), list)
	}
	return list
}

func (k *cache) put(id int64, digest string, objects []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.store(id, digest, objects)
}

func (k *cache) store(id int64, digest string, objects []string) {
	if len(k.young.objects) >= generation {
		k.old, k.young = k.young, newMaps()
	}
	k.young.objects[id], k.young.ids[digest] = objects, id
}

// normal returns the objects sorted, each once, without changing the list.
func normal(objects []string) []string {
	for i := 1; i < len(objects); i++ {
		if objects[i-1] >= objects[i] {
			return slices.Compact(slices.Sorted(slices.Values(objects)))
		}
	}
	return objects
}

// digestOf returns the digest of a set of objects: the object itself, or a hash of several.
func digestOf(objects []string) string {
	if len(objects) == 1 {
		return objects[0]
	}
	sum := sha256.Sum256([]byte(strings.Join(objects, "\x00")))
	return "sha256:" + hex.EncodeToString(sum[:])
}
