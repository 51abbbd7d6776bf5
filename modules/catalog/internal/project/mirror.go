package project

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/writ-automation/writ/modules/catalog/internal/check"
	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/tx"
)

// Limits.
const (
	pinTime   = 20 * time.Second
	noteTime  = 10 * time.Second // of storing the result
	freshTime = 5 * time.Second
	rounds    = 3 // fetches of a project that changes meanwhile
	workers   = 2
	// queueEvery is the pause between two checks of the queue; enqueue also wakes its loops.
	queueEvery = time.Minute
	// removalEvery is the pause between two searches for mirrors of projects that another server deleted. removalTime
	// limits one search; the next one continues it.
	removalEvery = 10 * time.Minute
	removalTime  = 5 * time.Minute
	// maxQueued is the maximum number of projects that wait for their first synchronisation. Other projects are fetched
	// on first use.
	maxQueued = 256
	// maxRemembered is the number of results above which old ones are dropped.
	maxRemembered = 1024
)

// Mirror fetches projects.
type Mirror struct {
	unit      tx.Unit
	clock     clock.Clock
	log       *slog.Logger
	store     catalog.ProjectStore
	checkouts catalog.Checkouts
	logins    catalog.Logins
	readOnly  bool

	ctx    context.Context //nolint:containedctx // the lifetime of the fetches, which may outlast their callers
	cancel context.CancelFunc
	queue  chan string
	queued background.Group // fetch the projects in the queue
	work   sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	inFlight map[string]*fetchCall
	fetched  map[string]fetchResult // the last results of this process, by project
}

// NewMirror returns a Mirror. If logins is nil, no credential can be used. A read-only mirror fetches and removes
// nothing.
func NewMirror(
	u tx.Unit, c clock.Clock, log *slog.Logger, s catalog.ProjectStore, co catalog.Checkouts, l catalog.Logins,
	readOnly bool,
) *Mirror {
	ctx, cancel := context.WithCancel(context.Background())
	m := &Mirror{
		unit: u, clock: c, log: log, store: s, checkouts: co, logins: l, readOnly: readOnly, ctx: ctx, cancel: cancel,
		queue: make(chan string, maxQueued), inFlight: map[string]*fetchCall{}, fetched: map[string]fetchResult{},
	}
	if !readOnly {
		for range workers {
			m.queued = append(m.queued, &background.Loop{
				Name: "project synchronisation", Pass: m.syncQueued, Every: queueEvery,
			})
		}
	}
	return m
}

// Loops returns the loops that fetch the enqueued projects, none on a read-only server.
func (m *Mirror) Loops() background.Group { return m.queued }

// Removal returns the loop that removes the mirrors of deleted projects, at the start and then at intervals.
func (m *Mirror) Removal() *background.Loop {
	return &background.Loop{
		Name: "mirror removal", Pass: m.removeDeleted, Every: removalEvery, Timeout: removalTime,
	}
}

// Close ends all fetches and returns when they have ended. No fetch starts afterwards.
func (m *Mirror) Close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.cancel()
	m.work.Wait()
}

// syncQueued fetches the projects in the queue until it is empty.
func (m *Mirror) syncQueued(ctx context.Context) error {
	for {
		select {
		case id := <-m.queue:
			if _, err := m.wait(ctx, id, true); err != nil && ctx.Err() == nil && !fault.Is(err, fault.NotFound) {
				m.log.WarnContext(ctx, "a project was not synchronised", "project", id, "err", err)
			}
		default:
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// removeDeleted removes the mirrors of projects that do not exist. A project is stored before its first fetch, so a
// project that is not in the store was deleted.
func (m *Mirror) removeDeleted(ctx context.Context) error {
	list, err := m.checkouts.Mirrored(ctx)
	for _, id := range list {
		if _, err := m.reload(ctx, id); err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
	}
	return err
}

// enqueue schedules the fetch of a project. It never blocks, and drops the project if the queue is full.
func (m *Mirror) enqueue(id string) {
	m.mu.Lock()
	delete(m.fetched, id)
	m.mu.Unlock()
	if m.readOnly {
		return
	}
	select {
	case m.queue <- id:
		for _, l := range m.queued {
			l.Wake()
		}
	default:
		m.log.Warn("too many projects wait to be synchronised; this one is when it is used", "project", id)
	}
}

// forget drops the result for a deleted project.
func (m *Mirror) forget(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.fetched, id)
}

// wait returns the result of the active fetch of the project, or of a new one.
func (m *Mirror) wait(ctx context.Context, id string, mustStore bool) (fetchResult, error) {
	fl, err := m.join(id, mustStore)
	if err != nil {
		return fetchResult{}, err
	}
	select {
	case <-fl.done:
		return fl.found, fl.err
	case <-ctx.Done():
		return fetchResult{}, ctx.Err()
	}
}

// waitCurrent waits for the end of the active fetch, if there is one. So a fetch that the caller joins afterwards
// started after this call.
func (m *Mirror) waitCurrent(ctx context.Context, id string) {
	m.mu.Lock()
	fl := m.inFlight[id]
	m.mu.Unlock()
	if fl == nil {
		return
	}
	select {
	case <-fl.done:
	case <-ctx.Done():
	}
}

// fetchProject fetches the repository for a request, which stores the result with storeResult. An error means that the
// state of the repository is unknown.
func (m *Mirror) fetchProject(ctx context.Context, id string) (fetchResult, error) {
	return m.wait(ctx, id, false)
}

// synced returns the project with a commit, and fetches it if it has none. Errors: SyncFailed.
func (m *Mirror) synced(ctx context.Context, p catalog.Project) (catalog.Project, error) {
	if p.Commit != "" {
		return p, nil
	}
	found, err := m.wait(ctx, p.ID, true)
	if err == nil {
		err = found.err()
	}
	if err != nil {
		return catalog.Project{}, err
	}
	p.Commit, p.SyncedAt, p.LastError, p.Hints = found.Commit, found.At, "", found.Hints
	return p, nil
}

func (m *Mirror) Pin(ctx context.Context, id string, fresh bool) (commit, stale string, err error) {
	p, err := m.store.ProjectByID(ctx, id)
	if err != nil {
		return "", "", err
	}
	bound, cancel := context.WithTimeout(ctx, pinTime)
	defer cancel()
	if fresh {
		m.waitCurrent(bound, id)
	} else if commit := m.recent(p); commit != "" {
		return commit, "", nil
	}
	found, err := m.wait(bound, id, true)
	switch {
	case err == nil && found.Failure == "":
		return found.Commit, "", nil
	case err == nil:
		stale = found.Failure
	case catalog.SyncFailed.Is(err):
		stale = check.Message(err, "the project could not be fetched")
	case ctx.Err() != nil:
		return "", "", ctx.Err()
	case bound.Err() != nil:
		stale = "the repository did not answer in time"
	default:
		return "", "", err
	}
	if p.Commit == "" {
		return "", "", catalog.SyncFailed.New("%s", stale)
	}
	return p.Commit, stale, nil
}

// recent returns the commit that this process fetched within the last seconds, empty if there is none.
func (m *Mirror) recent(p catalog.Project) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	f, ok := m.fetched[p.ID]
	if !ok || f.source != source(p) || !fresh(m.clock.Now(), f.At) {
		return ""
	}
	return f.Commit
}

// Repository returns the address and the login of the project's repository. The error is SyncFailed if its credential
// cannot be used.
func (m *Mirror) Repository(ctx context.Context, p catalog.Project) (catalog.Repository, error) {
	r := catalog.Repository{ProjectID: p.ID, URL: p.RepoURL, Branch: p.Branch}
	if p.CredentialID == "" {
		return r, nil
	}
	if m.logins == nil {
		return r, catalog.SyncFailed.New("the project's credential cannot be used")
	}
	var err error
	if r.Login, err = m.logins.Login(ctx, p.CredentialID); err != nil {
		return r, catalog.SyncFailed.New("%s", check.Message(err, "the project's credential cannot be used")).Because(err)
	}
	return r, nil
}

// Tree creates the directory dir, which must not exist, as a work tree of the project at a commit.
func (m *Mirror) Tree(ctx context.Context, p catalog.Project, commit, dir string, install bool) (catalog.Deps, error) {
	r, err := m.Repository(ctx, p)
	if err != nil {
		return catalog.Deps{}, err
	}
	return m.checkouts.Tree(ctx, r, commit, dir, install)
}
