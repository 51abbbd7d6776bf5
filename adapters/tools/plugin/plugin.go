// Package plugin runs the tools of plugins: each call starts the executable of the plugin once more, inside the box of
// the run.
package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"time"

	"github.com/writ-automation/writ/adapters/tools/proc"
	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/extension/plugin/wire"
)

// reportTime bounds the wait for the rest of a report when all processes of the run have ended.
const reportTime = 5 * time.Second

// Tool is a tool of a plugin.
type Tool struct {
	runner *proc.Runner
	name   string
	plugin string
	path   string
}

var _ extension.ToolRunner = (*Tool)(nil)

// New makes the tool of a plugin, whose executable is at path.
func New(r *proc.Runner, name, plugin, path string) *Tool {
	return &Tool{runner: r, name: name, plugin: plugin, path: path}
}

// Run starts the process, gives it the input, and returns what it reports.
func (t *Tool) Run(ctx context.Context, spec extension.ToolSpec, out io.Writer) (extension.ToolResult, error) {
	r, err := t.run(ctx, spec, out)
	if err != nil {
		return extension.ToolResult{}, fmt.Errorf("the plugin %s: %w", t.plugin, err)
	}
	return r, nil
}

func (t *Tool) run(ctx context.Context, spec extension.ToolSpec, out io.Writer) (none extension.ToolResult, err error) {
	inside := proc.InsideOf(ctx)
	inside.Show(t.path)
	if err := inside.Sees(t.path); err != nil {
		return none, err
	}
	call, err := wire.EncodeCall(t.name, spec)
	if err != nil {
		return none, fmt.Errorf("encode the input: %w", err)
	}
	p, err := newPipes(call)
	if err != nil {
		return none, fmt.Errorf("make a pipe: %w", err)
	}
	env := maps.Clone(spec.Env)
	if env == nil {
		env = map[string]string{}
	}
	env[wire.ModeVar] = wire.RunsTool
	code, err := t.runner.Run(ctx, proc.Command{
		Path: t.path, Dir: spec.Dir, Env: proc.Environ(env), ExtraFiles: []*os.File{p.callOut, p.endIn}, Stdout: out,
	})
	report := p.finish()
	if err != nil {
		return none, err
	}
	return t.result(ctx, spec, code, report)
}

// result returns how a process ended. A process that was canceled may end without a report.
func (t *Tool) result(
	ctx context.Context, spec extension.ToolSpec, code int, report []byte,
) (none extension.ToolResult, err error) {
	r, failed, err := wire.DecodeEnd(report)
	switch {
	case ctx.Err() != nil && (err != nil || code != 0):
		return extension.ToolResult{ExitCode: max(code, 1)}, nil
	case errors.Is(err, wire.ErrNotReported):
		return none, fmt.Errorf("its process ended before the tool did, with exit code %d", code)
	case err != nil:
		return none, err
	case code != 0:
		return none, fmt.Errorf("its process ended with exit code %d after the tool", code)
	}
	if failed != nil {
		return none, failed
	}
	if !spec.DryRun {
		r.Plan = nil
	}
	return r, nil
}

// pipes carry the input and the report. The ends of the process are callOut and endIn.
type pipes struct {
	callOut, callIn, endOut, endIn *os.File
	written                        chan struct{}
	report                         chan []byte
}

// newPipes makes the pipes and serves the own ends until finish.
func newPipes(call []byte) (*pipes, error) {
	p := &pipes{written: make(chan struct{}), report: make(chan []byte, 1)}
	var err error
	if p.callOut, p.callIn, err = os.Pipe(); err != nil {
		return nil, err
	}
	if p.endOut, p.endIn, err = os.Pipe(); err != nil {
		return nil, errors.Join(err, p.callOut.Close(), p.callIn.Close())
	}
	go func() {
		defer close(p.written)
		_, _ = p.callIn.Write(call) // a process that does not read it does not report either
		_ = p.callIn.Close()
	}()
	go func() {
		report, _ := io.ReadAll(io.LimitReader(p.endOut, wire.MaxEnd+1))
		_, _ = io.Copy(io.Discard, p.endOut)
		p.report <- report
	}()
	return p, nil
}

// finish returns the report, when the process has ended.
func (p *pipes) finish() []byte {
	_ = p.callOut.Close() // ends a write that nobody reads
	<-p.written
	_ = p.endIn.Close()
	_ = p.endOut.SetReadDeadline(clock.Deadline(reportTime))
	report := <-p.report
	_ = p.endOut.Close()
	return report
}
