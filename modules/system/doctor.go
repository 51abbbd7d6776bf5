package system

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/system"
)

// Bounds of an examination.
const (
	// checksAtOnce is the number of concurrent checks.
	checksAtOnce = 4
	// checkWithin is the timeout of a check, and settling the part of it that remains for returning partial findings
	// after its context has ended.
	checkWithin = 10 * time.Second
	settling    = 500 * time.Millisecond
)

// Doctor runs checks. It is safe for concurrent use: concurrent callers share one examination, and a check that hangs
// holds one goroutine, however many examinations there are.
type Doctor struct {
	runners []*checkRunner
	log     *slog.Logger
	end     context.CancelFunc
	ctx     context.Context // of every check; no caller's context ends a shared examination

	mu      sync.Mutex
	current *examination
	alive   int // goroutines
	closed  bool
	idle    chan struct{} // closed once closed is set and no goroutine is alive
}

// examination is one examination. report is read after done is closed.
type examination struct {
	done   chan struct{}
	report system.Report
}

var _ system.Doctor = (*Doctor)(nil)

// DoctorParams are the dependencies of Doctor. Log may be nil.
type DoctorParams struct {
	Checks []system.Check
	Log    *slog.Logger
}

var checkName = lazyregexp.New(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

// NewDoctor creates a doctor of checks. It returns an error for a check that is nil, has no name in snake_case or has
// the name of another one. The caller closes it.
func NewDoctor(p DoctorParams) (*Doctor, error) {
	d := &Doctor{log: p.Log, idle: make(chan struct{})}
	d.log = cmp.Or(d.log, slog.New(slog.DiscardHandler))
	for _, c := range p.Checks {
		if c == nil {
			return nil, errors.New("system: a check is missing")
		}
		s := &checkRunner{check: c, name: c.Name()}
		if !checkName.MatchString(s.name) || slices.ContainsFunc(d.runners, func(o *checkRunner) bool {
			return o.name == s.name
		}) {
			return nil, fmt.Errorf("system: the name %q of a check is taken or not in snake_case", s.name)
		}
		d.runners = append(d.runners, s)
	}
	slices.SortFunc(d.runners, func(a, b *checkRunner) int { return strings.Compare(a.name, b.name) })
	d.ctx, d.end = context.WithCancel(context.Background())
	return d, nil
}

// Examine returns an Unavailable fault after Close, and the error of ctx if that ends before the examination.
func (d *Doctor) Examine(ctx context.Context) (system.Report, error) {
	v, err := d.join()
	if err != nil {
		return system.Report{}, err
	}
	select {
	case <-v.done:
		return shared(v.report), nil
	case <-ctx.Done():
		return system.Report{}, fmt.Errorf("wait for the examination: %w", ctx.Err())
	}
}

// Close cancels the examination in progress and refuses further ones. It returns when every check has ended, or the
// error of ctx if that ends before.
func (d *Doctor) Close(ctx context.Context) error {
	d.end()
	d.mu.Lock()
	if !d.closed {
		d.closed = true
		d.settle()
	}
	d.mu.Unlock()
	select {
	case <-d.idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the checks: %w", ctx.Err())
	}
}

// join returns the examination in progress, or starts one.
func (d *Doctor) join() (*examination, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, &fault.Error{Kind: fault.Unavailable, Message: "the server stops"}
	}
	if d.current != nil {
		return d.current, nil
	}
	v := &examination{done: make(chan struct{})}
	d.current = v
	d.alive++
	go func() {
		defer d.leave()
		v.report = d.examine()
		d.mu.Lock()
		d.current = nil
		d.mu.Unlock()
		close(v.done)
	}()
	return v, nil
}

// leave decrements the number of goroutines.
func (d *Doctor) leave() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.alive--
	d.settle()
}

// settle closes idle if no goroutine is left. The lock is held.
func (d *Doctor) settle() {
	if d.closed && d.alive == 0 {
		close(d.idle)
	}
}

// examine runs every check and combines their findings.
func (d *Doctor) examine() system.Report {
	found := make([]system.Examination, len(d.runners))
	slots := make(chan struct{}, checksAtOnce)
	var all sync.WaitGroup
	for i, s := range d.runners {
		slots <- struct{}{} // a check returns it within its timeout
		all.Go(func() {
			defer func() { <-slots }()
			found[i] = d.runCheck(s)
		})
	}
	all.Wait()
	return report(d.runners, found)
}
