package source

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/writ-automation/writ/modules/catalog/internal/check"
	"github.com/writ-automation/writ/modules/catalog/internal/inventories"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/reserved"
	"github.com/writ-automation/writ/ports/tx"
)

// outcome is the result of a refresh.
type outcome struct {
	source    catalog.InventorySource
	failure   string // empty after a success
	code      fault.Code
	dropped   []string // the reserved names that the content had
	inventory catalog.Inventory
	changed   bool

	// Of a refresh by an executor: its round, that it was done, that no executor holds it, that somebody else ended it.
	round              int64
	done, unheld, over bool
}

func (e *outcome) err() error {
	if e.failure == "" {
		return nil
	}
	return e.code.New("%s", e.failure)
}

// errOver rolls a unit of work back: somebody else has stored the result.
var errOver = errors.New("the refresh is over")

// changed is the failure of a refresh whose source is not the one any more that was asked for.
const changed = "the source was changed while it was refreshed"

func errChanged() error { return catalog.RefreshFailed.New(changed) }

// refresh collects the inventory of a source and stores the result. An error means that the state of the source is
// unknown.
func (r *Refresher) refresh(ctx context.Context, id string, asked bool) (outcome, error) {
	src, err := r.Sources.SourceByID(ctx, id)
	if err != nil {
		return outcome{}, err
	}
	limit := collectTime
	if src.Kind.Executed() {
		limit = catalog.RefreshLife
	}
	bound, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	end := outcome{source: src, code: catalog.RefreshFailed}
	leave, err := r.lockInventory(bound, src.InventoryID)
	if err == nil {
		defer leave()
		if src.Kind.Executed() {
			err = r.await(bound, &end)
		} else {
			end.inventory, end.dropped, err = r.collect(bound, src)
		}
	}
	switch {
	case r.ctx.Err() != nil:
		return outcome{}, errStopped()
	case catalog.NoExecutor.Is(err):
		end.code = catalog.NoExecutor
	}
	if err != nil {
		end.failure = reason(bound, r.Log, src.ID, err)
	}
	end.inventory.ID = src.InventoryID
	return end, r.store(ctx, &end, asked)
}

// collect fetches and measures the inventory of a source. Unless an admin trusts the source, its inventory is data.
func (r *Refresher) collect(
	ctx context.Context, src catalog.InventorySource,
) (got catalog.Inventory, dropped []string, err error) {
	dir := ""
	if src.ProjectID != "" {
		if dir, err = temporary(r.TempDir); err != nil {
			return catalog.Inventory{}, nil, err
		}
		defer remove(ctx, r.Log, dir)
	}
	c, done, err := r.prepare(ctx, src, dir)
	defer done()
	if err != nil {
		return catalog.Inventory{}, nil, err
	}
	if got.Content, got.Format, err = r.Collector.Collect(ctx, c); err != nil {
		return catalog.Inventory{}, nil, err
	}
	return measured(src, got)
}

// prepare returns what is to be collected, with a checkout below a directory. done, which is never nil, gives back what
// the credential provided.
func (r *Refresher) prepare(
	ctx context.Context, src catalog.InventorySource, dir string,
) (c catalog.Collection, done func(), err error) {
	c, done = catalog.Collection{Kind: src.Kind, Config: src.Config, Path: src.Path}, func() {}
	if src.ProjectID != "" && dir != "" {
		c.Tree = filepath.Join(dir, treeName)
		if err = r.tree(ctx, src.ProjectID, c.Tree); err != nil {
			return c, done, err
		}
	}
	if src.CredentialID != "" {
		if c.Access, done, err = r.access(ctx, src); err != nil {
			return c, func() {}, err
		}
	}
	c.Config.Headers, err = openHeaders(ctx, r.Sealer, src)
	return c, done, err
}

// measured measures the inventory of a source.
func measured(
	src catalog.InventorySource, got catalog.Inventory,
) (_ catalog.Inventory, dropped []string, err error) {
	if src.Trusted {
		err = inventories.Measure(&got)
	} else {
		dropped, err = inventories.MeasureUntrusted(&got)
	}
	if err != nil {
		return catalog.Inventory{}, nil, notInventory(err)
	}
	return got, dropped, nil
}

// access returns the Access of the source's credential for one refresh. The caller calls done to release it; on error
// there is nothing to release and done is nil.
func (r *Refresher) access(ctx context.Context, src catalog.InventorySource) (catalog.Access, func(), error) {
	const message = "the source's credential cannot be used"
	if r.Logins == nil {
		return catalog.Access{}, nil, catalog.RefreshFailed.New(message)
	}
	a, done, err := r.Logins.Access(ctx, src.ID, src.CredentialID)
	if err != nil {
		done()
		return catalog.Access{}, nil, catalog.RefreshFailed.New("%s", check.Message(err, message)).Because(err)
	}
	return a, done, nil
}

// notInventory returns the error for a response that is not an inventory.
func notInventory(err error) error {
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != fault.Invalid {
		return err
	}
	return catalog.RefreshFailed.New("what the source says is no inventory: %s", f.Message)
}

const treeName = "tree"

// tree creates a work tree of a project at its current commit.
func (r *Refresher) tree(ctx context.Context, projectID, dir string) error {
	p, err := r.Projects.ProjectByID(ctx, projectID)
	if err != nil {
		return err
	}
	commit, _, err := r.Mirror.Pin(ctx, projectID, false)
	if err != nil {
		return err
	}
	_, err = r.Mirror.Tree(ctx, p, commit, dir, false)
	return err
}

// reason returns one sentence with the reason of a failed refresh.
func reason(ctx context.Context, log *slog.Logger, id string, err error) string {
	var f *fault.Error
	switch {
	case errors.As(err, &f) && f.Kind != fault.Internal && f.Message != "":
		return f.Message
	case ctx.Err() != nil:
		return "the source did not answer in time"
	default:
		log.WarnContext(ctx, "an inventory source could not be refreshed", "source", id, "err", err)
		return "the source could not be read"
	}
}

// store stores the inventory, the result of the refresh and the audit entry in one unit of work. Without a request, it
// records an entry only if the inventory changed.
func (r *Refresher) store(ctx context.Context, end *outcome, asked bool) error {
	ctx, cancel := context.WithTimeout(ctx, noteTime)
	defer cancel()
	at, message := r.Clock.Now(), end.failure
	err := errOver
	if !end.over {
		err = r.Unit.Do(tx.Alone(ctx), func(ctx context.Context) error {
			return r.storeNow(ctx, end, message, at, asked)
		})
	}
	if !errors.Is(err, errOver) {
		return err
	}
	if err := r.settle(ctx, end); err != nil || !asked {
		return err
	}
	return r.Unit.Do(ctx, func(ctx context.Context) error { return r.note(ctx, *end) })
}

// storeNow is store in the open unit of work. It returns errOver if somebody else has stored the result.
func (r *Refresher) storeNow(ctx context.Context, end *outcome, failure string, at time.Time, asked bool) error {
	now, err := r.Sources.SourceByID(ctx, end.source.ID)
	if err != nil {
		return err
	}
	if now.Revision != end.source.Revision {
		failure = changed
	}
	if mine, err := r.claimed(ctx, end); err != nil || !mine {
		return cmp.Or(err, errOver)
	}
	// Like an update, write the source before its inventory, so that units do not deadlock.
	if err := r.Sources.NoteRefresh(ctx, end.source.ID, failure, reserved.Paths(end.dropped), at); err != nil {
		return err
	}
	filled := false
	if failure == "" {
		end.inventory.UpdatedAt = at
		if filled, err = r.fill(ctx, end.source.ID, end.inventory, at); err != nil {
			return err
		}
	}
	end.failure, end.changed = failure, filled
	if !asked && !filled {
		return nil
	}
	return r.note(ctx, *end)
}

// fill replaces the content of an inventory if it differs.
func (r *Refresher) fill(
	ctx context.Context, sourceID string, got catalog.Inventory, at time.Time,
) (changed bool, err error) {
	was, err := r.Inventories.InventoryByID(ctx, got.ID)
	if err != nil || was.Digest == got.Digest && was.Format == got.Format {
		return false, err
	}
	v := catalog.InventoryVersion{At: at, By: actor.From(ctx), How: catalog.Refreshed, SourceID: sourceID}
	return true, r.Inventories.Change(ctx, was, v,
		func() error { return r.Inventories.FillInventory(ctx, got) })
}

// note records a refresh in the open unit of work.
func (r *Refresher) note(ctx context.Context, end outcome) error {
	d := object.Detail{"inventory_id": end.source.InventoryID}
	if end.failure == "" {
		d["changed"], d["hosts"], d["groups"] = end.changed, end.inventory.Hosts, end.inventory.Groups
		d.Set("digest", end.inventory.Digest).Set("dropped", reserved.Paths(end.dropped))
	}
	e := object.Entry(audit.SourceRefresh, end.source.Record, d)
	if end.failure != "" {
		e.Outcome = audit.Failure
	}
	return r.Recorder.Record(ctx, e)
}
