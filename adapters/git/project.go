package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// readers is the maximum number of concurrent commands that read one mirror.
const readers = 16

// gate is a lock whose acquisition ends with the context.
type gate chan struct{}

func (g gate) lock(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("wait for another use of the project: %w", err)
	}
	select {
	case g <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for another use of the project: %w", context.Cause(ctx))
	}
}

func (g gate) unlock() { <-g }

// project is the state of one project in this process, with the locks for its mirror. A fetch only adds to a mirror, so
// readers, which read by commit, may run during it; they must not run while the mirror is replaced or removed.
type project struct {
	mirror, deps string

	fetchGate     gate // one fetch at a time
	installGate   gate // one installation at a time
	readGate      gate // has one place per reader; the holder of all places has exclusive access
	exclusiveGate gate // one exclusive access at a time

	suspect bool // the mirror must be created again; guarded by fetchGate

	once   sync.Mutex
	opened bool
}

func newProject(base string) *project {
	return &project{
		mirror: base + ".git", deps: base + ".deps",
		fetchGate: make(gate, 1), installGate: make(gate, 1), readGate: make(gate, readers), exclusiveGate: make(gate, 1),
	}
}

// openOnce calls fn until the first success.
func (p *project) openOnce(fn func() error) error {
	p.once.Lock()
	defer p.once.Unlock()
	if p.opened {
		return nil
	}
	if err := fn(); err != nil {
		return err
	}
	p.opened = true
	return nil
}

// lockReaders waits for all readers to finish and admits no new one.
func (p *project) lockReaders(ctx context.Context) error {
	if err := p.exclusiveGate.lock(ctx); err != nil {
		return err
	}
	for n := range readers {
		if err := p.readGate.lock(ctx); err != nil {
			for range n {
				p.readGate.unlock()
			}
			p.exclusiveGate.unlock()
			return err
		}
	}
	return nil
}

func (p *project) unlockReaders() {
	for range readers {
		p.readGate.unlock()
	}
	p.exclusiveGate.unlock()
}

func (p *project) lockAll(ctx context.Context) error {
	if err := p.fetchGate.lock(ctx); err != nil {
		return err
	}
	if err := p.installGate.lock(ctx); err != nil {
		p.fetchGate.unlock()
		return err
	}
	if err := p.lockReaders(ctx); err != nil {
		p.installGate.unlock()
		p.fetchGate.unlock()
		return err
	}
	return nil
}

func (p *project) unlockAll() {
	p.unlockReaders()
	p.installGate.unlock()
	p.fetchGate.unlock()
}

// tidy removes the remains of a killed process: locks of git, unfinished packs and installations.
func (k *Checkouts) tidy(p *project) error {
	if err := sweep(p.mirror); err != nil {
		return fmt.Errorf("tidy a mirror: %w", err)
	}
	half, err := filepath.Glob(filepath.Join(p.deps, temporary+"*"))
	if err != nil {
		return fmt.Errorf("tidy installed requirements: %w", err)
	}
	for _, dir := range half {
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("tidy installed requirements: %w", err)
		}
	}
	return nil
}

// sweep removes locks and unfinished packs from a mirror without writers.
func sweep(mirror string) error {
	return filepath.WalkDir(mirror, func(path string, d os.DirEntry, err error) error {
		switch {
		case os.IsNotExist(err):
			return nil
		case err != nil:
			return err
		case d.IsDir() && d.Name() != "pack" && filepath.Dir(path) == filepath.Join(mirror, "objects"):
			return filepath.SkipDir
		case d.IsDir():
			return nil
		case strings.HasSuffix(path, ".lock"), strings.HasPrefix(d.Name(), "tmp_"):
			return os.Remove(path)
		default:
			return nil
		}
	})
}
