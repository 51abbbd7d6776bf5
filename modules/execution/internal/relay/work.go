package relay

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secret/mask"
)

// lookEvery is how often a claim looks for work without a signal.
const lookEvery = 5 * time.Second

// maxFailure bounds the reason of a failure, in bytes.
const maxFailure = 1000

var _ execution.RelayWorks = (*Relay)(nil)

// awaitWork looks for work until there is some or the worker's wait is over.
func (r *Relay) awaitWork(ctx context.Context, c *execution.RelayClaim) (*execution.Grant, error) {
	select {
	case r.waits <- struct{}{}:
		defer func() { <-r.waits }()
	default:
		return nil, &fault.Error{Kind: fault.Unavailable, Message: "too many workers wait", RetryAfter: time.Second}
	}
	var signals, revoked <-chan string
	if r.Signals != nil { // before the first look, so that no later signal is missed
		refreshes, stop := r.Signals.Watch(events.TopicRefresh)
		defer stop()
		tokens, end := r.Signals.Watch(events.TopicWorker)
		defer end()
		signals, revoked = refreshes, tokens
	}
	w := r.worker(c)
	over, look := time.NewTimer(time.Duration(c.WaitSeconds)*time.Second), time.NewTicker(lookEvery)
	defer over.Stop()
	defer look.Stop()
	for {
		if err := r.mayClaim(ctx, &w); err != nil {
			return nil, err
		}
		if g, again, err := r.nextWork(ctx, w); err != nil || g != nil {
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
		case <-r.waitlist.done():
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// nextWork claims one refresh. again reports that there was one that could not be granted.
func (r *Relay) nextWork(ctx context.Context, w execution.Worker) (g *execution.Grant, again bool, err error) {
	if err := ctx.Err(); err != nil || r.Refreshes == nil {
		return nil, false, err
	}
	bytes := make([]byte, 32)
	_, _ = rand.Read(bytes) // never fails
	capability := base64.RawURLEncoding.EncodeToString(bytes)
	bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTime)
	defer cancel()
	var claimed catalog.ClaimedRefresh
	ok := false
	err = r.Unit.Do(bound, func(ctx context.Context) (err error) {
		claimed, ok, err = r.RefreshQueue.ClaimRefresh(ctx, catalog.RefreshClaim{Worker: w.Name, Queues: w.Queues,
			Hash: hashOf(secret.Text(capability)), TTL: runs.LeaseTTL})
		return err
	})
	if err != nil || !ok {
		return nil, false, err
	}
	l := claimed.RefreshLease
	c, done, err := r.Refreshes.Prepare(bound, claimed, "")
	if err == nil {
		err = r.keepWork(bound, l, c.Access)
	}
	switch {
	case err != nil:
		done()
		r.Log.WarnContext(ctx, "provide the refresh of a source", "source", l.SourceID, "error", err)
		failed := r.Refreshes.Report(bound, l, catalog.RefreshResult{Failure: sentence(err)})
		if runs.LeaseLost.Is(failed) {
			failed = nil
		}
		return nil, failed == nil, failed
	case ctx.Err() != nil:
		done()
		return nil, false, errors.Join(ctx.Err(), r.Refreshes.Release(bound, l))
	}
	r.lend(l, done)
	work := &execution.RelayWork{ID: l.SourceID, Kind: execution.WorkRefresh, Epoch: l.Epoch, Revision: claimed.Revision,
		Source: execution.RelaySource{Kind: c.Kind, Plugin: c.Config.Plugin, Content: c.Config.Content, Path: c.Path}}
	return &execution.Grant{Work: work, Access: c.Access, Capability: secret.Text(capability), Lease: runs.LeaseTTL},
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

// keepWork stores what a worker gets, before it does, to mask its report.
func (r *Relay) keepWork(ctx context.Context, l catalog.RefreshLease, a catalog.Access) error {
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
	sealed, err := r.Sealer.Seal(ctx, catalog.RefreshRecord(l.SourceID), plain)
	if err != nil {
		return fmt.Errorf("seal the secrets of a refresh: %w", err)
	}
	return r.Unit.Do(ctx, func(ctx context.Context) error { return r.RefreshQueue.KeepRefreshSecrets(ctx, l, sealed) })
}

// lend gives back what a credential provided after the life of a refresh, or when give is called.
func (r *Relay) lend(l catalog.RefreshLease, done func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		done()
		return
	}
	r.lent[l] = lent{done, time.AfterFunc(catalog.RefreshLife, func() { r.give(l) })}
}

// lent is what a credential provided for a refresh.
type lent struct {
	done func()
	late *time.Timer
}

func (r *Relay) give(l catalog.RefreshLease) {
	r.mu.Lock()
	x, ok := r.lent[l]
	delete(r.lent, l)
	r.mu.Unlock()
	if ok {
		x.late.Stop()
		x.done()
	}
}

// giveAll gives everything back, when the relay is closed.
func (r *Relay) giveAll() {
	r.mu.Lock()
	var list []catalog.RefreshLease
	for l := range r.lent {
		list = append(list, l)
	}
	r.mu.Unlock()
	for _, l := range list {
		r.give(l)
	}
}

// workLease returns the lease of a holder, and the secrets that mask its report.
func (r *Relay) workLease(ctx context.Context, h execution.Leaseholder) (catalog.RefreshLease, []byte, error) {
	if r.Refreshes == nil {
		return catalog.RefreshLease{}, nil, lost(h.RunID)
	}
	l, sealed, ok, err := r.RefreshQueue.RefreshOf(ctx, hashOf(h.Capability))
	if err != nil {
		return l, nil, err
	}
	if !ok || l.SourceID != h.RunID {
		return l, nil, lost(h.RunID)
	}
	return l, sealed, r.Gate.MayReport(ctx, runs.Lease{RunID: l.SourceID, Worker: l.Worker, Epoch: l.Epoch})
}

func (r *Relay) BeatWork(ctx context.Context, h execution.Leaseholder) (execution.RelayBeat, error) {
	l, _, err := r.workLease(ctx, h)
	if err == nil {
		err = r.Refreshes.Renew(ctx, l)
	}
	return execution.RelayBeat{LeaseSeconds: int(runs.LeaseTTL / time.Second)}, err
}

// The checkout is made for this call and removed when it returns.
func (r *Relay) WorkProject(ctx context.Context, h execution.Leaseholder, open func() (io.Writer, error)) error {
	l, _, err := r.workLease(ctx, h)
	if err != nil {
		return err
	}
	return r.sendTree(ctx, open, l.SourceID, func(dir string) (catalog.Deps, error) {
		return catalog.Deps{}, r.Refreshes.Checkout(ctx, l, dir)
	})
}

func (r *Relay) FinishWork(ctx context.Context, h execution.Leaseholder, w execution.RelayWorkResult) error {
	l, sealed, err := r.workLease(ctx, h)
	if err != nil {
		return err
	}
	if w.Released {
		defer r.give(l)
		return r.Refreshes.Release(ctx, l)
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
	defer r.give(l)
	return r.Refreshes.Report(ctx, l, result)
}

func (r *Relay) workMask(ctx context.Context, l catalog.RefreshLease, sealed []byte) (*mask.Masker, error) {
	plain, err := r.Sealer.Open(ctx, catalog.RefreshRecord(l.SourceID), sealed)
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
		if len(w.Error) > maxFailure || !oneLine(w.Error) || w.Content != "" {
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
