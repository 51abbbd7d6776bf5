package admission

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret"
)

// The forms of names.
var (
	WorkerName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)
	// PeerName is that of a worker that calls: a name that was given has a mark and the end of an id behind it.
	PeerName  = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}(~[0-9a-z]{1,26})?$`)
	QueueName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._:/-]{0,99}$`)
)

// EveryQueue opens all queues to the shared token.
const EveryQueue = "*"

// Gate decides about the workers that call.
type Gate struct {
	tokens execution.WorkerTokenStore
	rights Rights
	clock  clock.Clock
	open   []string // queues that the shared token serves whatever their grants are
}

var _ execution.WorkerGate = (*Gate)(nil)

// Rights tell which queues carry grants.
type Rights struct {
	Guard    access.Guard
	Versions identity.VersionStore
}

// NewGate returns a gate. The shared token serves the queues without grants, and the open ones.
func NewGate(t execution.WorkerTokenStore, r Rights, c clock.Clock, open []string) *Gate {
	return &Gate{tokens: t, rights: r, clock: c, open: open}
}

func badToken() error {
	return execution.BadWorkerToken.New("this is no worker token that is valid here")
}

func (g *Gate) Admit(ctx context.Context, token secret.Text) (execution.Peer, error) {
	if strings.HasPrefix(token.Reveal(), execution.WorkerTokenPrefix) {
		t, err := g.tokens.WorkerTokenByHash(ctx, sha256.Sum256([]byte(token.Reveal())))
		switch {
		case err == nil && t.Valid(g.clock.Now()):
			return execution.Peer{TokenID: t.ID, Name: t.Name, Queues: t.Queues}, nil
		case err != nil && !execution.WorkerTokenNotFound.Is(err):
			return execution.Peer{}, err
		}
	}
	_, some, err := g.tokens.ListWorkerTokens(ctx, page.Window{Limit: 1})
	switch {
	case err != nil:
		return execution.Peer{}, err
	case some == 0:
		return execution.Peer{}, execution.RelayDisabled.New(
			"this install serves no workers over the relay; it takes a worker token for that")
	}
	return execution.Peer{}, badToken()
}

// MayClaim returns why the calling worker may not act under a name, or not for the queues: BadWorkerToken where its
// token was revoked or has expired meanwhile, WorkerNameDenied, QueueDenied.
func (g *Gate) MayClaim(ctx context.Context, name string, queues []string) error {
	p, ok := execution.PeerOf(ctx)
	if !ok {
		return badToken()
	}
	if p.TokenID == "" { // readers see this name alone
		name = execution.ShownName(name)
	}
	if err := g.mayBe(ctx, p, name); err != nil {
		return err
	}
	if len(queues) == 0 {
		queues = []string{runs.DefaultQueue}
	}
	for _, q := range queues {
		if err := g.mayServe(ctx, p, q); err != nil {
			return err
		}
	}
	return nil
}

// MayReport returns LeaseLost where the run of a worker is not that of the caller.
func (g *Gate) MayReport(ctx context.Context, l runs.Lease) error {
	p, ok := execution.PeerOf(ctx)
	if !ok {
		return badToken()
	}
	err := g.mayBe(ctx, p, strings.TrimPrefix(l.Worker, execution.RelayPrefix))
	if execution.WorkerNameDenied.Is(err) {
		return runs.LeaseLost.New("the run %s is held by another worker", l.RunID)
	}
	return err
}

// mayBe returns why a worker may not act under a name.
func (g *Gate) mayBe(ctx context.Context, p execution.Peer, name string) error {
	if p.TokenID == "" {
		t, err := g.tokens.WorkerTokenByName(ctx, name)
		switch {
		case execution.WorkerTokenNotFound.Is(err), err == nil && !t.Valid(g.clock.Now()):
			return nil
		case err != nil:
			return err
		}
		return execution.WorkerNameDenied.New("the name %q belongs to a worker token", name)
	}
	t, err := g.tokens.WorkerTokenByID(ctx, p.TokenID)
	switch {
	case execution.WorkerTokenNotFound.Is(err), err == nil && !t.Valid(g.clock.Now()):
		return badToken()
	case err != nil:
		return err
	case t.Name != name:
		return execution.WorkerNameDenied.New("this worker token is made for the name %q", t.Name)
	}
	return nil
}

// free reports whether an account without grants may use a queue, by the rights as they are now.
func (r Rights) free(ctx context.Context, queue string) (bool, error) {
	version, err := r.Versions.RightsVersion(ctx)
	if err != nil {
		return false, err
	}
	anybody := identity.Principal{User: identity.User{Role: identity.Operator}, Version: version}
	return r.Guard.May(identity.With(ctx, anybody), access.Use, access.Queue(queue))
}

func (g *Gate) mayServe(ctx context.Context, p execution.Peer, queue string) error {
	if p.TokenID != "" {
		if slices.Contains(p.Queues, queue) {
			return nil
		}
		return execution.QueueDenied.New("this worker token is not made for the queue %q", queue)
	}
	if slices.Contains(g.open, queue) || slices.Contains(g.open, EveryQueue) {
		return nil
	}
	free, err := g.rights.free(ctx, queue)
	if err != nil {
		return fmt.Errorf("ask for the grants of the queue %q: %w", queue, err)
	}
	if !free {
		return execution.QueueDenied.New(
			"the queue %q carries grants: it takes a worker token of its own, or --worker-queue on the server", queue)
	}
	return nil
}
