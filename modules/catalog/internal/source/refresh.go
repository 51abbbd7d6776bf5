package source

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/writ-automation/writ/modules/catalog/internal/check"
	"github.com/writ-automation/writ/modules/catalog/internal/inventories"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/reserved"
)

// outcome is the result of a refresh.
type outcome struct {
	source    catalog.InventorySource
	failure   string   // empty after a success
	dropped   []string // the reserved names that the content had
	inventory catalog.Inventory
	changed   bool
}

func (e *outcome) err() error {
	if e.failure == "" {
		return nil
	}
	return catalog.RefreshFailed.New("%s", e.failure)
}

// refresh collects the inventory of a source and stores the result. An error means that the state of the source is
// unknown.
func (r *Refresher) refresh(ctx context.Context, id string, asked bool) (outcome, error) {
	src, err := r.Sources.SourceByID(ctx, id)
	if err != nil {
		return outcome{}, err
	}
	bound, cancel := context.WithTimeout(ctx, collectTime)
	defer cancel()
	end := outcome{source: src}
	leave, err := r.lockInventory(bound, src.InventoryID)
	if err == nil {
		defer leave()
		end.inventory, end.dropped, err = r.collect(bound, src)
	}
	switch {
	case r.ctx.Err() != nil:
		return outcome{}, errStopped()
	case err != nil:
		end.failure = r.reason(bound, src, err)
	}
	end.inventory.ID = src.InventoryID
	return end, r.store(ctx, &end, asked)
}

// collect fetches and measures the inventory of a source. Unless an admin trusts the source, its inventory is data.
func (r *Refresher) collect(
	ctx context.Context, src catalog.InventorySource,
) (got catalog.Inventory, dropped []string, err error) {
	c := catalog.Collection{Kind: src.Kind, Config: src.Config, Path: src.Path}
	if src.ProjectID != "" {
		dir, err := r.tree(ctx, src.ProjectID)
		if dir != "" {
			defer r.remove(ctx, dir)
		}
		if err != nil {
			return catalog.Inventory{}, nil, err
		}
		c.Tree = filepath.Join(dir, treeName)
	}
	if src.CredentialID != "" {
		var done func()
		if c.Access, done, err = r.access(ctx, src); err != nil {
			return catalog.Inventory{}, nil, err
		}
		defer done()
	}
	if c.Config.Headers, err = openHeaders(ctx, r.Sealer, src); err != nil {
		return catalog.Inventory{}, nil, err
	}
	if got.Content, got.Format, err = r.Collector.Collect(ctx, c); err != nil {
		return catalog.Inventory{}, nil, err
	}
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

// tree creates a work tree of a project at its current commit and returns the temporary directory that contains it.
func (r *Refresher) tree(ctx context.Context, projectID string) (string, error) {
	p, err := r.Projects.ProjectByID(ctx, projectID)
	if err != nil {
		return "", err
	}
	commit, _, err := r.Mirror.Pin(ctx, projectID, false)
	if err != nil {
		return "", err
	}
	if r.TempDir != "" {
		if err := os.MkdirAll(r.TempDir, 0o700); err != nil {
			return "", fmt.Errorf("make the directory of work trees: %w", err)
		}
	}
	dir, err := os.MkdirTemp(r.TempDir, "source-")
	if err != nil {
		return "", fmt.Errorf("make a directory for a work tree: %w", err)
	}
	_, err = r.Mirror.Tree(ctx, p, commit, filepath.Join(dir, treeName), false)
	return dir, err
}

func (r *Refresher) remove(ctx context.Context, dir string) {
	if err := os.RemoveAll(dir); err != nil {
		r.Log.WarnContext(ctx, "the work tree of a refresh was not removed", "err", err)
	}
}

// reason returns one sentence with the reason of a failed refresh.
func (r *Refresher) reason(ctx context.Context, src catalog.InventorySource, err error) string {
	var f *fault.Error
	switch {
	case errors.As(err, &f) && f.Kind != fault.Internal && f.Message != "":
		return f.Message
	case ctx.Err() != nil:
		return fmt.Sprintf("the source did not answer within %d seconds", int(collectTime.Seconds()))
	default:
		r.Log.WarnContext(ctx, "an inventory source could not be refreshed", "source", src.ID, "err", err)
		return "the source could not be read"
	}
}

// store stores the inventory, the result of the refresh and the audit entry in one unit of work. Without a request, it
// records an entry only if the inventory changed.
func (r *Refresher) store(ctx context.Context, end *outcome, asked bool) error {
	ctx, cancel := context.WithTimeout(ctx, noteTime)
	defer cancel()
	at, message := r.Clock.Now(), end.failure
	return r.Unit.Do(ctx, func(ctx context.Context) error {
		now, err := r.Sources.SourceByID(ctx, end.source.ID)
		if err != nil {
			return err
		}
		failure := message
		if now.Revision != end.source.Revision {
			failure = "the source was changed while it was refreshed"
		}
		// Like an update, write the source before its inventory, so that units do not deadlock.
		if err := r.Sources.NoteRefresh(ctx, end.source.ID, failure, reserved.Paths(end.dropped), at); err != nil {
			return err
		}
		changed := false
		if failure == "" {
			if changed, err = r.fill(ctx, end.inventory); err != nil {
				return err
			}
		}
		end.failure, end.changed = failure, changed
		if !asked && !changed {
			return nil
		}
		return r.note(ctx, *end)
	})
}

// fill replaces the content of an inventory if it differs.
func (r *Refresher) fill(ctx context.Context, got catalog.Inventory) (changed bool, err error) {
	was, err := r.Inventories.InventoryByID(ctx, got.ID)
	if err != nil || was.Digest == got.Digest && was.Format == got.Format {
		return false, err
	}
	return true, r.Inventories.FillInventory(ctx, got)
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
