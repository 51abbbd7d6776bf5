package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/writ-automation/writ/ports/runs"
)

// Bounds of following a pipeline.
const (
	maxStreams   = 8    // steps that are followed at once
	maxStepRuns  = 1000 // with their retries
	maxPrefix    = 20
	maxHeldBytes = 64 << 10
)

// familyWatcher watches a run and, of a pipeline, its steps.
type familyWatcher interface {
	watcher
	// step makes the watcher of the run of a step. It is called before that run is followed.
	step(name string) stepWatcher
	// skipped is called once for each step that was skipped, with the reason if it is known.
	skipped(name, reason string)
}

// stepWatcher watches the run of a step.
type stepWatcher interface {
	watcher
	end(r record, failures []failure)
}

// family follows a run, and the runs of its steps as they come.
type family struct {
	familyWatcher
	c      *client
	ctx    context.Context
	errs   io.Writer
	known  map[string]bool // runs of steps, and names of skipped steps
	slots  chan struct{}
	active sync.WaitGroup
}

// followFamily follows a run as follow does, and with a pipeline its steps. It returns when all of them have ended.
func (c *client) followFamily(ctx context.Context, id string, to familyWatcher, errs io.Writer) (record, error) {
	within, stop := context.WithCancel(ctx)
	defer stop()
	f := &family{familyWatcher: to, c: c, ctx: within, errs: errs, known: map[string]bool{},
		slots: make(chan struct{}, maxStreams)}
	r, err := c.follow(within, id, f)
	if err == nil {
		f.steps(&r)
	} else {
		stop()
	}
	f.active.Wait()
	if err == nil {
		err = ctx.Err() // the steps were not followed to their ends
	}
	return r, err
}

func (f *family) run(r record) {
	f.familyWatcher.run(r)
	f.steps(&r)
}

// steps begins to follow the runs of steps that are new.
func (f *family) steps(r *record) {
	var reasons map[string]string
	for _, s := range r.Steps {
		switch {
		case s.RunID != "" && !f.known[s.RunID] && len(f.known) < maxStepRuns:
			f.known[s.RunID] = true
			to := f.step(s.Name)
			f.active.Go(func() { f.follow(s.Name, s.RunID, to) })
		case s.Status == string(runs.Skipped) && !f.known[s.Name]:
			f.known[s.Name] = true
			if reasons == nil {
				reasons = f.c.skips(f.ctx, r.ID)
			}
			f.skipped(s.Name, reasons[s.Name])
		}
	}
}

// follow follows the run of a step. The pipeline's own stream reports a lost connection for all of them.
func (f *family) follow(name, id string, to stepWatcher) {
	select {
	case f.slots <- struct{}{}:
		defer func() { <-f.slots }()
	case <-f.ctx.Done():
		return
	}
	r, err := (&follower{c: f.c, id: id, to: quiet{to}, known: true}).follow(f.ctx)
	switch {
	case f.ctx.Err() != nil:
	case err != nil:
		_, _ = fmt.Fprintf(f.errs, "writ: step %s is no longer followed: %s\n", oneLine(name, 60), err)
	default:
		to.end(r, f.c.failures(f.ctx, id, &outcome{}))
	}
}

// quiet is a watcher that reports no lost connection.
type quiet struct{ watcher }

func (quiet) lost(error) {}

// skips returns why steps of a pipeline were skipped, by their names.
func (c *client) skips(ctx context.Context, id string) map[string]string {
	var why struct {
		Reasons []runs.Reason `json:"reasons"`
	}
	out := map[string]string{}
	if c.call(ctx, http.MethodGet, runPath(id, "/why"), nil, &why) != nil {
		return out
	}
	for _, r := range why.Reasons {
		if r.Code == "step_skipped" {
			out[r.Object] = strings.TrimPrefix(r.Text, fmt.Sprintf("step %q: ", r.Object))
		}
	}
	return out
}

// stepsEnd prints the steps of a pipeline in their order.
func (c *client) stepsEnd(ctx context.Context, s screen, r *record) {
	var page struct {
		Steps []record `json:"steps"`
	}
	if c.call(ctx, http.MethodGet, runPath(r.ID, "/steps"), nil, &page) != nil {
		return
	}
	by := map[string]*record{}
	for i := range page.Steps {
		by[page.Steps[i].ID] = &page.Steps[i]
	}
	rows := make([][]field, 0, len(r.Steps))
	for _, x := range r.Steps {
		state, took, hosts := r.shown(x.Status), "-", "-"
		if run := by[x.RunID]; run != nil {
			took, hosts = seconds(run.DurationMS), fmt.Sprint(run.HostsTouched)
		}
		rows = append(rows, []field{{text: oneLine(x.Name, mostName)}, {text: oneLine(state, 20), status: state},
			{text: took, number: true}, {text: hosts, number: true}, {text: oneLine(x.RunID, 80)}})
	}
	_, _ = fmt.Fprintln(s.w)
	s.table([]string{"STEP", "STATUS", "TOOK", "HOSTS", "ID"}, rows)
	_, _ = fmt.Fprintln(s.w)
}

// shared is an output that several steps write to, one call at a time.
type shared struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}

// prefixed passes whole lines on, each behind the name of its step. It may be written to by one step at a time.
type prefixed struct {
	to     io.Writer
	prefix string
	tty    bool
	held   []byte
}

func (p *prefixed) Write(data []byte) (int, error) {
	p.held = append(p.held, data...)
	var out bytes.Buffer
	for {
		i := bytes.IndexByte(p.held, '\n')
		if i < 0 && len(p.held) < maxHeldBytes {
			break
		}
		rest := i + 1
		if i < 0 {
			i, rest = len(p.held), len(p.held)
		}
		p.line(&out, p.held[:i])
		p.held = p.held[rest:]
	}
	if out.Len() == 0 {
		return len(data), nil
	}
	if _, err := p.to.Write(out.Bytes()); err != nil {
		return 0, err
	}
	return len(data), nil
}

func (p *prefixed) line(out *bytes.Buffer, text []byte) {
	if p.tty { // a line that overwrites itself would overwrite the prefix
		text = bytes.TrimRight(text, "\r")
		text = text[bytes.LastIndexByte(text, '\r')+1:]
	}
	prefix := p.prefix
	if len(text) == 0 {
		prefix = strings.TrimRight(prefix, " ")
	}
	_, _ = fmt.Fprintf(out, "%s%s\n", prefix, text)
}

// flush passes an unfinished line on.
func (p *prefixed) flush() error {
	if len(p.held) == 0 {
		return nil
	}
	_, err := p.Write([]byte("\n"))
	return err
}

// prefix names a step in front of its lines.
func (s screen) prefix(name string, width int) string {
	return s.paint("dim", pad(oneLine(name, maxPrefix), min(width, maxPrefix))+" | ")
}

// prefixWidth is as wide as the longest name of a step.
func (r *record) prefixWidth() (n int) {
	for _, s := range r.Steps {
		n = max(n, cellsOf(oneLine(s.Name, maxPrefix)))
	}
	return n
}
