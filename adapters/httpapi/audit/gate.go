package audit

import (
	"context"
	"sync"
	"time"

	"github.com/writ-automation/writ/ports/identity"
)

// How much of what walks the whole chain is under way at once. One account alone never takes all of it.
const (
	atOnce     = 4
	perAccount = 3
	comeBack   = 10 * time.Second
)

// gate counts what is under way by account.
type gate struct {
	mu   sync.Mutex
	all  int
	held map[string]int
}

func newGate() *gate { return &gate{held: make(map[string]int)} }

// enter admits one more of ctx's caller; leave, which is called once, gives it back. It returns a Busy fault over the
// bounds.
func (g *gate) enter(ctx context.Context) (leave func(), err error) {
	p, _ := identity.From(ctx)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.all >= atOnce || g.held[p.User.ID] >= perAccount {
		f := Busy.New("the server is at work on as many of these as it makes at once")
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
