package ansible

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/writ-automation/writ/adapters/tools/proc"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/runs"
)

const (
	// eventsFD is the descriptor of the events in the child: the first after the standard ones.
	eventsFD = 3
	// eventsPipe is the capacity of the pipe; below it a slow reader does not slow the play.
	eventsPipe = 1 << 20
	// eventsDelay bounds the wait for the end of the events after the processes ended.
	eventsDelay = 5 * time.Second
)

// A playbook that is missing or outside the directory of a confined run is a failed play with Error set; a control
// that must not reach Ansible is an Invalid fault. An error of the sink ends the play and is returned.
func (t *Tool) Play(
	ctx context.Context, spec extension.ToolSpec, p execution.Play, out io.Writer, sink func(runs.Event) error,
) (execution.PlayResult, error) {
	defer forget(p.Login)
	path, err := t.executable(ctx, spec.Env, "ansible-playbook")
	if err != nil {
		return execution.PlayResult{}, err
	}
	j, err := t.prepare(ctx, spec, p)
	var refused refusal
	if errors.As(err, &refused) {
		fmt.Fprintf(out, "ERROR! %s\n", refused)
		return execution.PlayResult{ToolResult: extension.ToolResult{ExitCode: 1}, Error: string(refused)}, nil
	}
	if err != nil {
		return execution.PlayResult{}, err
	}
	defer j.close()
	n := newNotes(p)
	tr := newTranslator(n)
	tr.bound = proc.InsideOf(ctx).Bound()
	tail := &tailWriter{to: out}
	started := sync.OnceFunc(func() { forget(p.Login) }) // Ansible has read them before it prints anything
	code, err := t.watch(ctx, j, path, tail, func(r record) []runs.Event {
		started()
		return tr.translate(r)
	}, sink)
	if err != nil {
		return execution.PlayResult{ToolResult: extension.ToolResult{ExitCode: code}}, err
	}
	return conclude(ctx, code, j, p, tr, tail), nil
}

// watch runs the playbook and passes its events to the sink in order. After a cancel it drops the recap, in which an
// interrupted host counts as unreachable.
func (t *Tool) watch(
	ctx context.Context, j *job, path string, out io.Writer, translate func(record) []runs.Event,
	sink func(runs.Event) error,
) (int, error) {
	from, to, err := os.Pipe()
	if err != nil {
		return 0, fmt.Errorf("ansible: make the pipe of the events: %w", err)
	}
	defer from.Close()
	defer to.Close()
	// If this fails, the pipe keeps the kernel's smaller default size.
	_, _ = unix.FcntlInt(to.Fd(), unix.F_SETPIPE_SZ, eventsPipe)
	nonce := rand.Text()
	j.env["WRIT_EVENTS"] = fmt.Sprintf("%d:%s", eventsFD, nonce)

	run, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() {
		var failed error
		_, err := decode(from, nonce, func(r record) {
			if ctx.Err() != nil && (r.Ev == "stats" || r.Ev == "outputs") {
				return
			}
			for _, e := range translate(r) {
				if failed == nil {
					failed = sink(t.stamp(e))
				}
			}
			if failed != nil {
				stop()
			}
		})
		if failed == nil && !errors.Is(err, os.ErrClosed) {
			failed = err
		}
		done <- failed
	}()
	c := j.command(path, j.args...)
	c.Stdout, c.ExtraFiles = out, []*os.File{to}
	code, err := t.runner.Run(run, c)
	to.Close()
	cut := time.AfterFunc(eventsDelay, func() { from.Close() })
	defer cut.Stop()
	if serr := <-done; serr != nil {
		return code, fmt.Errorf("ansible: hand on events: %w", serr)
	}
	return code, err
}

// stamp sets an event to the server's time if the callback's record had none.
func (t *Tool) stamp(e runs.Event) runs.Event {
	if e.At.Unix() <= 0 {
		e.At = t.clock.Now()
	}
	return e
}

// conclude determines how the play ended.
func conclude(
	ctx context.Context, code int, j *job, p execution.Play, tr *translator, tail *tailWriter,
) execution.PlayResult {
	res := execution.PlayResult{
		ToolResult: extension.ToolResult{ExitCode: code}, Complete: tr.stats != nil, Touched: len(tr.touched),
		Version: tr.version,
	}
	cancelled := ctx.Err() != nil && !res.Complete
	if !cancelled && !res.Complete && code != 0 {
		res.Error = tail.failure()
		if code == 1 && limitLeavesNobody(res.Error) && tr.notes.tasks == 0 {
			tr.notes.limitFailed = true
			res.ExitCode, res.Complete, res.Error = 0, true, ""
		} else if res.Error == "" {
			res.Error = fmt.Sprintf("Ansible ended with exit code %d and without a recap.", code)
		}
	}
	if tr.refused && code != 0 && res.Error == "" {
		res.Error = tr.bound
	}
	res.Warnings = tr.notes.list(res.Touched, tr.stats, p.LimitHosts != nil, res.Complete)
	if cancelled && j.pipelined && res.Touched+tr.notes.tasks > 0 {
		res.Warnings = append(res.Warnings, runs.Warning{
			Code: runs.WarnRemoteMayContinue,
			Message: "Commands that had begun on the hosts may still be running there: with pipelining a cancel does not " +
				"reach them.",
		})
	}
	return res
}
