package audit

import (
	"context"
	"sync"
	"time"

	"github.com/writ-automation/writ/ports/identity"
)

// The bounds of concurrent requests that read the whole chain. One account cannot use all of them.
const (
	atOnce     = 4
	perAccount = 3
	comeBack   = 10 * time.Second
)

// gate counts concurrent requests by account.
type gate struct {
	mu   sync.Mutex
	all  int
	held map[string]int
}

func newGate() *gate { return &gate{held: make(map[string]int)} }

// enter admits one more request of ctx's caller, or returns a Busy fault beyond the bounds. Call leave once, at the
// end of the request.
func (g *gate) enter(ctx context.Context) (leave func(), err error) {
	p, _ := identity.From(ctx)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.all >= atOnce || g.held[p.User.ID] >= perAccount {
		f := Busy.New("the server already handles as many of these requests as it allows at once")
		f.RetryAfter = comeBack
		return nil, f
	}
	g.all++
	g.held[p.User.ID]++
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.all--
		if g.held[p.User.ID]--; g.held[p.User.ID] == 0 {
			delete(g.held, p.User.ID)
		}
	}, nil
}
