package system

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/system"
)

// Bounds of an examination.
const (
	// checksAtOnce is how many checks look at the same time.
	checksAtOnce = 4
	// checkWithin is how long a check may take, and settling how much of that it has left to tell what it found so far
	// once its context has ended.
	checkWithin = 10 * time.Second
	settling    = 500 * time.Millisecond
)

// Doctor runs checks. It is safe for concurrent use: callers that come while an examination is under way share it,
// and a check that hangs beyond its time holds one goroutine, however often it is asked for.
type Doctor struct {
	runners []*checkRunner
	log     *slog.Logger
	end     context.CancelFunc
	ctx     context.Context // of every check: what is shared by many ends with none of them

	mu      sync.Mutex
	current *examination
	alive   int // goroutines
	closed  bool
	idle    chan struct{} // closed once it is closed and nothing is alive
}

// examination is one examination. report is read after done is closed.
type examination struct {
	done   chan struct{}
	report system.Report
}

var _ system.Doctor = (*Doctor)(nil)

// DoctorParams are what an examination needs. Log may be nil.
type DoctorParams struct {
	Checks []system.Check
	Log    *slog.Logger
}

var checkName = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

// NewDoctor makes a doctor of checks. It returns an error for a check that is nil, has no name in snake_case or has
// the name of another one. Whoever makes it closes it.
func NewDoctor(p DoctorParams) (*Doctor, error) {
	d := &Doctor{log: p.Log, idle: make(chan struct{})}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	for _, c := range p.Checks {
		if c == nil {
			return nil, errors.New("system: a check is missing")
		}
		s := &checkRunner{check: c, name: c.Name()}
		if !checkName.MatchString(s.name) || slices.ContainsFunc(d.runners, func(o *checkRunner) bool { return o.name == s.name }) {
			return nil, fmt.Errorf("system: the name %q of a check is taken or not in snake_case", s.name)
		}
		d.runners = append(d.runners, s)
	}
	slices.SortFunc(d.runners, func(a, b *checkRunner) int { return strings.Compare(a.name, b.name) })
	d.ctx, d.end = context.WithCancel(context.Background())
	return d, nil
}

// Examine returns an Unavailable fault once the doctor is closed, and the error of a context that ends before the
// examination does.
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

// Close ends what is under way and refuses further examinations. It returns when every check has ended, or the error
// of a context that ends before.
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

// join returns the examination under way, or starts one.
func (d *Doctor) join() (*examination, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, &fault.Error{Kind: fault.Unavailable, Message: "the server ends"}
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

// leave counts a goroutine that ends.
func (d *Doctor) leave() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.alive--
	d.settle()
}

// settle tells Close that nothing is left. The lock is held.
func (d *Doctor) settle() {
	if d.closed && d.alive == 0 {
		close(d.idle)
	}
}

// examine runs every check and puts together what they found.
func (d *Doctor) examine() system.Report {
	found := make([]system.Examination, len(d.runners))
	slots := make(chan struct{}, checksAtOnce)
	var all sync.WaitGroup
	for i, s := range d.runners {
		slots <- struct{}{} // given back within the time of a check
		all.Go(func() {
			defer func() { <-slots }()
			found[i] = d.runCheck(s)
		})
	}
	all.Wait()
	return report(d.runners, found)
}
