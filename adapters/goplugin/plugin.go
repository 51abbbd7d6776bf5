package goplugin

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/extension/plugin/wire"
	"github.com/writ-automation/writ/ports/system"
)

// pace are the bounds in time and number.
type pace struct {
	start, describe, call time.Duration
	answer                time.Duration // a call of an AI provider
	ping                  time.Duration // how often a process is asked whether it answers
	pause, longest        time.Duration // before a restart, doubled each time
	restarts              int           // without calm in between; then the plugin stays ended
	calm                  time.Duration // a process that lives as long is no failure
	calls                 int           // at once
}

func defaultPace() pace {
	return pace{
		start: 10 * time.Second, describe: 5 * time.Second, call: time.Minute, answer: 3 * time.Minute,
		ping:  15 * time.Second,
		pause: time.Second, longest: time.Minute, restarts: 8, calm: 10 * time.Minute, calls: 32,
	}
}

// supervised is one executable with its supervised process.
type supervised struct {
	texts
	host        *Host
	name, path  string
	lines       *lines
	slots       chan struct{}
	description *wire.Description // nil if it never described itself

	mu       sync.Mutex
	session  *session
	changed  chan struct{} // closed when session or state change
	state    system.ExtensionState
	restarts int
	failure  error
}

func newSupervised(h *Host, f found) *supervised {
	p := &supervised{
		host: h, name: f.name, path: f.path, slots: make(chan struct{}, h.pace.calls), changed: make(chan struct{}),
		state: system.ExtensionFailed, failure: f.err,
	}
	p.texts = newTexts(h.Env[f.name])
	p.lines = &lines{texts: p.texts, log: h.Log.With("plugin", f.name)}
	return p
}

// set changes the state and wakes those who wait for it.
func (p *supervised) set(state system.ExtensionState, s *session, failure error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state, p.session, p.failure = state, s, failure
	close(p.changed)
	p.changed = make(chan struct{})
}

// first launches the plugin for the first time.
func (p *supervised) first(ctx context.Context) {
	if p.failure != nil {
		return
	}
	s, err := p.launch()
	if err == nil {
		if p.description, err = p.describe(ctx, s); err != nil {
			err = errors.Join(err, s.close())
		}
	}
	if err != nil {
		p.description = nil
		p.set(system.ExtensionFailed, nil, err)
		return
	}
	if len(p.description.GetEngines())+len(p.description.GetProviders()) > 0 {
		p.lines.silence()
	}
	p.set(system.ExtensionRunning, s, nil)
}

// supervise starts the process again whenever it ended or stopped answering, until ctx ends.
func (p *supervised) supervise(ctx context.Context) {
	failures := 0
	for p.session != nil {
		ended := p.session
		calm, why := p.watch(ctx, ended)
		p.set(system.ExtensionRestarting, nil, why)
		closing := ended.close()
		if ctx.Err() != nil {
			p.set(system.ExtensionFailed, nil, errEnded)
			return
		}
		if calm {
			failures = 0
		}
		p.host.Log.WarnContext(ctx, "a plugin ended", "plugin", p.name, "error", why, "closing", closing)
		for s := (*session)(nil); s == nil; {
			if failures++; failures > p.host.pace.restarts {
				p.set(system.ExtensionFailed, nil, fmt.Errorf("it ended %d times in a row, at last so: %w", failures, why))
				p.host.Log.ErrorContext(ctx, "a plugin is not started again", "plugin", p.name, "error", why)
				return
			}
			p.set(system.ExtensionRestarting, nil, why)
			pause := min(p.host.pace.pause<<min(failures-1, 16), p.host.pace.longest)
			if !background.Wait(ctx, pause) {
				p.set(system.ExtensionFailed, nil, errEnded)
				return
			}
			if s, why = p.again(ctx); s != nil {
				p.set(system.ExtensionRunning, s, nil)
			}
		}
	}
}

// again launches the plugin once more. What it describes must be what was registered.
func (p *supervised) again(ctx context.Context) (*session, error) {
	p.mu.Lock()
	p.restarts++
	p.mu.Unlock()
	s, err := p.launch()
	if err != nil {
		return nil, err
	}
	d, err := p.describe(ctx, s)
	if err == nil && !proto.Equal(d, p.description) {
		err = errors.New("it describes itself in another way than at the start of writ, which restarts for a new version")
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// watch returns when the process of a session has ended, does not answer any more, or ctx ends. It reports whether the
// process lived for long, and what happened.
func (p *supervised) watch(ctx context.Context, s *session) (calm bool, why error) {
	long := time.NewTimer(p.host.pace.calm)
	defer long.Stop()
	ask := time.NewTicker(p.host.pace.ping)
	defer ask.Stop()
	silent := 0
	for {
		select {
		case <-ctx.Done():
			return calm, ctx.Err()
		case <-s.done:
			return calm, s.err
		case <-long.C:
			calm = true
		case <-ask.C:
			p.lines.refill()
			if _, err := p.describe(ctx, s); err == nil {
				silent = 0
				continue
			} else if silent++; silent > 1 {
				return calm, err
			}
		}
	}
}

// errBusy is the error of a call beyond the bound in number.
var errBusy = errors.New("too many calls at once")

// request makes a call and returns its answer.
type request func(ctx context.Context, c wire.ExtensionClient) (proto.Message, error)

// call makes one call, within the bounds. A plugin that restarts is waited for.
func (p *supervised) call(ctx context.Context, do request) error {
	return p.callWithin(ctx, p.host.pace.call, do)
}

// callWithin is call with another limit.
func (p *supervised) callWithin(ctx context.Context, limit time.Duration, do request) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return fmt.Errorf("plugin %s: %w: %w", p.name, errBusy, ctx.Err())
	}
	s, err := p.running(ctx)
	if err != nil {
		return fmt.Errorf("plugin %s: %w", p.name, err)
	}
	answer, err := do(ctx, s.client)
	if status.Code(err) == codes.Canceled && ctx.Err() == nil { // its connection was closed
		err = status.Error(codes.Unavailable, "")
	}
	if err != nil {
		return fmt.Errorf("plugin %s: %w", p.name, p.fault(err))
	}
	if err := wire.Strict(answer); err != nil {
		return fmt.Errorf("plugin %s: %w", p.name, err)
	}
	return nil
}

// running returns the session, and waits for one while the plugin restarts.
func (p *supervised) running(ctx context.Context) (*session, error) {
	for {
		p.mu.Lock()
		s, state, changed := p.session, p.state, p.changed
		p.mu.Unlock()
		switch {
		case s != nil:
			return s, ctx.Err()
		case state == system.ExtensionFailed:
			return nil, errors.New("it does not run")
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("it restarts: %w", ctx.Err())
		}
	}
}

// fault returns the error of a call in a bounded text.
func (t texts) fault(err error) error {
	s, ok := status.FromError(err)
	if !ok {
		return errors.New(t.short(err.Error()))
	}
	switch s.Code() {
	case codes.DeadlineExceeded:
		return fmt.Errorf("it did not answer in time: %w", context.DeadlineExceeded)
	case codes.Canceled:
		return context.Canceled
	case codes.Unavailable:
		return errors.New("it ended during the call")
	case codes.ResourceExhausted:
		return errors.New("its answer or the request is too large")
	default:
		return errors.New(t.short(s.Message()))
	}
}
