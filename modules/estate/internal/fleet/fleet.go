package fleet

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/page"
)

// The bounds of a page.
const (
	defaultRows = 200
	maxRows     = 1000
)

// Fleet implements estate.Fleet for callers, who see what came of runs that they may read.
type Fleet struct {
	Store estate.FleetStore
	Guard access.Guard
	Clock clock.Clock
	Facts estate.FactStore
	Drift estate.DriftStore
}

var _ estate.Fleet = (*Fleet)(nil)

func bounded(q estate.FleetQuery) estate.FleetQuery {
	q.Window = page.Clamp(q.Window, estate.DefaultWindow, estate.MaxWindow)
	q.Limit = page.Clamp(q.Limit, defaultRows, maxRows)
	return q
}

func (f *Fleet) Hosts(ctx context.Context, q estate.FleetQuery) (estate.FleetPage[estate.HostRank], error) {
	return read(ctx, f, bounded(q), f.Store.Hosts)
}

func (f *Fleet) Tasks(ctx context.Context, q estate.FleetQuery) (estate.FleetPage[estate.TaskTrend], error) {
	return read(ctx, f, bounded(q), f.Store.Tasks)
}

// read asks a store for what the caller may read.
func read[Q, T any](
	ctx context.Context, f *Fleet, q Q, store func(context.Context, Q, access.Scope) (T, error),
) (out T, err error) {
	reader, err := f.Guard.Scope(ctx)
	if err != nil {
		return out, fmt.Errorf("find what may be read: %w", err)
	}
	return store(ctx, q, reader)
}

func (f *Fleet) Runs(ctx context.Context, host string, limit int) ([]estate.HostRun, error) {
	limit = page.Clamp(limit, estate.DefaultHostRuns, estate.MaxHostRuns)
	return read(ctx, f, host, func(ctx context.Context, host string, reader access.Scope) ([]estate.HostRun, error) {
		list, err := f.Store.Runs(ctx, host, limit, reader)
		return list, f.withNear(ctx, host, reader, err)
	})
}

// pageRuns is how many runs the page of a host has.
const pageRuns = 100

func (f *Fleet) Host(ctx context.Context, host string, window int) (estate.HostPage, error) {
	return read(ctx, f, host, func(ctx context.Context, host string, reader access.Scope) (p estate.HostPage, err error) {
		if p.Runs, err = f.Store.Runs(ctx, host, pageRuns, reader); err != nil {
			return p, f.withNear(ctx, host, reader, err)
		}
		ranks, err := f.Store.Hosts(ctx, bounded(estate.FleetQuery{Host: host, Window: window}), reader)
		if err != nil {
			return p, err
		}
		p.Window = ranks.Window
		for _, r := range ranks.Rows {
			p.Rank = r
		}
		if p.Reading, err = f.newest(ctx, host, reader); err == nil {
			p.Drift, err = f.drift(ctx, host, reader)
		}
		return p, err
	})
}

func (f *Fleet) newest(ctx context.Context, host string, reader access.Scope) (*estate.Reading, error) {
	r, err := f.Facts.Newest(ctx, host, reader)
	if estate.HostNotFound.Is(err) {
		return nil, nil
	}
	return &r, err
}

func (f *Fleet) drift(ctx context.Context, host string, reader access.Scope) (*estate.HostDrift, error) {
	q := estate.DriftQuery{Host: host, Window: page.Window{Limit: 1}}
	found, err := f.Drift.Findings(ctx, q, reader, f.Clock.Now())
	if err != nil || len(found.Coverage) == 0 {
		return nil, err
	}
	return &found.Coverage[0], nil
}

// withNear adds the names of similar hosts to the fault of a host that is not found.
func (f *Fleet) withNear(ctx context.Context, host string, reader access.Scope, err error) error {
	var missing *fault.Error
	if !estate.HostNotFound.Is(err) || !errors.As(err, &missing) {
		return err
	}
	near := newSimilar(host)
	if err := f.Store.Names(ctx, reader, near.add); err != nil {
		return err
	}
	names := near.names()
	missing.Detail = map[string]any{"near": names}
	if len(names) > 0 {
		missing.Message += "; similar names: " + strings.Join(names, ", ")
	}
	return missing
}
