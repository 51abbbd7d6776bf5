package demo

import (
	"context"
	"sync"

	"github.com/writ-automation/writ/ports/catalog"
)

// Pins has the commits of projects, which never change in the demo.
type Pins struct {
	mu      sync.Mutex
	commits map[string]string
}

// NewPins returns no commits.
func NewPins() *Pins { return &Pins{commits: map[string]string{}} }

func (p *Pins) put(project, commit string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.commits[project] = commit
}

// References are references whose projects are not fetched again for each run.
func (p *Pins) References(real catalog.References) catalog.References { return pinned{real, p} }

type pinned struct {
	catalog.References
	pins *Pins
}

// Pin returns the known commit of a project.
func (p pinned) Pin(ctx context.Context, id string, fresh bool) (commit, stale string, err error) {
	p.pins.mu.Lock()
	commit = p.pins.commits[id]
	p.pins.mu.Unlock()
	if commit != "" {
		return commit, "", nil
	}
	return p.References.Pin(ctx, id, fresh)
}
