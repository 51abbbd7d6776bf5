package execution_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/writ-automation/writ/ports/execution/executiontest"
	"github.com/writ-automation/writ/ports/runs"
)

// plane is a strict control plane in memory: it refuses the same calls as a store.
type plane struct {
	mu      sync.Mutex
	order   []string
	records map[string]*record
	calls   map[string]int
	fault   func(op, runID string) error // asked before each call, outside of the lock
	changed func()
	cut     func() error // the answer of a claim that was made; an error is what the caller gets instead
}

type record struct {
	run    *runs.Run
	log    []byte
	holes  int64
	events []runs.Event
	hosts  []runs.HostSummary
	tasks  []runs.TaskSummary
	facts  []runs.HostFacts
	end    *runs.Ending
	shards []string
	plan   executiontest.Planned
	plans  []runs.Plan
}

func newPlane() *plane {
	return &plane{records: make(map[string]*record), calls: make(map[string]int), changed: func() {}}
}

// submit adds a pending run.
func (p *plane) submit(r *runs.Run) {
	p.mu.Lock()
	if r.Kind == "" {
		r.Kind = runs.Single
	}
	if r.Spec.Tool == "" {
		r.Spec.Tool = "sh"
	}
	r.Status = runs.Pending
	p.records[r.ID] = &record{run: r}
	p.order = append(p.order, r.ID)
	p.mu.Unlock()
	p.changed()
}

func (p *plane) enter(op, runID string) (func(), error) {
	p.mu.Lock()
	p.calls[op]++
	fault := p.fault
	p.mu.Unlock()
	if fault != nil {
		if err := fault(op, runID); err != nil {
			return nil, err
		}
	}
	p.mu.Lock()
	return p.mu.Unlock, nil
}

func (p *plane) rule(l runs.Lease) (*record, error) {
	r := p.records[l.RunID]
	if r == nil {
		return nil, runs.RunNotFound.New("no run %s", l.RunID)
	}
	if r.run.Status != runs.Running || r.run.Worker != l.Worker || r.run.Epoch != l.Epoch {
		return nil, runs.LeaseLost.New("the lease of %s is lost", l.RunID)
	}
	return r, nil
}

func (p *plane) Claim(_ context.Context, q runs.ClaimRequest) (*runs.Assignment, error) {
	leave, err := p.enter("claim", "")
	if err != nil {
		return nil, err
	}
	defer leave()
	for _, id := range p.order {
		r := p.records[id].run
		if r.Status != runs.Pending || !slices.Contains(q.Queues, cmp.Or(r.Spec.Queue, runs.DefaultQueue)) {
			continue
		}
		r.Status, r.Worker, r.Begun = runs.Running, q.Worker, false
		r.Epoch++
		if p.cut != nil {
			if err := p.cut(); err != nil {
				return nil, err
			}
		}
		c := *r
		last := !slices.ContainsFunc(p.order, func(id string) bool { return p.records[id].run.Status == runs.Pending })
		return &runs.Assignment{Run: &c, Lease: runs.Lease{RunID: id, Worker: q.Worker, Epoch: r.Epoch},
			NextSeq: int64(len(p.records[id].events)) + 1, Last: last}, nil
	}
	return nil, nil
}

func (p *plane) Begin(_ context.Context, l runs.Lease) error {
	leave, err := p.enter("begin", l.RunID)
	if err != nil {
		return err
	}
	defer leave()
	r, err := p.rule(l)
	if err == nil {
		r.run.Begun = true
	}
	return err
}

func (p *plane) Beat(_ context.Context, _ string, leases []runs.Lease) ([]runs.Beat, error) {
	leave, err := p.enter("beat", "")
	if err != nil {
		return nil, err
	}
	defer leave()
	var out []runs.Beat
	for _, l := range leases {
		r, err := p.rule(l)
		out = append(out, runs.Beat{RunID: l.RunID, Lost: err != nil, CancelRequested: err == nil && r.run.CancelRequested})
	}
	return out, nil
}

func (p *plane) Release(_ context.Context, l runs.Lease) error {
	leave, err := p.enter("release", l.RunID)
	if err != nil {
		return err
	}
	defer leave()
	r, err := p.rule(l)
	if err != nil {
		return err
	}
	if r.run.Begun {
		return runs.RunStateChanged.New("the run has begun")
	}
	r.run.Status = runs.Pending
	return nil
}

func (p *plane) Divide(_ context.Context, l runs.Lease, hosts []string, w []runs.Warning) error {
	leave, err := p.enter("divide", l.RunID)
	if err != nil {
		return err
	}
	defer leave()
	r, err := p.rule(l)
	if err != nil {
		return err
	}
	r.shards, r.run.Warnings, r.run.Worker = slices.Clone(hosts), w, ""
	return nil
}

func (p *plane) Finish(_ context.Context, l runs.Lease, e runs.Ending) error {
	leave, err := p.enter("finish", l.RunID)
	if err != nil {
		return err
	}
	defer leave()
	if r := p.records[l.RunID]; r != nil && r.end != nil && r.run.Worker == l.Worker && r.run.Epoch == l.Epoch &&
		r.end.Status == e.Status {
		return nil
	}
	r, err := p.rule(l)
	if err != nil {
		return err
	}
	if err := r.addEvents(e.Events); err != nil {
		return err
	}
	r.addLog(e.Log)
	r.hosts, r.tasks = append(r.hosts, e.Hosts...), append(r.tasks, e.Tasks...)
	r.end, r.run.Status = &e, e.Status
	p.changed()
	return nil
}

func (p *plane) Leased(_ context.Context, worker string) ([]*runs.Run, error) {
	leave, err := p.enter("held", "")
	if err != nil {
		return nil, err
	}
	defer leave()
	var out []*runs.Run
	for _, id := range p.order {
		if r := p.records[id].run; r.Status == runs.Running && r.Worker == worker {
			c := *r
			out = append(out, &c)
		}
	}
	return out, nil
}

func (r *record) addLog(c runs.LogChunk) {
	next := int64(len(r.log))
	end := c.Offset + int64(len(c.Data))
	if end <= next {
		return
	}
	if gap := c.Offset - next; gap > 0 {
		r.holes += gap
		r.log = append(r.log, make([]byte, gap)...)
		next = c.Offset
	}
	r.log = append(r.log, c.Data[next-c.Offset:]...)
}

func (r *record) addEvents(events []runs.Event) error {
	for i := range events {
		next := int64(len(r.events)) + 1
		switch {
		case events[i].Seq < next:
		case events[i].Seq > next:
			return runs.SequenceGap.New("event %d comes before %d", events[i].Seq, next)
		default:
			r.events = append(r.events, events[i])
		}
	}
	return nil
}

func (p *plane) AppendLog(_ context.Context, l runs.Lease, c runs.LogChunk) (int64, error) {
	leave, err := p.enter("log", l.RunID)
	if err != nil {
		return 0, err
	}
	defer leave()
	r, err := p.rule(l)
	if err != nil {
		return 0, err
	}
	r.addLog(c)
	return int64(len(r.log)), nil
}

func (p *plane) AppendEvents(_ context.Context, l runs.Lease, events []runs.Event) (int64, error) {
	leave, err := p.enter("events", l.RunID)
	if err != nil {
		return 0, err
	}
	defer leave()
	r, err := p.rule(l)
	if err != nil {
		return 0, err
	}
	err = r.addEvents(events)
	return int64(len(r.events)) + 1, err
}

// save runs a write of summaries under the lease.
func (p *plane) save(op string, l runs.Lease, do func(r *record)) error {
	leave, err := p.enter(op, l.RunID)
	if err != nil {
		return err
	}
	defer leave()
	r, err := p.rule(l)
	if err == nil {
		do(r)
	}
	return err
}

func (p *plane) SaveHosts(_ context.Context, l runs.Lease, hosts []runs.HostSummary) error {
	return p.save("hosts", l, func(r *record) { r.hosts = append(r.hosts, hosts...) })
}

// expire ends a lease as the sweeper would: interrupted if a process began, else pending.
func (p *plane) expire(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.records[id].run
	if r.Begun {
		r.Status = runs.Interrupted
	} else {
		r.Status = runs.Pending
	}
}

// see reads a record under the lock.
func (p *plane) see(id string) record {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := *p.records[id]
	c := *r.run
	r.run = &c
	return r
}

func (p *plane) count(op string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls[op]
}

func (p *plane) fail(f func(op, runID string) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = f
}

// signals wakes watchers in this process.
type signals struct {
	mu  sync.Mutex
	chs map[string][]chan string
}

func newSignals() *signals { return &signals{chs: make(map[string][]chan string)} }

func (s *signals) Signal(_ context.Context, topic, payload string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ch := range s.chs[topic] {
		select {
		case ch <- payload:
		default:
		}
	}
	return nil
}

func (s *signals) Watch(topic string) (<-chan string, func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ch := make(chan string, 256)
	s.chs[topic] = append(s.chs[topic], ch)
	return ch, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.chs[topic] = slices.DeleteFunc(s.chs[topic], func(c chan string) bool { return c == ch })
	}
}

type fixedClock struct{}

func (fixedClock) Now() time.Time { return time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC) }

// reaper notes whom it was asked to end.
type reaper struct {
	mu   sync.Mutex
	runs []string
}

func (r *reaper) Reap(_ context.Context, runID string) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runs = append(r.runs, runID)
	return 1, nil
}

func (r *reaper) reaped(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.runs, id)
}

// live gathers what was shown.
type live struct {
	mu   sync.Mutex
	text map[string][]byte
	bad  error
}

func (l *live) ShowLog(id string, c runs.LogChunk) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.text == nil {
		l.text = make(map[string][]byte)
	}
	if int64(len(l.text[id])) != c.Offset {
		l.bad = fmt.Errorf("%s: shown at %d after %d bytes", id, c.Offset, len(l.text[id]))
	}
	l.text[id] = append(l.text[id], c.Data...)
}

func (l *live) output(id string) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text[id]), l.bad
}
