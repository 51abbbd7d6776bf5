package relayclient

import (
	"context"
	"encoding/base64"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret"
)

// Refreshes returns the refreshes of inventory sources that the server has for this worker. Claims wait at the server.
func (c *Client) Refreshes() catalog.Refreshes {
	return &refreshes{c: c, held: map[catalog.RefreshLease]*refreshClaim{}}
}

type refreshes struct {
	c    *Client
	mu   sync.Mutex
	held map[catalog.RefreshLease]*refreshClaim
}

// refreshClaim is a claimed refresh. Its secrets are only in memory.
type refreshClaim struct {
	source     execution.RelaySource
	secrets    *execution.RelaySecrets
	capability secret.Text
}

// A server of an older version has no refreshes.
func (r *refreshes) Claim(
	ctx context.Context, worker string, queues []string,
) (catalog.ClaimedRefresh, bool, error) {
	peer := r.c.cfg.Worker
	peer.Name = r.c.name(worker)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(r.c.quiet, cancel)
	defer stop()
	g, err := r.c.askUntil(ctx, execution.RelayClaim{Worker: peer, Queues: queues, Work: true},
		max(r.c.cfg.Wait, time.Second).Truncate(time.Second), stop)
	switch {
	case r.c.quiet.Err() != nil, fault.Is(err, fault.Invalid):
		return catalog.ClaimedRefresh{}, false, nil
	case err != nil || g == nil || g.Work == nil:
		return catalog.ClaimedRefresh{}, false, err
	}
	w := g.Work
	if w.Kind != execution.WorkRefresh || !ids.Valid(ids.Source, w.ID) || g.Capability == "" {
		return catalog.ClaimedRefresh{}, false, unusable("the server's answer to a claim of work cannot be used")
	}
	l := catalog.RefreshLease{SourceID: w.ID, Epoch: w.Epoch, Worker: worker}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held[l] = &refreshClaim{w.Source, g.Secrets, secret.Text(g.Capability)}
	return catalog.ClaimedRefresh{RefreshLease: l, Revision: w.Revision}, true, nil
}

func (r *refreshes) of(l catalog.RefreshLease) (*refreshClaim, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if k := r.held[l]; k != nil {
		return k, nil
	}
	return nil, runs.LeaseLost.New("this worker does not hold the refresh of %s", l.SourceID)
}

func (r *refreshes) end(l catalog.RefreshLease) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.held, l)
}

func (r *refreshes) Prepare(
	ctx context.Context, claimed catalog.ClaimedRefresh, dir string,
) (catalog.Collection, func(), error) {
	none := func() {}
	k, err := r.of(claimed.RefreshLease)
	if err != nil {
		return catalog.Collection{}, none, err
	}
	c := catalog.Collection{Kind: k.source.Kind, Path: k.source.Path, Access: k.secrets.Access(),
		Config: catalog.SourceConfig{Plugin: k.source.Plugin, Content: k.source.Content}}
	if c.Path != "" {
		c.Tree = filepath.Join(dir, "tree")
		err = r.Checkout(ctx, claimed.RefreshLease, c.Tree)
	}
	return c, none, err
}

func (r *refreshes) Checkout(ctx context.Context, l catalog.RefreshLease, dir string) error {
	k, err := r.of(l)
	if err != nil {
		return err
	}
	_, err = r.c.fetchTree(ctx, call{method: http.MethodGet, path: []string{"work", l.SourceID, "project"}, slow: true,
		capability: k.capability}, dir)
	return err
}

// call makes a call about a claimed refresh.
func (r *refreshes) call(ctx context.Context, l catalog.RefreshLease, verb string, body any) error {
	k, err := r.of(l)
	if err != nil {
		return err
	}
	text, err := encode(body)
	if err != nil {
		return err
	}
	err = r.c.server.do(ctx, call{method: http.MethodPost, path: []string{"work", l.SourceID, verb}, body: text,
		capability: k.capability, most: execution.RelayResult}, nil)
	if final(err) {
		r.end(l)
	}
	return err
}

func (r *refreshes) Renew(ctx context.Context, l catalog.RefreshLease) error {
	return r.call(ctx, l, "heartbeat", execution.RelayWorkBeat{})
}

// The server masks the secrets of the refresh in the report.
func (r *refreshes) Report(ctx context.Context, l catalog.RefreshLease, result catalog.RefreshResult) error {
	body := execution.RelayWorkResult{Error: result.Failure}
	if result.Failure == "" {
		body.Content, body.Format = base64.StdEncoding.EncodeToString(result.Content), result.Format
	}
	err := r.call(ctx, l, "result", body)
	r.end(l)
	return err
}

func (r *refreshes) Release(ctx context.Context, l catalog.RefreshLease) error {
	err := r.call(ctx, l, "result", execution.RelayWorkResult{Released: true})
	r.end(l)
	return err
}
