package demo

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"time"

	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/runs"
)

// Tools replaces all tools by ones that execute nothing: they report what an execution would, a few results a second.
func Tools(real execution.Tools, c clock.Clock) execution.Tools {
	out := execution.Tools{}
	for name := range real {
		out[name] = extension.ToolRunnerFunc(runScript)
	}
	out[runs.Ansible] = playbookTool{c, fleet(), playbooks()}
	return out
}

// runScript prints lines, one each second.
func runScript(ctx context.Context, _ extension.ToolSpec, out io.Writer) (extension.ToolResult, error) {
	for _, l := range append(diskLines(12), "\x1b[32mdone\x1b[0m") {
		if _, err := fmt.Fprintln(out, l); err != nil {
			return extension.ToolResult{}, err
		}
		if !background.Wait(ctx, time.Second) {
			return extension.ToolResult{ExitCode: 143}, nil
		}
	}
	return extension.ToolResult{}, nil
}

// playbookTool plays the playbooks of the demo.
type playbookTool struct {
	clock     clock.Clock
	fleet     []string
	playbooks map[string]*playbook
}

var _ execution.PlaybookTool = playbookTool{}

// Run is for a run without a playbook.
func (p playbookTool) Run(ctx context.Context, s extension.ToolSpec, out io.Writer) (extension.ToolResult, error) {
	return runScript(ctx, s, out)
}

// hosts returns the hosts of a play.
func (p playbookTool) hosts(q execution.Play) []string {
	if q.LimitHosts != nil {
		return q.LimitHosts
	}
	return chosen(p.fleet, q.Limit)
}

// Hosts returns the hosts of a play.
func (p playbookTool) Hosts(
	_ context.Context, _ extension.ToolSpec, q execution.Play,
) ([]string, []runs.Warning, error) {
	return p.hosts(q), nil, nil
}

// Survey finds nothing.
func (playbookTool) Survey(context.Context, execution.Play) ([]runs.Warning, error) { return nil, nil }

// pause is the mean time between two results of a play.
const pause = 250 * time.Millisecond

// Play plays a playbook until it ends or ctx does.
func (p playbookTool) Play(
	ctx context.Context, spec extension.ToolSpec, q execution.Play, out io.Writer, sink func(runs.Event) error,
) (execution.PlayResult, error) {
	b := p.playbooks[filepath.Base(q.Playbook)]
	if b == nil {
		return execution.PlayResult{ToolResult: extension.ToolResult{ExitCode: 1},
			Error: "the demo has no such playbook"}, nil
	}
	changes := []int{1, 3}
	a := act{playbook: b, hosts: p.hosts(q), dryRun: spec.DryRun, pace: pause, group: 1,
		outcome: unlucky(changes, -1, 0, outcome{}), rng: rand.New(rand.NewPCG(rand.Uint64(), 0))}
	r := newRecord(time.Time{})
	result := func(code int) execution.PlayResult {
		return execution.PlayResult{ToolResult: extension.ToolResult{ExitCode: code}, Touched: len(r.order),
			Version: ToolVersion}
	}
	for s := range a.steps() {
		if !background.Wait(ctx, s.after) {
			return result(143), nil
		}
		r.add(s, 1)
		if _, err := io.WriteString(out, s.text); err != nil {
			return result(1), err
		}
		for _, e := range s.events {
			e.At = p.clock.Now()
			if err := sink(e); err != nil {
				return result(1), err
			}
		}
	}
	end := result(0)
	end.Complete = true
	return end, nil
}
