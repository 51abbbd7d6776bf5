package mirror

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
)

// Result is what a fetch left: a commit, or one sentence on why there is none.
type Result struct {
	Commit  string
	Failure string
	At      time.Time
	source  string // what was fetched: address, branch and credential
}

// Err is the fault of a fetch that found nothing. SyncFailed.
func (f Result) Err() error {
	if f.Failure == "" {
		return nil
	}
	return catalog.SyncFailed.New("%s", f.Failure)
}

// fetchCall is one fetch that is under way. found and err are read after done is closed; err says that nothing can be
// said about the repository, since the project is gone, or this process stops.
type fetchCall struct {
	done chan struct{}
	// mustStore says that somebody waits who stores nothing, so that the fetch does. It is written under the lock.
	mustStore bool
	found     Result
	err       error
}

// join returns the fetch of a project that is under way, or begins one. noting says that the fetch stores what it
// finds itself.
func (m *Mirror) join(id string, mustStore bool) (*fetchCall, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if fl, ok := m.inFlight[id]; ok {
		fl.mustStore = fl.mustStore || mustStore
		return fl, nil
	}
	switch {
	case m.closed:
		return nil, errStopped()
	case m.readOnly:
		return nil, catalog.SyncFailed.New("this server is read-only and fetches nothing")
	}
	fl := &fetchCall{done: make(chan struct{}), mustStore: mustStore}
	m.inFlight[id] = fl
	m.work.Go(func() { m.runFetch(id, fl) })
	return fl, nil
}

// runFetch has a context of its own: the end of one caller must not fail the others.
func (m *Mirror) runFetch(id string, fl *fetchCall) {
	ctx, cancel := context.WithTimeout(m.ctx, syncTime)
	defer cancel()
	fl.found, fl.err = m.fetch(ctx, id)
	m.mu.Lock()
	delete(m.inFlight, id) // whoever comes now begins anew
	mustStore := fl.mustStore
	if fl.err == nil && fl.found.Failure == "" {
		m.remember(id, fl.found)
	}
	m.mu.Unlock()
	if fl.err == nil && mustStore {
		if err := m.storeUnasked(ctx, id, fl.found); err != nil {
			m.log.WarnContext(ctx, "what a synchronisation found was not stored", "project", id, "err", err)
		}
	}
	close(fl.done)
}

// fetch asks the repository. A project that comes to have another address, branch or credential meanwhile is fetched
// anew.
func (m *Mirror) fetch(ctx context.Context, id string) (Result, error) {
	for range rounds {
		p, err := m.store.ProjectByID(ctx, id)
		if err != nil {
			return Result{}, err
		}
		commit, err := m.ask(ctx, p)
		at := m.clock.Now()
		if m.ctx.Err() != nil {
			return Result{}, errStopped()
		}
		found := Result{Commit: commit, At: at, source: source(p)}
		if err != nil {
			found = Result{Failure: m.reason(ctx, id, err), At: at, source: source(p)}
		}
		// What was found is said of the project as it is now, or of none.
		now, err := m.reload(id)
		if err != nil {
			return Result{}, err
		}
		if source(now) == found.source {
			return found, nil
		}
	}
	return Result{}, catalog.SyncFailed.New("the project changes faster than it can be fetched")
}

// reload reads a project after it was fetched. Of one that was deleted meanwhile nothing stays behind.
func (m *Mirror) reload(id string) (catalog.Project, error) {
	ctx, cancel := context.WithTimeout(m.ctx, noteTime)
	defer cancel()
	p, err := m.store.ProjectByID(ctx, id)
	if fault.Is(err, fault.NotFound) {
		if err := m.checkouts.Forget(ctx, id); err != nil {
			m.log.WarnContext(ctx, "the mirror of a deleted project was not removed", "project", id, "err", err)
		}
	}
	return p, err
}

func (m *Mirror) ask(ctx context.Context, p catalog.Project) (string, error) {
	r, err := m.Repository(ctx, p)
	if err != nil {
		return "", err
	}
	return m.checkouts.Fetch(ctx, r)
}

// reason says in one sentence why a repository could not be fetched.
func (m *Mirror) reason(ctx context.Context, id string, err error) string {
	var f *fault.Error
	switch {
	case errors.As(err, &f) && f.Kind != fault.Internal && f.Message != "":
		return f.Message
	case ctx.Err() != nil:
		return fmt.Sprintf("the repository did not answer within %d seconds", int(syncTime.Seconds()))
	default:
		m.log.WarnContext(ctx, "a repository could not be fetched", "project", id, "err", err)
		return "the repository could not be fetched"
	}
}

// storeUnasked stores what a fetch found that nobody asked for by a request.
func (m *Mirror) storeUnasked(ctx context.Context, id string, f Result) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteTime)
	defer cancel()
	return m.unit.Do(ctx, func(ctx context.Context) error { return m.StoreResult(ctx, id, f) })
}

// StoreResult stores in the open unit what a fetch found, unless something newer is stored.
func (m *Mirror) StoreResult(ctx context.Context, id string, f Result) error {
	p, err := m.store.ProjectByID(ctx, id)
	switch {
	case fault.Is(err, fault.NotFound):
		return nil
	case err != nil:
		return err
	case p.SyncedAt.After(f.At) || source(p) != f.source:
		return nil
	}
	return m.store.NoteSync(ctx, id, f.Commit, f.Failure, f.At)
}

// source is what decides what a fetch brings.
func source(p catalog.Project) string { return p.RepoURL + "\x00" + p.Branch + "\x00" + p.CredentialID }

// remember keeps what was fetched. The caller holds the lock.
func (m *Mirror) remember(id string, f Result) {
	if len(m.fetched) >= maxRemembered {
		now := m.clock.Now()
		for k, v := range m.fetched {
			if !fresh(now, v.At) {
				delete(m.fetched, k)
			}
		}
	}
	m.fetched[id] = f
}

// fresh reports whether something was done within the last seconds. A clock that was set back makes it old.
func fresh(now, at time.Time) bool {
	d := now.Sub(at)
	return d >= 0 && d < freshTime
}

func errStopped() error {
	return &fault.Error{Kind: fault.Unavailable, Message: "the server is stopping"}
}
