package relayclient

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// stallTime is how long an archive may deliver no data.
const stallTime = 2 * time.Minute

var errStalled = errors.New("nothing came for too long")

// Inventory returns an inventory by way of a run that this worker holds and that names it. The server decides by that
// run whether it must be fresh: it queries the sources for every run except a shard. LeaseLost reports that no such
// run is held any more.
func (c *Client) Inventory(
	ctx context.Context, id string, fresh bool,
) (catalog.InventoryText, []runs.Warning, error) {
	var in execution.RelayInventory
	names := func(e *entry) bool { return e.inventory == id && (e.kind == runs.Shard) != fresh }
	err := c.through(names, func(k claim) error {
		what := get(k.run, "inventory")
		what.slow, what.limit = true, largeAnswer
		return c.reportBy(ctx, k, what, &in)
	})
	switch {
	case err != nil:
		return catalog.InventoryText{}, nil, err
	case in.Format == "" || len(in.Format) > 16 || strings.Trim(in.Format, "abcdefghijklmnopqrstuvwxyz0123456789") != "":
		// The format becomes the extension of a file.
		return catalog.InventoryText{}, nil, unusable("the server gave an inventory in a format without a name")
	}
	return catalog.InventoryText{
		Content: in.Content, Format: catalog.Format(in.Format), KnownHosts: in.KnownHosts, HostKeyPolicy: in.HostKeyPolicy,
	}, in.Warnings, nil
}

// Tree unpacks a project by way of a run that this worker holds and that names the project and the commit. The
// requirements of the project are written next to dir, into directories named dir.roles and dir.collections, which
// must not exist either; the caller that removes dir removes them too. Those that the server leaves to workers are
// installed, in directories that stay. After a fault it leaves nothing there.
// SyncFailed is also the fault of an archive with entries that a work tree must not have. LeaseLost reports that no
// such run is held any more.
func (c *Client) Tree(ctx context.Context, projectID, commit, dir string) (catalog.Deps, error) {
	var deps catalog.Deps
	names := func(e *entry) bool { return e.project == projectID && e.commit == commit }
	err := c.through(names, func(k claim) (err error) {
		deps, err = c.fetch(ctx, k, dir)
		return err
	})
	if err != nil {
		return catalog.Deps{}, err
	}
	return deps, nil
}

// through tries the matching claims, the newest first, until one is not lost.
func (c *Client) through(names func(e *entry) bool, try func(k claim) error) error {
	for _, k := range c.claims.matching(names) {
		if err := try(k); !runs.LeaseLost.Is(err) {
			return err
		}
	}
	return runs.LeaseLost.New("this worker holds no run any more that names it")
}

// fetch unpacks the project of a run.
func (c *Client) fetch(ctx context.Context, k claim, dir string) (catalog.Deps, error) {
	what := get(k.run, "project")
	what.slow, what.capability = true, k.capability
	deps, err := c.fetchTree(ctx, what, dir)
	if runs.LeaseLost.Is(err) {
		c.claims.end(k.key())
	}
	wanted := c.claims.requirements(k.key())
	if err != nil || wanted == nil {
		return deps, err
	}
	if c.cfg.Installer == nil {
		err = catalog.SyncFailed.New("this worker does not install requirements")
	} else {
		deps, err = c.cfg.Installer.Install(ctx, wanted.Repository(k.project), dir)
	}
	if err != nil {
		return catalog.Deps{}, errors.Join(err, os.RemoveAll(dir))
	}
	return deps, nil
}

// fetchTree unpacks an archive of the server.
func (c *Client) fetchTree(ctx context.Context, what call, dir string) (catalog.Deps, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	resp, err := c.server.send(ctx, what)
	if err != nil {
		return catalog.Deps{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK || media(resp) != "application/x-tar" {
		return catalog.Deps{}, unusable("what answered (HTTP %d) is not the relay of a server", resp.StatusCode)
	}
	stall := time.AfterFunc(stallTime, func() { cancel(errStalled) })
	defer stall.Stop()
	deps, err := unpack(ctx, &steady{r: resp.Body, stall: stall}, dir, defaultBounds())
	if err != nil && errors.Is(context.Cause(ctx), errStalled) {
		return catalog.Deps{}, fault.Wrap(fault.Unavailable, errStalled, "the project's archive broke off")
	}
	return deps, err
}

// steady is a reader whose deadline is extended by every read.
type steady struct {
	r     io.Reader
	stall *time.Timer
}

func (s *steady) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if n > 0 {
		s.stall.Reset(stallTime)
	}
	return n, err
}
