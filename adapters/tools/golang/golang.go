// Package golang builds a Go program and runs it.
package golang

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"

	"github.com/writ-automation/writ/adapters/tools/proc"
	"github.com/writ-automation/writ/ports/extension"
)

// Config holds the shared directories of a worker's builds. For an empty member the run's environment decides.
type Config struct {
	// Cache and Path are the GOCACHE and GOPATH of the go command, unless the run sets its own.
	Cache, Path string
	// Home is the HOME of the go command, which writes counters there; it replaces the run's. The program itself gets
	// the run's.
	Home string
}

// Tool builds ToolSpec.Command as the main package of a separate module and runs the binary. A dry run vets it.
type Tool struct {
	runner *proc.Runner
	config Config
}

var _ extension.ToolRunner = (*Tool)(nil)

// New makes the tool.
func New(r *proc.Runner, c Config) *Tool { return &Tool{runner: r, config: c} }

// If the build fails, the exit code is that of the go command. `go run` would hide the program's own.
func (t *Tool) Run(ctx context.Context, spec extension.ToolSpec, out io.Writer) (extension.ToolResult, error) {
	gocmd, err := proc.LookPath(ctx, spec.Env, "go")
	if err != nil {
		return extension.ToolResult{}, err
	}
	var module string
	err = proc.Beside(spec.Dir, "module", func(path string) error {
		module = path
		return os.Mkdir(path, 0o700)
	})
	if err != nil {
		return extension.ToolResult{}, fmt.Errorf("go: make the module: %w", err)
	}
	if _, err := proc.WriteScript(ctx, module, "main.go", spec.Command); err != nil {
		return extension.ToolResult{}, fmt.Errorf("go: %w", err)
	}
	binary := filepath.Join(module, "bin")
	steps := [][]string{{"mod", "init", "run"}, {"build", "-o", binary, "."}}
	if spec.DryRun {
		steps[1] = []string{"vet", "."}
	}
	inside := proc.InsideOf(ctx)
	shared, err := t.config.inside(inside)
	if err == nil {
		err = inside.Give(module)
	}
	if err != nil {
		return extension.ToolResult{}, fmt.Errorf("go: %w", err)
	}
	env := proc.Environ(shared.buildEnv(spec.Env))
	for i, args := range steps {
		to := out
		if i == 0 {
			to = io.Discard // go reports on stderr that it created a file
		}
		code, err := t.runner.Run(ctx, proc.Command{Path: gocmd, Args: args, Dir: module, Env: env, Stdout: to})
		if err != nil || code != 0 {
			return extension.ToolResult{ExitCode: code}, err
		}
	}
	if spec.DryRun {
		return extension.ToolResult{}, nil
	}
	code, err := t.runner.Run(ctx, proc.Command{
		Path: binary, Dir: spec.Dir, Env: proc.Environ(spec.Env), Stdout: out,
	})
	return extension.ToolResult{ExitCode: code}, err
}

// inside returns the shared directories for a run with a boundary: a run must not prepare the build of another project.
func (c Config) inside(p *proc.Inside) (Config, error) {
	dir, err := p.Cache(c.Path)
	if dir == c.Path {
		return c, err
	}
	return Config{Cache: filepath.Join(dir, "build"), Path: dir, Home: dir}, err
}

// buildEnv returns the environment of the go command. The build uses nothing outside of the module, and downloads no
// other toolchain.
func (c Config) buildEnv(run map[string]string) map[string]string {
	env := map[string]string{"GOTOOLCHAIN": "local"}
	for k, v := range map[string]string{"GOCACHE": c.Cache, "GOPATH": c.Path} {
		if v != "" {
			env[k] = v
		}
	}
	maps.Copy(env, run)
	if c.Home != "" {
		env["HOME"] = c.Home
	}
	env["GOWORK"], env["GO111MODULE"] = "off", "on"
	return env
}
