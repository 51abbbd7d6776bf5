package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/writ-automation/writ/platform/boundary"
)

// RunIDVar is the environment variable that identifies the processes of a run.
const RunIDVar = "WRIT_RUN_ID"

// Command is one process tree to run.
type Command struct {
	// Path is the executable, absolute, or in a container also a name on the PATH of its image; Args are its arguments
	// without the name.
	Path string
	Args []string
	// Dir is the working directory, which must exist.
	Dir string
	// Env is the whole environment as NAME=value. Nothing is added or inherited.
	Env []string
	// ExtraFiles become the descriptors 3 and up. The caller closes them.
	ExtraFiles []*os.File
	// Stdout receives the standard output, nil discards it. Stderr receives the errors; if it is nil, they are merged
	// into the output in the order of the writes.
	Stdout, Stderr io.Writer
}

// runID returns the run id from the environment, empty for none.
func (c Command) runID() string {
	for _, kv := range c.Env {
		if id, ok := strings.CutPrefix(kv, RunIDVar+"="); ok {
			return id
		}
	}
	return ""
}

// Run starts the command, copies its output and returns the leader's exit code, or 128+n if signal n ended it, once
// the output is complete and every process of the tree has ended. Standard input is the null device.
//
// A cancelled context ends the tree: SIGTERM to the process group, SIGKILL to all remaining processes after the grace.
// The result is then the exit code of the leader, not an error. An error reports that the command could not be started
// or that output could not be written; a context that ended before the start is such an error.
func (r *Runner) Run(ctx context.Context, c Command) (int, error) {
	if err := r.enter(); err != nil {
		return 0, err
	}
	defer r.running.Done()
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("proc: not started: %w", err)
	}
	var out outputPipes
	defer out.close()
	files, err := out.open(r.null, c)
	if err != nil {
		return 0, fmt.Errorf("proc: make a pipe: %w", err)
	}
	t, err := r.launch(ctx, c, files)
	if err != nil {
		return 0, fmt.Errorf("start %s: %w", c.Path, startError(err))
	}
	out.start()
	code, err := t.supervise(ctx)
	if t.exhausted {
		enclosureOf(ctx).exhausted.Store(true) // no other has a limit
	}
	return code, errors.Join(err, out.finish(r.drain))
}

// errOutside is the error of a command that no enclosure contains although there is a boundary.
var errOutside = errors.New("the command belongs to no run, and only runs are executed")

// startError names the cause if the child exceeded the limit of descriptors: it duplicates its files to numbers beyond
// the limit, and gets EBADF.
func startError(err error) error {
	if errors.Is(err, syscall.EBADF) {
		return fmt.Errorf("%w: %w", syscall.EMFILE, err)
	}
	return err
}

// launch starts the leader, in a control group if available. After a failure it starts once more without the group, to
// distinguish a failing group from a failing executable, unless the group limits the memory.
func (r *Runner) launch(ctx context.Context, c Command, files []*os.File) (t *tree, err error) {
	q, inside, err := r.request(ctx, c, files)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil && inside != nil {
			inside.Close()
		}
	}()
	t = &tree{runner: r, runID: c.runID(), inside: inside}
	if t.cgroup, err = r.groups.Take(enclosureOf(ctx).limits()); err != nil {
		return nil, err
	}
	q.group = t.cgroup
	p, err := r.start(q)
	if refused := t.cgroup; err != nil && refused != nil {
		if refused.Limits().Memory == 0 {
			q.attr.Sys.UseCgroupFD, q.attr.Sys.CgroupFD = false, 0
			t.cgroup, q.group = nil, nil
			if p, err = r.start(q); err == nil {
				r.groups.Disable()
			}
		}
		if err != nil {
			r.groups.Return(refused)
		}
	}
	if err != nil {
		return nil, err
	}
	if inside != nil {
		inside.Started()
	}
	t.process = p
	return t, nil
}

// request returns how a command is started: inside the boundary of its run, or by itself where there is none.
func (r *Runner) request(ctx context.Context, c Command, files []*os.File) (startRequest, *boundary.Start, error) {
	if r.boundary.Status().Level == boundary.None {
		attr := &os.ProcAttr{Dir: c.Dir, Env: c.Env, Files: files}
		if attr.Env == nil {
			attr.Env = []string{}
		}
		attr.Sys = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
		return startRequest{path: c.Path, argv: append([]string{c.Path}, c.Args...), attr: attr}, nil, nil
	}
	p := InsideOf(ctx)
	if p == nil {
		return startRequest{}, nil, errOutside
	}
	b := p.command(c)
	b.Files = files
	s, err := r.boundary.Prepare(b)
	if err != nil {
		return startRequest{}, nil, err
	}
	return startRequest{path: s.Path, argv: s.Argv, attr: s.Attr}, s, nil
}

// outputPipes holds the pipes between a child and the writers of its output.
type outputPipes struct {
	streams []*stream
	ends    []*os.File // the child's ends
	done    sync.WaitGroup
}

// stream copies one pipe.
type stream struct {
	from *os.File
	to   io.Writer
	err  error
}

// open makes the pipes and returns the child's descriptors.
func (p *outputPipes) open(null *os.File, c Command) ([]*os.File, error) {
	files := append([]*os.File{null, null, null}, c.ExtraFiles...)
	for fd, w := range map[int]io.Writer{1: c.Stdout, 2: c.Stderr} {
		if w == nil {
			continue
		}
		from, to, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		p.streams = append(p.streams, &stream{from: from, to: w})
		p.ends = append(p.ends, to)
		files[fd] = to
	}
	if c.Stderr == nil {
		files[2] = files[1]
	}
	return files, nil
}

// start closes the child's ends in this process, so that the pipes end with the child, and starts copying.
func (p *outputPipes) start() {
	p.closeEnds()
	for _, s := range p.streams {
		p.done.Go(s.copy)
	}
}

// finish waits for the end of the output. After the delay it closes pipes that are still open.
func (p *outputPipes) finish(delay time.Duration) error {
	cut := time.AfterFunc(delay, p.closeStreams)
	p.done.Wait()
	cut.Stop()
	var errs []error
	for _, s := range p.streams {
		errs = append(errs, s.err)
	}
	return errors.Join(errs...)
}

func (p *outputPipes) close() {
	p.closeEnds()
	p.closeStreams()
}

func (p *outputPipes) closeEnds() {
	for _, f := range p.ends {
		f.Close()
	}
	p.ends = nil
}

func (p *outputPipes) closeStreams() {
	for _, s := range p.streams {
		s.from.Close()
	}
}

// The buffer of a stream is small, since most programs print little, and grows while it is filled.
const (
	firstChunk = 2 << 10
	maxChunk   = 32 << 10
)

// copy passes on the child's output. After a failed write it still drains the pipe, so that the child does not block
// on a log that cannot be stored.
func (s *stream) copy() {
	b := make([]byte, firstChunk)
	for {
		n, err := s.from.Read(b)
		if n > 0 && s.err == nil {
			if _, werr := s.to.Write(b[:n]); werr != nil {
				s.err = fmt.Errorf("proc: hand on output: %w", werr)
			}
		}
		if err != nil {
			return
		}
		if n == len(b) && n < maxChunk {
			b = make([]byte, 2*n)
		}
	}
}
