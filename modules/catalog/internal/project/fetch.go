package project

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
)

// fetchResult is the result of a fetch.
type fetchResult struct {
	catalog.SyncResult
	source string // the input of the fetch: address, branch and credential
}

// err returns the SyncFailed fault of a failed fetch.
func (f fetchResult) err() error {
	if f.Failure == "" {
		return nil
	}
	return catalog.SyncFailed.New("%s", f.Failure)
}

// fetchCall is an active fetch. found and err are set before done is closed. err means that the state of the repository
// is unknown, because the project was deleted or this process stops.
type fetchCall struct {
	done chan struct{}
	// mustStore is true if a waiting caller does not store the result, so the fetch must. It is guarded by the lock.
	mustStore bool
	found     fetchResult
	err       error
}

// join returns the active fetch of a project, or starts one. mustStore means that the fetch itself stores its result.
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

// runFetch has its own context: the end of one caller must not end the fetch for the others.
func (m *Mirror) runFetch(id string, fl *fetchCall) {
	ctx, cancel := context.WithTimeout(m.ctx, catalog.SyncLife)
	defer cancel()
	fl.found, fl.err = m.fetch(ctx, id)
	m.mu.Lock()
	delete(m.inFlight, id) // later callers start a new fetch
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

// fetch fetches the repository. If the address, branch or credential of the project changes meanwhile, it fetches
// again.
func (m *Mirror) fetch(ctx context.Context, id string) (fetchResult, error) {
	for range rounds {
		p, err := m.store.ProjectByID(ctx, id)
		if err != nil {
			return fetchResult{}, err
		}
		found := fetchResult{source: source(p)}
		found.Commit, found.Hints, err = m.ask(ctx, p)
		found.At = m.clock.Now()
		if m.ctx.Err() != nil {
			return fetchResult{}, errStopped()
		}
		if err != nil {
			found.Failure = m.reason(ctx, id, err)
			m.log.WarnContext(ctx, "project sync failed", "project", id, "reason", found.Failure)
		}
		// Only keep the result if it still applies to the stored project.
		now, err := m.reload(m.ctx, id)
		if err != nil {
			return fetchResult{}, err
		}
		if source(now) == found.source {
			return found, nil
		}
	}
	return fetchResult{}, catalog.SyncFailed.New("the project changes faster than it can be fetched")
}

// reload reads a project after its fetch. If the project was deleted meanwhile, reload removes its mirror.
func (m *Mirror) reload(ctx context.Context, id string) (catalog.Project, error) {
	ctx, cancel := context.WithTimeout(ctx, noteTime)
	defer cancel()
	p, err := m.store.ProjectByID(ctx, id)
	if fault.Is(err, fault.NotFound) {
		if err := m.checkouts.Forget(ctx, id); err != nil {
			m.log.WarnContext(ctx, "the mirror of a deleted project was not removed", "project", id, "err", err)
		}
	}
	return p, err
}

// ask returns the commit of the project's branch, and its hints.
func (m *Mirror) ask(ctx context.Context, p catalog.Project) (string, []catalog.Hint, error) {
	r, err := m.Repository(ctx, p)
	if err != nil {
		return "", nil, err
	}
	commit, err := m.checkouts.Fetch(ctx, r)
	if err != nil || commit == p.Commit && p.Hints != nil {
		return commit, p.Hints, err
	}
	files, leaving, err := m.checkouts.Playbooks(ctx, r, commit)
	if err != nil { // the next synchronisation searches again
		m.log.WarnContext(ctx, "the playbooks of a project were not searched", "project", p.ID, "err", err)
		return commit, nil, nil
	}
	return commit, hints(files, leaving), nil
}

// reason returns one sentence with the reason of a failed fetch.
func (m *Mirror) reason(ctx context.Context, id string, err error) string {
	var f *fault.Error
	switch {
	case errors.As(err, &f) && f.Kind != fault.Internal && f.Message != "":
		return f.Message
	case ctx.Err() != nil:
		return fmt.Sprintf("the repository did not answer within %d seconds", int(catalog.SyncLife.Seconds()))
	default:
		m.log.WarnContext(ctx, "a repository could not be fetched", "project", id, "err", err)
		return "the repository could not be fetched"
	}
}

// storeUnasked stores the result of a fetch without a request.
func (m *Mirror) storeUnasked(ctx context.Context, id string, f fetchResult) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteTime)
	defer cancel()
	return m.unit.Do(ctx, func(ctx context.Context) error { return m.storeResult(ctx, id, f) })
}

// storeResult stores the result of a fetch in the open unit of work, unless a newer result is stored.
func (m *Mirror) storeResult(ctx context.Context, id string, f fetchResult) error {
	p, err := m.store.ProjectByID(ctx, id)
	switch {
	case fault.Is(err, fault.NotFound):
		return nil
	case err != nil:
		return err
	case p.SyncedAt.After(f.At) || source(p) != f.source:
		return nil
	}
	return m.store.NoteSync(ctx, id, f.SyncResult)
}

// source returns the values of a project that determine the result of a fetch.
func source(p catalog.Project) string { return p.RepoURL + "\x00" + p.Branch + "\x00" + p.CredentialID }

// remember keeps the result of a fetch. The caller holds the lock.
func (m *Mirror) remember(id string, f fetchResult) {
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

// fresh reports whether at is within the last seconds. A time in the future, after the clock was set back, is not
// fresh.
func fresh(now, at time.Time) bool {
	d := now.Sub(at)
	return d >= 0 && d < freshTime
}

func errStopped() error {
	return &fault.Error{Kind: fault.Unavailable, Message: "the server is stopping"}
}
