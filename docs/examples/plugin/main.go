// Command plugin is an example of a plugin: a tool that prints a file of the machine, a notifier that keeps a list of
// ended runs, and a secret engine that reads files. Build it into the directory that --plugins-dir names:
//
//	go build -o /usr/local/lib/writ/plugins/ ./docs/examples/plugin
//	writ serve --plugins-dir /usr/local/lib/writ/plugins
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/extension/plugin"
)

// list is where the notifier writes; the account of the plugin has to be able to.
const list = "/var/lib/writ-example/ended"

func main() {
	plugin.Serve(plugin.Extension{
		Tools:           map[string]extension.ToolRunner{"make": extension.ToolRunnerFunc(runMake)},
		Notifiers:       map[string]extension.Notifier{"list": extension.NotifierFunc(note)},
		SecretResolvers: map[string]extension.SecretResolver{"mounted": mounted{}},
	})
}

// runMake builds the target that the run names as its command, in the directory of the run or in the one that the
// variable "dir" names. The run's own environment is the one of make, so that its credentials are.
func runMake(ctx context.Context, spec extension.ToolSpec, out io.Writer) (extension.ToolResult, error) {
	args := strings.Fields(spec.Command)
	if spec.DryRun {
		args = append([]string{"--dry-run"}, args...)
	}
	c := exec.CommandContext(ctx, "make", args...) //nolint:gosec // that is what the tool is for
	c.Dir, c.Stdout, c.Stderr = spec.Dir, out, out
	if dir, ok := spec.ExtraVars["dir"].(string); ok {
		c.Dir = dir
	}
	for name, value := range spec.Env {
		c.Env = append(c.Env, name+"="+value)
	}
	err := c.Run()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return extension.ToolResult{ExitCode: failed.ExitCode()}, nil // make ran, and the target failed
	}
	return extension.ToolResult{}, err
}

// note adds a run to the list.
func note(_ context.Context, run extension.EndedRun) error {
	f, err := os.OpenFile(list, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, run.EndedAt.Format("2006-01-02 15:04:05"), run.ID, run.Status, run.Name)
	return errors.Join(err, f.Close())
}

// secrets is the directory of the secret engine.
const secrets = "/run/secrets"

// mounted is a secret engine: the config names a file of a directory.
type mounted struct{}

// ConfigFields describes the config, so that the name is shown in credentials and other members are refused.
func (mounted) ConfigFields() []extension.ConfigField {
	return []extension.ConfigField{{Name: "name", Required: true}}
}

// ValidateConfig checks a config when the credential is saved.
func (mounted) ValidateConfig(config map[string]any) error {
	name, _ := config["name"].(string)
	if name == "" || name != filepath.Base(name) || strings.HasPrefix(name, ".") {
		return &extension.ConfigError{Field: "name", Message: "must be the name of a file"}
	}
	return nil
}

// Resolve reads the file.
func (m mounted) Resolve(_ context.Context, config map[string]any) (string, error) {
	if err := m.ValidateConfig(config); err != nil {
		return "", err
	}
	text, err := os.ReadFile(filepath.Join(secrets, config["name"].(string)))
	if err != nil {
		return "", errors.New("there is no secret of that name")
	}
	return strings.TrimSuffix(string(text), "\n"), nil
}
