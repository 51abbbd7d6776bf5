package execution

import (
	"context"
	"io"

	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/runs"
)

// PingPlaybook is the name of a playbook that every executor has, unless the work directory has a file of that name: it
// pings all hosts of the inventory.
const PingPlaybook = "writ.ping"

// Play is the input of a playbook tool, in addition to its ToolSpec. Paths are absolute or relative to WorkDir.
type Play struct {
	WorkDir   string // the checkout, or the server's --work-dir
	Confined  bool   // the playbook and the inventory must be inside WorkDir, links followed
	Playbook  string
	Inventory string // empty means the tool's own default
	// OwnInventory says that the executor wrote the file Inventory, outside of WorkDir.
	OwnInventory bool
	runs.Controls
	// Templated names the extra variables that the tool may evaluate; all others are data and printed unchanged.
	Templated   []string
	Roles       string   // a directory of further roles, empty for none
	Collections string   // a directory of further collections, empty for none
	LimitHosts  []string // bound to these hosts, nil for no bound; never empty
	Diff        bool     // show differences: diff_mode, or a dry run
	Login       Login
	HostKeys    HostKeys
}

// HostKeys is how a play checks the keys of its hosts.
type HostKeys struct {
	// File is the run's own known_hosts, to which the play adds what it accepts. Empty leaves everything to the project.
	File string
	// Strict refuses a host whose key is not known. Otherwise it is accepted. A changed key is refused in both cases.
	Strict bool
	// Enforced means that nothing that the project or the inventory sets takes precedence.
	Enforced bool
	// Alone means that the keys that the machine trusts are not known.
	Alone bool
}

// Login is the login of a play on its hosts, from credentials. For empty members the settings of the project apply.
// Files are private to the run and hold one secret each. A tool removes them as soon as they have been read.
type Login struct {
	User               string
	PasswordFile       string
	BecomeMethod       string
	BecomeUser         string
	BecomePasswordFile string
	Vaults             []VaultFile
	// PublicKeyFile is the public half of a key in the agent at SSH_AUTH_SOCK.
	PublicKeyFile string
}

// VaultFile is a file with the password of one vault id.
type VaultFile struct{ ID, Path string }

// PlayResult is how a play ended.
type PlayResult struct {
	extension.ToolResult
	// Complete is true if the tool reported its recap; a killed or crashed tool does not.
	Complete bool
	// Error is one sentence on why the tool failed outside of any host; empty otherwise.
	Error    string
	Warnings []runs.Warning
	// Touched is the number of hosts with at least one result.
	Touched int
	// Version is the version of the tool, at most 64 letters, digits, points and signs; empty for an unknown one.
	Version string
}

// PlaybookTool is a ToolRunner for playbooks on hosts. Sink receives structured events in order while the play runs,
// and a slow sink slows the play; events come without sequence numbers and unmasked.
type PlaybookTool interface {
	extension.ToolRunner
	Play(ctx context.Context, spec extension.ToolSpec, p Play, out io.Writer,
		sink func(runs.Event) error) (PlayResult, error)
	// Hosts resolves the inventory and limits of a play to plain host names, in inventory order.
	Hosts(ctx context.Context, spec extension.ToolSpec, p Play) ([]string, []runs.Warning, error)
	// Survey searches the playbook for settings that have another effect when its hosts are split over shards, and
	// returns one warning each.
	Survey(ctx context.Context, p Play) ([]runs.Warning, error)
}

// Tools is the frozen table of tools by name.
type Tools map[string]extension.ToolRunner

// Catalog lists the tools for the submitting side, without access to them.
type Catalog interface {
	Known(tool string) bool
	Names() []string
}

// Known reports whether a tool with the name exists.
func (t Tools) Known(tool string) bool { _, ok := t[tool]; return ok }

// Names returns the names of the tools, in no order.
func (t Tools) Names() []string {
	out := make([]string, 0, len(t))
	for n := range t {
		out = append(out, n)
	}
	return out
}

// Reaper ends the processes that runs of a dead executor left running.
type Reaper interface {
	// Reap ends every living process of the given run, also re-parented ones, and returns their number. It returns when
	// they have ended.
	Reap(ctx context.Context, runID string) (int, error)
}
