package ansible

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"

	"github.com/writ-automation/writ/adapters/tools/proc"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/runs"
)

// Config holds the paths of Ansible and the server's settings for it.
type Config struct {
	// Playbook is the path of ansible-playbook; `ansible` is expected in the same directory. Empty means the one in
	// /usr/bin, else the first on the PATH.
	Playbook string
	// StateDir is where the callback plugin is installed.
	StateDir string
	// SocketBase is the parent of the directories for connection sockets. It must be short, since a socket's path is
	// limited to 107 bytes. Empty means the system's temporary directory.
	SocketBase string
	// Home is the home directory of plays, below which installed roles and collections are found. Empty means the home
	// of the server's account. Modules on the controller and Ansible itself must agree on it, and Ansible uses the
	// account's record if possible: an async task on localhost fails if they differ.
	Home string
	// DefaultForks applies if neither the run nor the project sets forks; zero keeps the tool's own default.
	DefaultForks int
	// NoPipelining switches pipelining off, for hosts whose sudoers require a terminal.
	NoPipelining bool
	// Compression makes ssh compress, for slow links.
	Compression bool
}

// Tool is the playbook tool.
type Tool struct {
	runner *proc.Runner
	config Config
	clock  clock.Clock
	plugin string // the callback's directory
}

var _ execution.PlaybookTool = (*Tool)(nil)

// accountHome returns the home from the system's accounts, or $HOME for an unknown user id, as in containers.
func accountHome() (string, error) {
	u, err := user.Current()
	if err == nil {
		return u.HomeDir, nil
	}
	if home := os.Getenv("HOME"); home != "" {
		return home, nil
	}
	return "", err
}

// New makes the tool and installs the callback plugin. It fails if the plugin cannot be written or a file with another
// text exists; a missing Ansible is the error of each run.
func New(r *proc.Runner, c clock.Clock, config Config) (*Tool, error) {
	config.SocketBase = cmp.Or(config.SocketBase, os.TempDir())
	if config.Home == "" {
		home, err := accountHome()
		if err != nil {
			return nil, fmt.Errorf("ansible: find the account's home: %w", err)
		}
		config.Home = home
	}
	plugin, err := install(config.StateDir)
	if err != nil {
		return nil, fmt.Errorf("ansible: install the callback plugin: %w", err)
	}
	return &Tool{runner: r, config: config, clock: c, plugin: plugin}, nil
}

// Run implements extension.ToolRunner: the command is the path of a playbook in the run's directory.
func (t *Tool) Run(ctx context.Context, spec extension.ToolSpec, out io.Writer) (extension.ToolResult, error) {
	p := execution.Play{WorkDir: spec.Dir, Confined: true, Playbook: spec.Command}
	res, err := t.Play(ctx, spec, p, out, func(runs.Event) error { return nil })
	return res.ToolResult, err
}

// preferred is where distributions install Ansible together with its Python. An ansible-playbook earlier on the PATH
// may be a shim that starts another Python.
const preferred = "/usr/bin/ansible-playbook"

// executable finds ansible-playbook, or another program of Ansible. In a container it is the image's.
func (t *Tool) executable(ctx context.Context, env map[string]string, name string) (string, error) {
	if proc.InsideOf(ctx).Contained() {
		return name, nil
	}
	path := t.config.Playbook
	if path == "" {
		path = preferred
		if _, err := os.Stat(path); err != nil {
			if path, err = proc.LookPath(ctx, env, "ansible-playbook"); err != nil {
				return "", err
			}
		}
	}
	path = filepath.Join(filepath.Dir(path), name)
	if t.config.Playbook != "" && name == "ansible-playbook" {
		path = t.config.Playbook
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%s is not installed on the executing machine", path)
	}
	return path, nil
}
