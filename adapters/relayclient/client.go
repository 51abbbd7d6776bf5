package relayclient

import (
	"cmp"
	"context"
	"log/slog"
	"strings"
	"sync"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

var (
	_ execution.ControlPlane = (*Client)(nil)
	_ catalog.Materials      = (*Client)(nil)
)

// Client is the control plane and the materials of an executor, over the relay of one server. Its leases name the
// worker with the prefix execution.RelayPrefix, as the server does. It is safe for concurrent use.
type Client struct {
	cfg    Config
	server *server
	claims *claims
	heads  *heads
	log    *slog.Logger

	turns       turns
	quiet       context.Context // ends when the client stops claiming
	cancelQuiet context.CancelFunc
}

// New makes a client and its private directory; it makes no calls. An Invalid fault names the wrong setting.
func New(c Config) (*Client, error) {
	base, err := c.check()
	if err != nil {
		return nil, err
	}
	c = c.filled()
	roots, err := authorities(c.CAFile)
	if err != nil {
		return nil, err
	}
	stored, err := openClaims(c.StateDir, c.Log)
	if err != nil {
		return nil, err
	}
	out := &Client{
		cfg: c, server: newServer(base, c.Token, roots, c.Wait), claims: stored, heads: &heads{store: c.Heads, log: c.Log},
		log: c.Log,
	}
	out.quiet, out.cancelQuiet = context.WithCancel(context.Background())
	return out, nil
}

// Quiet ends the waiting claim at once, and makes every later one return nothing. Reports about held runs continue. A
// run that the server was just granting becomes pending again when its lease expires.
func (c *Client) Quiet() { c.cancelQuiet() }

// Leave reports to the server that the worker ends, which removes it from the list of workers. It is called at the end
// of a drain, after Quiet.
func (c *Client) Leave(ctx context.Context) error {
	peer := c.cfg.Worker
	peer.Executors = 0
	// The answer may contain a head that replaces a stored one, so the stored heads are sent first, as with every
	// claim.
	g, err := c.ask(ctx, execution.RelayClaim{Worker: peer, Queues: c.cfg.Queues, Heads: c.heads.list()}, 0)
	if g != nil {
		c.releaseGrant(ctx, g)
	}
	return err
}

// Close calls Quiet and closes idle connections. The client must not be used afterwards.
func (c *Client) Close() {
	c.cancelQuiet()
	c.server.close()
}

// withoutPrefix returns a worker's name without the prefix of relay workers.
func withoutPrefix(worker string) string { return strings.TrimPrefix(worker, execution.RelayPrefix) }

// name returns the worker's name in a claim.
func (c *Client) name(worker string) string { return withoutPrefix(cmp.Or(worker, c.cfg.Worker.Name)) }

// report makes a call about a held run, and decodes the answer into out unless out is nil. A final refusal ends the
// claim here, and the executor stops the run. The claim can still be used for reports.
func (c *Client) report(ctx context.Context, l runs.Lease, what call, out any) error {
	k, err := c.claims.of(l)
	if err != nil {
		return err
	}
	err = c.reportBy(ctx, k, what, out)
	if final(err) {
		c.claims.end(k.key())
	}
	return err
}

// reportBy is report with a known claim. It ends the claim if the server reports it lost.
func (c *Client) reportBy(ctx context.Context, k claim, what call, out any) error {
	what.capability = k.capability
	err := c.server.do(ctx, what, out)
	if runs.LeaseLost.Is(err) {
		c.claims.end(k.key())
	}
	return err
}

// final reports whether the server will never accept a call.
func final(err error) bool {
	switch fault.KindOf(err) {
	case fault.Conflict, fault.NotFound, fault.Invalid, fault.TooLarge:
		return err != nil
	default:
		return false
	}
}

// parallel calls do for every index, at most width at once, and returns when all have returned.
func parallel(n, width int, do func(i int)) {
	var wg sync.WaitGroup
	free := make(chan struct{}, width)
	for i := range n {
		free <- struct{}{}
		wg.Go(func() {
			defer func() { <-free }()
			do(i)
		})
	}
	wg.Wait()
}
