package inventories

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/writ-automation/writ/modules/catalog/internal/check"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
)

// contentOf returns an inventory with this number of hosts.
func contentOf(name string, hosts int) []byte { return fmt.Appendf(nil, "%s[1:%d]\n", name, hosts) }

// TestCacheIsBounded checks that the most recently used inventories stay, within the limit.
func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	c := newCache(1 << 20)
	loads := 0
	get := func(name string, hosts int) {
		t.Helper()
		text := contentOf(name, hosts)
		e, err := c.get(t.Context(), check.Sum(text), catalog.INI, func(context.Context) (catalog.InventoryText, error) {
			loads++
			return catalog.InventoryText{Content: text, Format: catalog.INI}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, total, err := e.Hosts(t.Context(), 0, 1); err != nil || total != hosts {
			t.Fatal(total, err)
		}
		if c.size > c.most {
			t.Fatalf("%d bytes are kept", c.size)
		}
	}
	get("a", 2000)
	get("a", 2000)
	if loads != 1 {
		t.Fatalf("%d loads", loads)
	}
	get("b", 2000)
	get("a", 2000)
	for _, name := range strings.Split("cdefgh", "") {
		get(name, 2000)
		get("a", 2000) // stays, since it is in use
	}
	if loads != 8 {
		t.Errorf("%d loads", loads)
	}
	get("large", 100_000)
	get("large", 100_000) // larger than the whole cache
	if loads != 10 {
		t.Errorf("%d loads", loads)
	}
}

// TestCacheReadsOnce checks that concurrent callers for one inventory share one load, and that a cancelled caller stops
// waiting.
func TestCacheReadsOnce(t *testing.T) {
	t.Parallel()
	c := newCache(maxCached)
	text := contentOf("a", 10)
	begun, free := make(chan struct{}), make(chan struct{})
	loads := 0
	load := func(context.Context) (catalog.InventoryText, error) {
		loads++
		close(begun)
		<-free
		return catalog.InventoryText{Content: text, Format: catalog.INI}, nil
	}
	var work sync.WaitGroup
	for range 20 {
		work.Go(func() {
			if _, err := c.get(context.Background(), check.Sum(text), catalog.INI, load); err != nil {
				t.Error(err)
			}
		})
	}
	<-begun
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.get(gone, check.Sum(text), catalog.INI, load); err == nil {
		t.Error("who is gone gets an inventory")
	}
	close(free)
	work.Wait()
	if loads != 1 {
		t.Errorf("%d loads", loads)
	}
}

// TestUnreadable checks that unreadable stored content is not reported as an error of the request.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	c := newCache(maxCached)
	_, err := c.get(t.Context(), "", catalog.INI, func(context.Context) (catalog.InventoryText, error) {
		return catalog.InventoryText{Content: []byte("[x\n"), Format: catalog.INI}, nil
	})
	if !fault.Is(err, fault.Conflict) {
		t.Error(err)
	}
}
