package execution_test

import (
	"context"
	"io"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/writ-automation/writ/modules/execution"
	"github.com/writ-automation/writ/ports/events"
	ports "github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/runs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type toolFunc = extension.ToolRunnerFunc

// bench is an executor with everything around it.
type bench struct {
	t         *testing.T
	plane     *plane
	signals   *signals
	reaper    *reaper
	live      *live
	config    execution.Config
	tools     ports.Tools
	materials *fakeMaterials // nil provides nothing
	vault     *vault         // nil knows no secret
	agents    *agents
}

func setup(t *testing.T, tool extension.ToolRunner) *bench {
	t.Helper()
	b := &bench{t: t, plane: newPlane(), signals: newSignals(), reaper: &reaper{}, live: &live{},
		tools: ports.Tools{"sh": tool}}
	b.plane.changed = func() { _ = b.signals.Signal(context.Background(), events.TopicQueue, "run") }
	b.config = execution.Config{
		Worker: "w1", Executors: 2, DrainTimeout: 10 * time.Second, KillGrace: time.Second, RunsDir: t.TempDir(),
		WorkDir: "/srv/play",
		Poll:    200 * time.Millisecond,
		Environ: []string{"PATH=/bin", "SECRET=no"},
	}
	return b
}

// start runs an executor; the returned function stops it.
func (b *bench) start() (*execution.Executor, func()) {
	b.t.Helper()
	p := execution.Params{
		Plane: b.plane, Tools: b.tools, Reaper: b.reaper, Live: b.live, Signals: b.signals, Clock: fixedClock{},
		Config: b.config,
	}
	if b.materials != nil {
		p.Materials = b.materials
	}
	if b.vault != nil {
		p.Secrets = b.vault
	}
	if b.agents != nil {
		p.Agents = b.agents
	}
	x, err := execution.New(p)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := x.Start(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	var once sync.Once
	return x, func() {
		once.Do(func() {
			if err := x.Stop(context.Background()); err != nil {
				b.t.Error(err)
			}
		})
	}
}

// until waits for cond; it never sleeps longer than needed.
func (b *bench) until(what string, cond func() bool) {
	b.t.Helper()
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-deadline.C:
			b.t.Fatalf("%s did not happen", what)
		case <-tick.C:
		}
	}
}

// ended waits for a run's end and returns its record.
func (b *bench) ended(id string) record {
	b.t.Helper()
	b.until("the end of "+id, func() bool { return b.plane.see(id).run.Status.Terminal() })
	return b.plane.see(id)
}

func (b *bench) run(r *runs.Run) record {
	b.t.Helper()
	b.plane.submit(r)
	_, stop := b.start()
	defer stop()
	return b.ended(r.ID)
}

// echo prints its command.
var echo = toolFunc(func(_ context.Context, s extension.ToolSpec, out io.Writer) (extension.ToolResult, error) {
	_, err := io.WriteString(out, s.Command)
	return extension.ToolResult{}, err
})

// hang runs until it is killed.
var hang = toolFunc(func(ctx context.Context, _ extension.ToolSpec, out io.Writer) (extension.ToolResult, error) {
	if _, err := io.WriteString(out, "started\n"); err != nil {
		return extension.ToolResult{}, err
	}
	<-ctx.Done()
	return extension.ToolResult{ExitCode: 143}, nil
})

// player is a playbook tool of functions.
type player struct {
	toolFunc
	play   func(ctx context.Context, p ports.Play, sink func(runs.Event) error) (ports.PlayResult, error)
	hosts  func(ctx context.Context) ([]string, []runs.Warning, error)
	survey []runs.Warning
}

func (p *player) Play(
	ctx context.Context, _ extension.ToolSpec, play ports.Play, _ io.Writer, sink func(runs.Event) error,
) (ports.PlayResult, error) {
	return p.play(ctx, play, sink)
}

func (p *player) Hosts(ctx context.Context, _ extension.ToolSpec, _ ports.Play) ([]string, []runs.Warning, error) {
	return p.hosts(ctx)
}

func (p *player) Survey(context.Context, ports.Play) ([]runs.Warning, error) { return p.survey, nil }

var _ ports.PlaybookTool = (*player)(nil)

func codes(list []runs.Warning) []string {
	var out []string
	for _, w := range list {
		out = append(out, w.Code)
	}
	return out
}
