package relayclient

import (
	"cmp"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"

	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

// maxEnded is how many ended claims are kept: their last report may need a repetition.
const maxEnded = 1024

// claim proves that this worker holds a run, and names the materials of the run.
type claim struct {
	run        string
	epoch      int64
	worker     string
	capability secret.Text
	kind       runs.Kind
	project    string
	inventory  string
	commit     string
}

// key identifies a claim: a run is claimed once in an epoch.
type key struct {
	run   string
	epoch int64
}

func (k claim) key() key { return key{k.run, k.epoch} }

// entry is a claim that has not ended.
type entry struct {
	claim
	age     int64 // sequence number of the claim
	left    bool  // a release of its run had an unknown result
	waiting bool  // the secrets have not been requested
	secrets *execution.RelaySecrets

	requirements *execution.RelayRequirements // in memory alone
}

// claims holds the claims of this worker: the newest one of every run, which is also on disk, and some ended ones.
type claims struct {
	store store
	log   *slog.Logger
	disk  sync.Mutex    // held while files change; taken before mu
	added chan struct{} // gets a token when a claim is added

	mu    sync.Mutex
	held  map[string]*entry // by run
	count int64
	ended map[key]claim
	order []key // keys of ended, the oldest first
}

func openClaims(dir string, log *slog.Logger) (*claims, error) {
	s := store{dir: filepath.Join(dir, "claims")}
	if err := s.open(); err != nil {
		return nil, fmt.Errorf("the directory of claims: %w", err)
	}
	return &claims{store: s, log: log, added: make(chan struct{}, 1), held: make(map[string]*entry),
		ended: make(map[key]claim)}, nil
}

// put stores a new claim durably, in place of an earlier one of its run. The secrets stay in memory.
func (c *claims) put(k claim, s *execution.RelaySecrets, r *execution.RelayRequirements) error {
	c.disk.Lock()
	defer c.disk.Unlock()
	if err := c.store.write(&k); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(k, true, s)
	c.held[k.run].requirements = r
	return nil
}

func (c *claims) add(k claim, waiting bool, s *execution.RelaySecrets) {
	if before := c.held[k.run]; before != nil {
		c.markEnded(before.claim)
	}
	c.count++
	c.held[k.run] = &entry{claim: k, age: c.count, waiting: waiting, secrets: s}
	select {
	case c.added <- struct{}{}:
	default:
	}
}

// markEnded keeps an ended claim in place of the oldest one.
func (c *claims) markEnded(k claim) {
	if _, known := c.ended[k.key()]; !known {
		if len(c.order) == maxEnded {
			delete(c.ended, c.order[0])
			c.order = slices.Delete(c.order, 0, 1)
		}
		c.order = append(c.order, k.key())
	}
	c.ended[k.key()] = k
}

// of returns the claim of a lease, also an ended one. It returns LeaseLost for an unknown claim.
func (c *claims) of(l runs.Lease) (claim, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.ended[key{l.RunID, l.Epoch}]
	if e := c.held[l.RunID]; e != nil && e.epoch == l.Epoch {
		k, ok = e.claim, true
	}
	if !ok || withoutPrefix(k.worker) != withoutPrefix(l.Worker) {
		return claim{}, leaseLost(l.RunID)
	}
	return k, nil
}

func leaseLost(runID string) error {
	return runs.LeaseLost.New("this worker does not hold the run %s", runID)
}

// end marks a claim as ended and deletes its file and its secrets.
func (c *claims) end(of key) {
	c.disk.Lock()
	defer c.disk.Unlock()
	c.mu.Lock()
	e := c.held[of.run]
	over := e != nil && e.epoch == of.epoch
	if over {
		delete(c.held, of.run)
		c.markEnded(e.claim)
	}
	c.mu.Unlock()
	if over {
		c.remove(of.run)
	}
}

// remove deletes the file of a run. If that fails, a later search for files deletes it.
func (c *claims) remove(run string) {
	if err := c.store.remove(run); err != nil {
		c.log.Warn("remove what is kept of a claim", "run", run, "error", err)
	}
}

// active returns the claims of a worker that have not ended, also those from before a restart.
func (c *claims) active(worker string) ([]claim, error) {
	c.disk.Lock()
	defer c.disk.Unlock()
	found, err := c.store.read(c.log)
	if err != nil {
		return nil, fmt.Errorf("read the directory of claims: %w", err)
	}
	for _, k := range found {
		if !c.adopt(k) {
			c.remove(k.run)
		}
	}
	return c.matching(func(e *entry) bool { return withoutPrefix(e.worker) == withoutPrefix(worker) }), nil
}

// adopt adds a claim from its file, unless it is known. It returns false if the claim has ended.
func (c *claims) adopt(k claim) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, over := c.ended[k.key()]; over {
		return false
	}
	if c.held[k.run] == nil {
		c.add(k, false, nil)
	}
	return true
}

// matching returns the matching claims that have not ended, the newest first.
func (c *claims) matching(match func(e *entry) bool) []claim {
	c.mu.Lock()
	defer c.mu.Unlock()
	var found []*entry
	for _, e := range c.held {
		if match(e) {
			found = append(found, e)
		}
	}
	slices.SortFunc(found, func(a, b *entry) int { return cmp.Compare(b.age, a.age) })
	out := make([]claim, 0, len(found))
	for _, e := range found {
		out = append(out, e.claim)
	}
	return out
}

// leave notes that the release of a run had an unknown result and that no caller here will repeat it.
func (c *claims) leave(of key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.held[of.run]; e != nil && e.epoch == of.epoch {
		e.left = true
	}
}

// requirements returns what a claim has to install, nil for nothing.
func (c *claims) requirements(of key) *execution.RelayRequirements {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.held[of.run]; e != nil && e.epoch == of.epoch {
		return e.requirements
	}
	return nil
}

// take returns the secrets of a claim and deletes them. ok is false if they were taken before; the error is LeaseLost
// if the claim is unknown or has ended.
func (c *claims) take(o secrets.Owner) (s *execution.RelaySecrets, ok bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.held[o.ID]
	if e == nil || e.epoch != o.Epoch {
		return nil, false, leaseLost(o.ID)
	}
	s, ok = e.secrets, e.waiting
	e.secrets, e.waiting = nil, false
	return s, ok, nil
}

// forget deletes the secrets of a claim.
func (c *claims) forget(o secrets.Owner) { _, _, _ = c.take(o) }
