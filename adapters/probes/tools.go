package probes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/system"
)

// maxReason bounds what a finding tells of a program's output, in characters.
const maxReason = 200

// versionWithin is the time limit for a program to print its version.
const versionWithin = 5 * time.Second

// program is a program that the server starts, by the first of its names that exists.
type program struct {
	names    []string
	ask      string // the argument that prints the version
	tool     string // the tool that needs it; empty means the server itself
	critical bool   // whether its absence is an error
	source   string // how to install it, for messages
	atLeast  [2]int // the minimum version; the zero value accepts any
	newest   [2]int // the newest version that was tested
}

const (
	fromDebian    = "install the Debian package "
	fromMicrosoft = "install the package powershell from Microsoft's repository for Debian"
)

// programs returns the programs to check.
func programs() []program {
	return []program{
		{names: []string{"ansible-playbook"}, ask: "--version", tool: "ansible", critical: true,
			source: fromDebian + "ansible-core", atLeast: [2]int{2, 14}, newest: [2]int{2, 22}},
		{names: []string{"ansible-inventory"}, ask: "--version", tool: "ansible", critical: true,
			source: fromDebian + "ansible-core"},
		{names: []string{"ansible-galaxy"}, ask: "--version", tool: "ansible", critical: true,
			source: fromDebian + "ansible-core"},
		{names: []string{"ssh"}, ask: "-V", tool: "ansible", source: fromDebian + "openssh-client"},
		{names: []string{"git"}, ask: "--version", critical: true, source: fromDebian + "git"},
		{names: []string{"bash"}, ask: "--version", tool: "bash", source: fromDebian + "bash"},
		{names: []string{"python3"}, ask: "--version", tool: "python", source: fromDebian + "python3"},
		{names: []string{"pwsh", "powershell"}, ask: "--version", tool: "powershell", source: fromMicrosoft},
		{names: []string{"go"}, ask: "version", tool: "go", source: fromDebian + "golang-go"},
	}
}

// Tools checks that the programs of the offered tools exist, and their versions.
type Tools struct {
	offered func() []string
	path    string
	within  time.Duration
}

var _ system.Check = (*Tools)(nil)

// NewTools returns the check for the tools of a catalog. It searches the directories of path, which has the form of
// PATH. It returns an error if the catalog is missing.
func NewTools(offered execution.Catalog, path string) (*Tools, error) {
	if offered == nil {
		return nil, errors.New("probes: the check of tools lacks their catalog")
	}
	return &Tools{offered: offered.Names, path: path, within: versionWithin}, nil
}

func (*Tools) Name() string { return "tools" }

// Examine checks the programs of the tools, and runs each program once.
func (c *Tools) Examine(ctx context.Context) (system.Examination, error) {
	offered := c.offered()
	needed := slices.DeleteFunc(programs(), func(p program) bool {
		return p.tool != "" && !slices.Contains(offered, p.tool)
	})
	found := make([]*system.Finding, len(needed))
	var all sync.WaitGroup
	for i, p := range needed {
		all.Go(func() { found[i] = c.findingOf(ctx, p) })
	}
	all.Wait()
	out := system.Examination{Examined: len(needed)}
	for _, f := range found {
		if f != nil {
			out.Findings = append(out.Findings, *f)
		}
	}
	return out, ctx.Err()
}

// findingOf returns the problem of a program, nil for none.
func (c *Tools) findingOf(ctx context.Context, p program) *system.Finding {
	name := p.names[0]
	f := &system.Finding{Severity: system.Warning, Object: system.Subject{Kind: "program", ID: name, Name: name},
		Fix: p.source}
	if p.critical {
		f.Severity = system.Error
	}
	file := c.find(p.names)
	if file == "" {
		f.Problem = fmt.Sprintf("there is no %s on the PATH of this server%s", strings.Join(p.names, " or "), p.loss())
		return f
	}
	f.Object.ID = file
	text, err := ask(ctx, c.within, file, p.ask, c.path)
	switch version, ok := versionIn(text); {
	case errors.Is(err, context.DeadlineExceeded):
		f.Severity = system.Warning
		f.Problem = fmt.Sprintf("%s did not tell its version within %s", name, c.within)
		f.Fix = "start it by hand to see what it waits for"
	case err != nil:
		f.Problem, f.Fix = fmt.Sprintf("%s is there and does not start", file), p.source+" anew"
		if reason := lastLine(text); reason != "" { // such as that its Python is too old for it
			f.Problem += ": " + reason
		}
	case p.atLeast == [2]int{}:
		return nil
	case !ok:
		f.Severity = system.Warning
		f.Problem = fmt.Sprintf("%s tells no version that is understood, and %d.%d is the oldest that works", name,
			p.atLeast[0], p.atLeast[1])
	case slices.Compare(version[:], p.atLeast[:]) < 0:
		f.Problem = fmt.Sprintf("%s is of version %d.%d, and %d.%d is the oldest that works", name, version[0], version[1],
			p.atLeast[0], p.atLeast[1])
		f.Fix = p.source + fmt.Sprintf(" of version %d.%d or newer", p.atLeast[0], p.atLeast[1])
	case slices.Compare(version[:], p.newest[:]) > 0:
		f.Severity = system.Warning
		f.Problem = fmt.Sprintf("%s is of version %d.%d, and %d.%d is the newest that this release was tested with", name,
			version[0], version[1], p.newest[0], p.newest[1])
		f.Fix = "bring this server to a newer release, or install an older version"
	default:
		return nil
	}
	return f
}

// lastLine returns the last line of a program's output, shortened.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	line := strings.Join(strings.Fields(strings.ToValidUTF8(lines[len(lines)-1], "?")), " ")
	if r := []rune(line); len(r) > maxReason {
		line = string(r[:maxReason]) + "…"
	}
	return line
}

// loss describes which function is unavailable without the program.
func (p program) loss() string {
	if p.tool == "" {
		return ", so projects cannot be fetched"
	}
	return fmt.Sprintf(", so runs of the tool %s fail that need it", p.tool)
}

// find returns the path of the first name that exists, empty for none. It skips relative directories, since they depend
// on the working directory of the server.
func (c *Tools) find(names []string) string {
	for _, name := range names {
		for _, dir := range filepath.SplitList(c.path) {
			file := filepath.Join(dir, name)
			if info, err := os.Stat(file); filepath.IsAbs(dir) && err == nil && info.Mode().IsRegular() &&
				unix.Access(file, unix.X_OK) == nil {
				return file
			}
		}
	}
	return ""
}

var versionForm = lazyregexp.New(`\b(\d{1,6})\.(\d{1,6})\b`)

// versionIn returns the first version in a text.
func versionIn(text string) (version [2]int, ok bool) {
	m := versionForm.FindStringSubmatch(text)
	if m == nil {
		return version, false
	}
	for i := range version {
		version[i], _ = strconv.Atoi(m[i+1]) // at most six digits
	}
	return version, true
}
