package git

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/writ-automation/writ/platform/egress"
	"github.com/writ-automation/writ/ports/catalog"
)

const (
	lookupTimeout = 10 * time.Second
	maxAddresses  = 8
)

// pin looks up the host and returns its addresses that may be dialed. Git and ssh use these addresses and look up
// nothing.
func (k *Checkouts) pin(ctx context.Context, a address) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	var found []netip.Addr
	if ip, err := netip.ParseAddr(a.host); err == nil {
		found = []netip.Addr{ip}
	} else {
		resolver := cmp.Or(k.cfg.Resolver, net.DefaultResolver)
		if found, err = resolver.LookupNetIP(ctx, "ip", a.host); err != nil {
			return nil, catalog.SyncFailed.New("the host %s cannot be found", a.host).Because(err)
		}
	}
	var out []string
	var refused error
	for _, ip := range found {
		if err := k.cfg.Egress.Check(ip); err != nil {
			refused = err
			continue
		}
		if out = append(out, ip.WithZone("").Unmap().String()); len(out) == maxAddresses {
			break
		}
	}
	switch {
	case len(out) > 0:
		return out, nil
	case errors.Is(refused, egress.ErrRefused):
		return nil, catalog.SyncFailed.New("the address of the host %s is not allowed", a.host).Because(refused)
	default:
		return nil, catalog.SyncFailed.New("the host %s has no address", a.host)
	}
}

// local finds the repository of a file address, at the path itself or in its .git. Links and borrowed objects must not
// lead out of the folder for local projects.
func (k *Checkouts) local(a address) (address, error) {
	root, err := filepath.EvalSymlinks(k.cfg.LocalRoot)
	if err != nil {
		return a, catalog.SyncFailed.New("the folder for local projects cannot be read").Because(err)
	}
	inside := func(path string) (string, bool) {
		real, err := filepath.EvalSymlinks(path)
		return real, err == nil && below(root, real)
	}
	dir, ok := inside(a.path)
	if !ok {
		return a, catalog.SyncFailed.New("there is no repository at this path below the folder for local projects")
	}
	if fi, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
		if !fi.IsDir() {
			return a, catalog.SyncFailed.New("the repository is a link to another one, which is not followed")
		}
		dir = filepath.Join(dir, ".git")
	}
	for _, name := range []string{"objects", "objects/pack", "refs"} {
		if _, ok := inside(filepath.Join(dir, name)); !ok {
			return a, catalog.SyncFailed.New("there is no repository at this path below the folder for local projects")
		}
	}
	if fi, err := os.Stat(dir); err != nil || !ownedByUs(fi) {
		return a, catalog.SyncFailed.New("the repository belongs to another user than the server's")
	}
	if _, err := os.Lstat(filepath.Join(dir, "commondir")); err == nil {
		return a, catalog.SyncFailed.New("the repository is a link to another one, which is not followed")
	}
	alternates, err := os.ReadFile(filepath.Join(dir, "objects", "info", "alternates"))
	if err == nil && strings.TrimSpace(string(alternates)) != "" {
		return a, catalog.SyncFailed.New("the repository borrows its objects from another one, which is not followed")
	}
	a.path = dir
	return a, nil
}

// ownedByUs reports whether a file belongs to the user of this process.
func ownedByUs(fi fs.FileInfo) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}
