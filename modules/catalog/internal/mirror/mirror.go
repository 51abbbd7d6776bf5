package mirror

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/writ-automation/writ/modules/catalog/internal/check"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/tx"
)

// Bounds.
const (
	syncTime  = 2 * time.Minute // of one fetch
	pinTime   = 20 * time.Second
	noteTime  = 10 * time.Second // of storing what was found
	freshTime = 5 * time.Second
	rounds    = 3 // fetches of a project that changes meanwhile
	workers   = 2
	// maxQueued bounds how many projects wait for their first synchronisation. One that finds no place is fetched when
	// it is used.
	maxQueued = 256
	// maxRemembered is from how many fetches on the old ones are forgotten.
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

	ctx    context.Context //nolint:containedctx // the life of the fetches, which outlive their callers
	cancel context.CancelFunc
	queue  chan string
	work   sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	begun    bool
	removes  bool
	inFlight map[string]*fetchCall
	fetched  map[string]Result // what this process fetched last, by project
}

// New returns a mirror. logins may be nil: then no credential can be used. A readOnly one fetches and removes nothing.
func New(
	u tx.Unit, c clock.Clock, log *slog.Logger, s catalog.ProjectStore, co catalog.Checkouts, l catalog.Logins, readOnly bool,
) *Mirror {
	ctx, cancel := context.WithCancel(context.Background())
	return &Mirror{
		unit: u, clock: c, log: log, store: s, checkouts: co, logins: l, readOnly: readOnly, ctx: ctx, cancel: cancel,
		queue: make(chan string, maxQueued), inFlight: map[string]*fetchCall{}, fetched: map[string]Result{},
	}
}

// Start begins to fetch what Later was told, and to remove mirrors of deleted projects. It does nothing where it has
// begun, after Stop, and on a read-only server.
func (m *Mirror) Start() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.begun || m.closed || m.readOnly {
		return
	}
	m.begun = true
	for range workers {
		m.work.Go(m.serve)
	}
	m.removal()
}

// StartRemoval begins to remove mirrors of deleted projects alone.
func (m *Mirror) StartRemoval() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.closed && !m.readOnly {
		m.removal()
	}
}

// removal begins it once. The caller holds the lock.
func (m *Mirror) removal() {
	if !m.removes {
		m.removes = true
		m.work.Go(m.reconcile)
	}
}

// Stop ends every fetch and returns when nothing runs any more. Nothing is fetched afterwards.
func (m *Mirror) Stop() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.cancel()
	m.work.Wait()
}

func (m *Mirror) serve() {
	for {
		select {
		case <-m.ctx.Done():
			return
		case id := <-m.queue:
			if _, err := m.wait(m.ctx, id, true); err != nil && m.ctx.Err() == nil && !fault.Is(err, fault.NotFound) {
				m.log.WarnContext(m.ctx, "a project was not synchronised", "project", id, "err", err)
			}
		}
	}
}

// Enqueue fetches a project soon. It never blocks, and forgets what finds no place.
func (m *Mirror) Enqueue(id string) {
	m.mu.Lock()
	delete(m.fetched, id)
	m.mu.Unlock()
	if m.readOnly {
		return
	}
	select {
	case m.queue <- id:
	default:
		m.log.Warn("too many projects wait to be synchronised; this one is when it is used", "project", id)
	}
}

// Forget drops what is remembered of a project that is gone.
func (m *Mirror) Forget(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.fetched, id)
}

// wait returns what a fetch of the project found, one that is under way or one that begins.
func (m *Mirror) wait(ctx context.Context, id string, mustStore bool) (Result, error) {
	fl, err := m.join(id, mustStore)
	if err != nil {
		return Result{}, err
	}
	select {
	case <-fl.done:
		return fl.found, fl.err
	case <-ctx.Done():
		return Result{}, ctx.Err()
	}
}

// waitCurrent returns when the fetch that is under way has ended, if there is one. A fetch that is joined afterwards
// began later than the call.
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

// Fetch asks the repository for a request, which stores what was found with Note. The error says that nothing can be
// said about the repository.
func (m *Mirror) Fetch(ctx context.Context, id string) (Result, error) { return m.wait(ctx, id, false) }

// Synced returns the project with a commit, and fetches one that never was. SyncFailed.
func (m *Mirror) Synced(ctx context.Context, p catalog.Project) (catalog.Project, error) {
	if p.Commit != "" {
		return p, nil
	}
	found, err := m.wait(ctx, p.ID, true)
	if err == nil {
		err = found.Err()
	}
	if err != nil {
		return catalog.Project{}, err
	}
	p.Commit, p.SyncedAt, p.LastError = found.Commit, found.At, ""
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

// recent returns the commit that this process fetched within the last seconds, empty where it did not.
func (m *Mirror) recent(p catalog.Project) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	f, ok := m.fetched[p.ID]
	if !ok || f.source != source(p) || !fresh(m.clock.Now(), f.At) {
		return ""
	}
	return f.Commit
}

// Repository says where the project's repository is and how to reach it. SyncFailed where its credential cannot be
// used.
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

// Tree makes dir, which must not exist, a work tree of the project at a commit.
func (m *Mirror) Tree(ctx context.Context, p catalog.Project, commit, dir string, install bool) (catalog.Deps, error) {
	r, err := m.Repository(ctx, p)
	if err != nil {
		return catalog.Deps{}, err
	}
	return m.checkouts.Tree(ctx, r, commit, dir, install)
}
