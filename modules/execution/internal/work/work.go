// Package work hands work beside runs to workers over a relay: the refreshes of inventory sources that run programs.
package work

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/writ-automation/writ/modules/execution/internal/archive"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secret/mask"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/tx"
)

const (
	// lookEvery is how often a claim looks for work without a signal.
	lookEvery = 5 * time.Second
	// callTime bounds the calls to the database and for secrets, in addition to the worker's wait.
	callTime = 30 * time.Second
	// maxFailure bounds the reason of a failure, in bytes.
	maxFailure = 4 << 10
	// maxWaiting is how many claims wait at once, and maxTrees how many work trees are sent at once.
	maxWaiting, maxTrees = 4096, 8
)

// Gate decides for the worker that calls, by ctx; see the relay.
type Gate interface {
	MayClaim(ctx context.Context, name string, queues []string) error
	MayReport(ctx context.Context, l runs.Lease) error
}

// Deps are the dependencies. Signals may be nil, and so may Refreshes with Queue: there is no work then.
type Deps struct {
	Gate      Gate
	Refreshes catalog.Refreshes
	Queue     catalog.RefreshQueue
	Sealer    secrets.Sealer
	Signals   events.Signals
	Unit      tx.Unit
	Log       *slog.Logger
	// ScratchDir is the parent of work trees, absolute.
	ScratchDir string
}

// Works implements execution.RelayWorks and the claims of work. It is safe for concurrent use.
type Works struct {
	deps   Deps
	trees  chan struct{}   // a token for each work tree
	waits  chan struct{}   // a token for each claim that waits
	closed context.Context //nolint:containedctx // ends the waits
	close  context.CancelFunc

	mu       sync.Mutex
	accesses map[catalog.RefreshLease]heldAccess
}

var _ execution.RelayWorks = (*Works)(nil)

// New makes Works. It starts nothing before the first claim.
func New(d Deps) *Works {
	w := &Works{deps: d, trees: make(chan struct{}, maxTrees), waits: make(chan struct{}, maxWaiting),
		accesses: make(map[catalog.RefreshLease]heldAccess)}
	w.closed, w.close = context.WithCancel(context.Background())
	return w
}

// Close ends every wait for work, and gives back what credentials provided.
func (r *Works) Close() {
	r.close()
	r.endAccesses()
}

// Claim looks for work until there is some or the worker's wait is over. It returns nil if there was none.
func (r *Works) Claim(ctx context.Context, c *execution.RelayClaim) (*execution.Grant, error) {
	select {
	case r.waits <- struct{}{}:
		defer func() { <-r.waits }()
	default:
		return nil, &fault.Error{Kind: fault.Unavailable, Message: "too many workers wait", RetryAfter: time.Second}
	}
	var signals, revoked <-chan string
	if r.deps.Signals != nil { // before the first look, so that no later signal is missed
		refreshes, stop := r.deps.Signals.Watch(events.TopicRefresh)
		defer stop()
		tokens, end := r.deps.Signals.Watch(events.TopicWorker)
		defer end()
		signals, revoked = refreshes, tokens
	}
	over, look := time.NewTimer(time.Duration(c.WaitSeconds)*time.Second), time.NewTicker(lookEvery)
	defer over.Stop()
	defer look.Stop()
	for {
		if err := r.deps.Gate.MayClaim(ctx, c.Worker.Name, c.Queues); err != nil {
			return nil, err
		}
		if g, again, err := r.next(ctx, c); err != nil || g != nil {
			return g, err
		} else if again {
			continue
		}
		select {
		case <-signals:
		case <-revoked:
		case <-look.C:
		case <-over.C:
			return nil, nil
		case <-r.closed.Done():
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// next claims one refresh. again reports that there was one that could not be granted.
func (r *Works) next(ctx context.Context, c *execution.RelayClaim) (g *execution.Grant, again bool, err error) {
	if err := cmp.Or(ctx.Err(), r.closed.Err()); err != nil || r.deps.Refreshes == nil {
		return nil, false, err
	}
	bytes := make([]byte, 32)
	_, _ = rand.Read(bytes) // never fails
	capability := base64.RawURLEncoding.EncodeToString(bytes)
	bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTime)
	defer cancel()
	queues := c.Queues
	if len(queues) == 0 {
		queues = []string{runs.DefaultQueue}
	}
	var claimed catalog.ClaimedRefresh
	ok := false
	err = r.deps.Unit.Do(bound, func(ctx context.Context) (err error) {
		claimed, ok, err = r.deps.Queue.ClaimRefresh(ctx, catalog.RefreshClaim{
			Worker: execution.RelayPrefix + c.Worker.Name, Queues: queues, Hash: hashOf(secret.Text(capability)),
			TTL: runs.LeaseTTL})
		return err
	})
	if err != nil || !ok {
		return nil, false, err
	}
	l := claimed.RefreshLease
	found, done, err := r.deps.Refreshes.Prepare(bound, claimed, "")
	if err == nil {
		err = r.keepSecrets(bound, l, found.Access)
	}
	switch {
	case err != nil:
		done()
		r.deps.Log.WarnContext(ctx, "provide the refresh of a source", "source", l.SourceID, "error", err)
		failed := r.deps.Refreshes.Report(bound, l, catalog.RefreshResult{Failure: sentence(err)})
		if runs.LeaseLost.Is(failed) {
			failed = nil
		}
		return nil, failed == nil, failed
	case ctx.Err() != nil:
		done()
		return nil, false, errors.Join(ctx.Err(), r.deps.Refreshes.Release(bound, l))
	}
	r.holdAccess(l, done)
	work := &execution.RelayWork{ID: l.SourceID, Kind: execution.WorkRefresh, Epoch: l.Epoch, Revision: claimed.Revision,
		Source: execution.RelaySource{Kind: found.Kind, Plugin: found.Config.Plugin, Content: found.Config.Content,
			Path: found.Path}}
	return &execution.Grant{Work: work, Access: found.Access, Capability: secret.Text(capability), Lease: runs.LeaseTTL},
		false, nil
}

// sentence returns the reason of a failed refresh: the text of a fault, since its cause is only for the log.
func sentence(err error) string {
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind == fault.Internal || f.Message == "" {
		return "the source could not be read"
	}
	return f.Message
}

func hashOf(capability secret.Text) []byte {
	sum := sha256.Sum256([]byte(capability.Reveal()))
	return sum[:]
}

// keepSecrets stores what a worker gets, before it does, to mask its report.
func (r *Works) keepSecrets(ctx context.Context, l catalog.RefreshLease, a catalog.Access) error {
	var list []string
	for _, s := range a.Secrets() {
		list = append(list, strings.Split(s.Reveal(), "\x00")...) // between the parts are marks of files
	}
	list = slices.DeleteFunc(list, func(s string) bool { return len(s) < mask.MinLen })
	if len(list) == 0 {
		return nil
	}
	plain, err := json.Marshal(list)
	if err != nil {
		return errors.New("the secrets of a refresh have no form in JSON")
	}
	defer clear(plain)
	sealed, err := r.deps.Sealer.Seal(ctx, catalog.RefreshRecord(l.SourceID), plain)
	if err != nil {
		return fmt.Errorf("seal the secrets of a refresh: %w", err)
	}
	return r.deps.Unit.Do(ctx, func(ctx context.Context) error { return r.deps.Queue.KeepRefreshSecrets(ctx, l, sealed) })
}

// holdAccess gives back what a credential provided after the life of a refresh, or when endAccess is called.
func (r *Works) holdAccess(l catalog.RefreshLease, done func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed.Err() != nil {
		done()
		return
	}
	r.accesses[l] = heldAccess{done, time.AfterFunc(catalog.RefreshLife, func() { r.endAccess(l) })}
}

// heldAccess is what a credential provided for a refresh.
type heldAccess struct {
	done func()
	late *time.Timer
}

func (r *Works) endAccess(l catalog.RefreshLease) {
	r.mu.Lock()
	x, ok := r.accesses[l]
	delete(r.accesses, l)
	r.mu.Unlock()
	if ok {
		x.late.Stop()
		x.done()
	}
}

// endAccesses gives everything back.
func (r *Works) endAccesses() {
	r.mu.Lock()
	var list []catalog.RefreshLease
	for l := range r.accesses {
		list = append(list, l)
	}
	r.mu.Unlock()
	for _, l := range list {
		r.endAccess(l)
	}
}

// workLease returns the lease of a holder, and the secrets that mask its report.
func (r *Works) workLease(ctx context.Context, h execution.Leaseholder) (catalog.RefreshLease, []byte, error) {
	if r.deps.Refreshes == nil {
		return catalog.RefreshLease{}, nil, lost(h.RunID)
	}
	l, sealed, ok, err := r.deps.Queue.RefreshOf(ctx, hashOf(h.Capability))
	if err != nil {
		return l, nil, err
	}
	if !ok || l.SourceID != h.RunID {
		return l, nil, lost(h.RunID)
	}
	return l, sealed, r.deps.Gate.MayReport(ctx, runs.Lease{RunID: l.SourceID, Worker: l.Worker, Epoch: l.Epoch})
}

func (r *Works) BeatWork(ctx context.Context, h execution.Leaseholder) (execution.RelayBeat, error) {
	l, _, err := r.workLease(ctx, h)
	if err == nil {
		err = r.deps.Refreshes.Renew(ctx, l)
	}
	return execution.RelayBeat{LeaseSeconds: int(runs.LeaseTTL / time.Second)}, err
}

// The checkout is made for this call and removed when it returns.
func (r *Works) WorkProject(
	ctx context.Context, h execution.Leaseholder, open func() (io.Writer, error),
) (err error) {
	l, _, err := r.workLease(ctx, h)
	if err != nil {
		return err
	}
	select {
	case r.trees <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-r.trees }()
	dir, err := archive.Scratch(r.deps.ScratchDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	project := filepath.Join(dir, "project")
	if err := r.deps.Refreshes.Checkout(ctx, l, project); err != nil {
		return fmt.Errorf("check the project out: %w", err)
	}
	out, err := open()
	if err != nil {
		return err
	}
	left, err := archive.Write(ctx, out, []archive.Part{{Name: "project", Dir: project}})
	if left > 0 {
		r.deps.Log.WarnContext(ctx, "some links of a project lead elsewhere and were not sent", "source", l.SourceID,
			"left out", left)
	}
	return err
}

func (r *Works) FinishWork(ctx context.Context, h execution.Leaseholder, w execution.RelayWorkResult) error {
	l, sealed, err := r.workLease(ctx, h)
	if err != nil {
		return err
	}
	if w.Released {
		defer r.endAccess(l)
		return r.deps.Refreshes.Release(ctx, l)
	}
	result, err := workResult(&w)
	if err != nil {
		return err
	}
	if sealed != nil {
		masker, err := r.workMask(ctx, l, sealed)
		if err != nil {
			return err
		}
		result.Failure = masker.String(result.Failure)
		result.Content = []byte(masker.String(string(result.Content)))
	}
	defer r.endAccess(l)
	return r.deps.Refreshes.Report(ctx, l, result)
}

func (r *Works) workMask(ctx context.Context, l catalog.RefreshLease, sealed []byte) (*mask.Masker, error) {
	plain, err := r.deps.Sealer.Open(ctx, catalog.RefreshRecord(l.SourceID), sealed)
	if err != nil {
		return nil, fmt.Errorf("open the secrets of a refresh: %w", err)
	}
	defer clear(plain)
	var list []string
	if json.Unmarshal(plain, &list) != nil {
		return nil, errors.New("the secrets of a refresh are not in their form")
	}
	return mask.New(list), nil
}

// workResult validates a result.
func workResult(w *execution.RelayWorkResult) (out catalog.RefreshResult, err error) {
	out.Failure, out.Format = w.Error, w.Format
	if w.Error != "" {
		if len(w.Error) > maxFailure || strings.ContainsAny(w.Error, "\x00\r\n") || w.Content != "" {
			return out, fault.BadField("error", "expected a line of at most %d bytes, without a content", maxFailure)
		}
		return catalog.RefreshResult{Failure: w.Error}, nil
	}
	if !slices.Contains([]catalog.Format{catalog.INI, catalog.YAML, catalog.JSON}, w.Format) {
		return out, fault.BadField("format", "has to be ini, yaml or json")
	}
	if out.Content, err = base64.StdEncoding.Strict().DecodeString(w.Content); err != nil {
		return out, fault.BadField("content", "is no base64")
	}
	if len(out.Content) > catalog.MaxInventory {
		return out, fault.BadField("content", "has more than %d bytes", catalog.MaxInventory)
	}
	return out, nil
}

func lost(id string) error { return runs.LeaseLost.New("the lease on the work %.64q is over", id) }
