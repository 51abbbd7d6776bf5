package catalog_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
)

// guard decides with a table of levels.
type guard struct {
	mu     sync.Mutex
	base   access.Level            // of objects without their own level
	levels map[string]access.Level // by object
	orgs   map[string]bool         // by organization, empty for none; nil allows everything
	admin  bool                    // reads objects without grants
	fails  error
}

func newGuard() *guard {
	return &guard{base: access.Manage, levels: map[string]access.Level{}, admin: true}
}

// become sets the caller's level for all objects, and other levels for some objects.
func (g *guard) become(base access.Level, levels map[string]access.Level, orgs ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.base, g.levels, g.admin, g.orgs = base, levels, false, map[string]bool{}
	for _, org := range orgs {
		g.orgs[org] = true
	}
}

// admins makes the caller an admin again.
func (g *guard) admins() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.base, g.levels, g.admin, g.orgs = access.Manage, nil, true, nil
}

func (g *guard) May(_ context.Context, want access.Level, list ...string) (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, o := range list {
		level, ok := g.levels[o]
		if !ok {
			level = g.base
		}
		if o != "" && (!level.Covers(want) || identity.KindOf(o) == "" && !g.admin) {
			return false, g.fails
		}
	}
	return true, g.fails
}

func (g *guard) MayWrite(_ context.Context, _, org string) (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.orgs == nil || g.orgs[org], g.fails
}

func (g *guard) Scope(context.Context) (access.Scope, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return access.Scope{All: g.admin, Strict: g.base == access.None, Subjects: []string{"user:usr_1"}}, g.fails
}

// checkouts is a catalog.Checkouts, and the catalog.Histories of it, with configured results.
type checkouts struct {
	mu       sync.Mutex
	commit   string
	fails    error
	fetched  []catalog.Repository
	trees    []string // the requested trees
	forgot   []string
	searched int // for hints
	now      int
	most     int           // maximum of concurrent fetches
	gate     chan struct{} // a fetch waits until it is closed
	arrivals chan struct{} // receives at the start of every fetch
}

const (
	firstCommit  = "1111111111111111111111111111111111111111"
	secondCommit = "2222222222222222222222222222222222222222"
)

func newCheckouts() *checkouts { return &checkouts{commit: firstCommit} }

func (c *checkouts) set(commit string, fails error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.commit, c.fails = commit, fails
}

func (c *checkouts) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.fetched)
}

// block makes fetches wait until free is called; begun receives at the start of each fetch.
func (c *checkouts) block() (begun <-chan struct{}, free func()) {
	gate, arrivals := make(chan struct{}), make(chan struct{}, 100)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gate, c.arrivals = gate, arrivals
	return arrivals, sync.OnceFunc(func() { close(gate) })
}

func (c *checkouts) Check(url, _ string) error {
	if url == "" {
		return fault.BadField("repo_url", "is required")
	}
	return nil
}

func (c *checkouts) Fetch(ctx context.Context, r catalog.Repository) (string, error) {
	c.mu.Lock()
	c.fetched = append(c.fetched, r)
	c.now++
	c.most = max(c.most, c.now)
	gate, arrivals := c.gate, c.arrivals
	c.mu.Unlock()
	defer func() { c.mu.Lock(); c.now--; c.mu.Unlock() }()
	if gate != nil {
		arrivals <- struct{}{}
		select {
		case <-gate:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.commit, c.fails
}

func (c *checkouts) Tree(
	_ context.Context, r catalog.Repository, commit, dir string, install bool,
) (catalog.Deps, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	tree := r.ProjectID + " " + commit
	deps := catalog.Deps{}
	if install {
		deps.Roles = "/roles"
	}
	c.trees = append(c.trees, tree)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return catalog.Deps{}, err
	}
	return deps, os.WriteFile(filepath.Join(dir, "hosts.ini"), []byte("from-the-tree\n"), 0o600)
}

func (c *checkouts) Files(
	_ context.Context, _ catalog.Repository, commit, path, ref string,
) ([]catalog.Entry, string, error) {
	return []catalog.Entry{{Path: path + ref, Type: catalog.FileEntry}}, commit, nil
}

func (c *checkouts) File(_ context.Context, _ catalog.Repository, commit, path, _ string) ([]byte, string, error) {
	return []byte(path), commit, nil
}

func (c *checkouts) Commits(
	_ context.Context, _ catalog.Repository, commit, from, to string,
) (catalog.CommitLog, error) {
	return catalog.CommitLog{From: from, To: commit + to, Total: 1}, nil
}

// playbook is what every commit has as playbook.
const playbook = "- hosts: all\n  tasks:\n    - debug:\n      when: '{{ x }}'\n"

func (c *checkouts) Playbooks(context.Context, catalog.Repository, string) (map[string][]byte, []string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.searched++
	return map[string][]byte{"site.yml": []byte(playbook)}, nil, nil
}

// Mirrored lists the fetched projects that were not forgotten afterwards.
func (c *checkouts) Mirrored(context.Context) ([]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for _, r := range c.fetched {
		if !slices.Contains(c.forgot, r.ProjectID) {
			out = append(out, r.ProjectID)
		}
	}
	return out, nil
}

func (c *checkouts) Forget(_ context.Context, id string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgot = append(c.forgot, id)
	return nil
}

func (c *checkouts) forgotten(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.forgot, id)
}

// collector is a catalog.Collector with configured results.
type collector struct {
	mu       sync.Mutex
	content  string
	fails    error
	asked    []catalog.Collection
	now      int
	most     int           // maximum of concurrent collections
	gate     chan struct{} // a collection waits until it is closed
	arrivals chan struct{}
}

func (c *collector) set(content string, fails error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.content, c.fails = content, fails
}

func (c *collector) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.asked)
}

func (c *collector) block() (begun <-chan struct{}, free func()) {
	gate, arrivals := make(chan struct{}), make(chan struct{}, 100)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gate, c.arrivals = gate, arrivals
	return arrivals, sync.OnceFunc(func() { close(gate) })
}

func (c *collector) Collect(ctx context.Context, x catalog.Collection) ([]byte, catalog.Format, error) {
	c.mu.Lock()
	c.asked = append(c.asked, x)
	c.now++
	c.most = max(c.most, c.now)
	gate, arrivals := c.gate, c.arrivals
	c.mu.Unlock()
	defer func() { c.mu.Lock(); c.now--; c.mu.Unlock() }()
	if gate != nil {
		arrivals <- struct{}{}
		select {
		case <-gate:
		case <-ctx.Done():
			return nil, "", ctx.Err()
		}
	}
	if x.Tree != "" {
		text, err := os.ReadFile(filepath.Join(x.Tree, x.Path))
		return text, catalog.INI, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return []byte(c.content), catalog.INI, c.fails
}

// window is the first page.
var window = page.Window{Limit: 100}

func grantable(id string) identity.Object { return identity.Object{ID: id} }

// masking preserves the masks of targets, and has one stored target for each kind and address.
type masking struct{}

var _ notify.Targets = masking{}

func (masking) Seal(_ context.Context, list []runs.Notification) (notify.SealedTargets, error) {
	out := notify.SealedTargets{List: slices.Clone(list)}
	for i, n := range list {
		if n.Ref == "" && n.URL+n.Key != "" {
			out.List[i] = n.Masked()
			out.Fresh = append(out.Fresh, notify.SealedTarget{At: i, Ref: "ntg_1"})
		}
	}
	return out, nil
}

func (masking) Save(_ context.Context, t notify.SealedTargets) ([]runs.Notification, error) {
	out := slices.Clone(t.List)
	for _, f := range t.Fresh {
		out[f.At].Ref = f.Ref
	}
	return out, nil
}

func (masking) Same(_ context.Context, value, stored []runs.Notification) (bool, error) {
	masked := func(a, b runs.Notification) bool { return a.Masked() == b.Masked() }
	return slices.EqualFunc(value, stored, masked), nil
}

func (masking) Echoed(_ context.Context, value, stored []runs.Notification) ([]runs.Notification, error) {
	var out []runs.Notification
	for i, n := range value {
		if address, key := notify.IsMask(n); address || key {
			at := slices.IndexFunc(stored, func(s runs.Notification) bool { return s.Kind == n.Kind && s.URL == n.URL })
			if at < 0 {
				return nil, fault.BadField(fmt.Sprintf("notifications[%d].%s", i,
					map[bool]string{true: "url", false: "key"}[address]), "is a mask")
			}
			n.Ref = stored[at].Ref
		}
		out = append(out, n)
	}
	return out, nil
}
