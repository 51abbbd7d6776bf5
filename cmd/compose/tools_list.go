package compose

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/goplugin"
	"github.com/writ-automation/writ/adapters/tools/ansible"
	"github.com/writ-automation/writ/adapters/tools/golang"
	"github.com/writ-automation/writ/adapters/tools/plugin"
	"github.com/writ-automation/writ/adapters/tools/proc"
	"github.com/writ-automation/writ/adapters/tools/script"
	executionmodule "github.com/writ-automation/writ/modules/execution"
	"github.com/writ-automation/writ/platform/boundary"
	"github.com/writ-automation/writ/platform/cgroup"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/extension"
)

// ansibleState is the directory for Ansible's callback, in the data directory. Runs see it.
const ansibleState = "ansible"

// newTools lists every built-in tool, one line each, and adds those that extensions registered. Registration ends here.
func newTools(
	r *proc.Runner, b *boundary.Boundary, c clock.Clock, x *Executor, d *dataDir, e executionmodule.Config,
	plugins *goplugin.Host,
) (execution.Tools, error) {
	state := d.path(ansibleState)
	if b.Status().Level == boundary.Users { // nothing shows a run what is in the data directory
		state = filepath.Join(e.RunsDir, ansibleState)
	}
	play, err := ansible.New(r, c, ansible.Config{StateDir: state, DefaultForks: x.DefaultForks})
	if err != nil {
		return nil, err
	}
	cache := d.path("go")
	tools := execution.Tools{
		"ansible":    play,
		"bash":       script.Bash(r),
		"python":     script.Python(r),
		"powershell": script.PowerShell(r),
		"go":         golang.New(r, golang.Config{Cache: filepath.Join(cache, "build"), Path: cache, Home: cache}),
	}
	for name, tool := range extension.Tools.Freeze() {
		if tools.Known(name) {
			return nil, fmt.Errorf("the tool %q of an extension has the name of a built-in one", name)
		}
		tools[name] = tool
	}
	for name, tool := range plugins.Tools() {
		tools[name] = plugin.New(r, name, tool.Plugin, tool.Path)
	}
	return tools, nil
}

// newGroups makes the control groups of all child processes; they are removed after everything that has one.
func newGroups(life fx.Lifecycle) *cgroup.Groups {
	g := cgroup.Open("")
	life.Append(fx.Hook{OnStop: func(context.Context) error { g.Close(); return nil }})
	return g
}

// newRunner makes the supervisor of all child processes; it is closed after everything that starts one.
func newRunner(
	life fx.Lifecycle, x *Executor, b *boundary.Boundary, g *cgroup.Groups, log *slog.Logger,
) (*proc.Runner, error) {
	profiles, err := x.Isolation.profiles()
	if err != nil {
		return nil, err
	}
	r, err := proc.New(proc.Config{KillGrace: x.KillGrace, Boundary: b, Profiles: profiles, Groups: g,
		Limits: cgroup.Limits{Memory: x.Isolation.Memory, Processes: x.Isolation.Processes}})
	if err != nil {
		return nil, err
	}
	life.Append(fx.Hook{
		OnStart: func(ctx context.Context) error {
			if why := g.Unlimited(); why != nil && x.Isolation.Memory > 0 && x.Executors > 0 {
				log.WarnContext(ctx, "run-memory has no effect: the memory of runs is not limited", "reason", why)
			}
			if x.Executors == 0 {
				return nil
			}
			return r.TryProfiles()
		},
		OnStop: func(context.Context) error { return r.Close() },
	})
	return r, nil
}
