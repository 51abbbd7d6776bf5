package probes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/writ-automation/writ/platform/boundary"
	"github.com/writ-automation/writ/ports/system"
)

// IsolationParams are what the check of the boundary around runs looks at.
type IsolationParams struct {
	Status boundary.Status
	// Executes is whether this process executes runs, Root whether it is root.
	Executes, Root bool
	// Accounts returns how many accounts the server has.
	Accounts func(ctx context.Context) (int, error)
	// DataDir and WorkDir are absolute. Alone are sensitive files that are hidden by themselves, since their directory
	// has something that runs need.
	DataDir, WorkDir string
	Alone            []string
	// Memory is the limit of each run, 0 for none. Unlimited is why there is none whatever it says, nil if there can be.
	Memory    int64
	Unlimited error
}

// Isolation checks how far runs are kept apart from the server.
type Isolation struct{ p IsolationParams }

var _ system.Check = (*Isolation)(nil)

// NewIsolation returns the check. It returns an error if the number of accounts cannot be asked for.
func NewIsolation(p IsolationParams) (*Isolation, error) {
	if p.Accounts == nil {
		return nil, errors.New("probes: the check of isolation lacks the accounts")
	}
	return &Isolation{p}, nil
}

func (*Isolation) Name() string { return "isolation" }

// Examine checks the level, the directories and the accounts of runs.
func (c *Isolation) Examine(ctx context.Context) (system.Examination, error) {
	out := system.Examination{Examined: 1}
	if !c.p.Executes {
		return out, nil
	}
	add := func(s system.Severity, problem, fix string) {
		out.Findings = append(out.Findings, system.Finding{
			Severity: s, Object: system.Subject{Kind: "isolation", ID: string(c.p.Status.Level), Name: string(c.p.Status.Level)},
			Problem: problem, Fix: fix,
		})
	}
	if c.p.Status.Level == boundary.None {
		n, err := c.p.Accounts(ctx)
		if err != nil {
			return out, fmt.Errorf("count the accounts: %w", err)
		}
		severity := system.Warning
		if c.p.Root || n > 1 {
			severity = system.Error
		}
		add(severity, "runs are not kept apart: they can read the keys and the database, and act as the server",
			"start the server with --isolation auto on a machine that allows it: "+c.p.Status.Reason)
		return out, nil
	}
	if c.p.Status.Reason != "" {
		add(system.Warning, "runs are kept apart less than possible: the level is "+string(c.p.Status.Level),
			c.p.Status.Reason)
	}
	if !c.p.Status.Scoped {
		add(system.Warning, "runs can reach abstract sockets, and without namespaces the processes of their own account",
			"use a kernel from 6.12 on with landlock")
	}
	if c.p.WorkDir == c.p.DataDir {
		add(system.Error, "the work directory is the data directory, which runs do not see",
			"set --work-dir to a directory with playbooks")
	}
	for _, path := range c.p.Alone {
		if c.p.Status.Accounts == (boundary.Range{}) {
			add(system.Error, "runs have the account of the server and see "+path+" again when it is replaced",
				"move it to the data directory, or to a directory of its own with mode 0700")
		}
	}
	if name := overlap(c.p.Status.Accounts); name != "" {
		add(system.Warning, fmt.Sprintf("the accounts of runs, %s, overlap with those of %s", c.p.Status.Accounts, name),
			"choose others with --run-user")
	}
	c.memory(add)
	return out, nil
}

// memory reports that runs can use all of the machine's memory.
func (c *Isolation) memory(add func(s system.Severity, problem, fix string)) {
	const problem = "the memory of runs is not limited"
	switch {
	case c.p.Unlimited == nil && c.p.Memory == 0:
		add(system.Notice, problem, "set --run-memory")
	case c.p.Unlimited != nil:
		severity, what := system.Notice, problem
		if c.p.Memory > 0 {
			severity, what = system.Warning, problem+", although --run-memory is set"
		}
		add(severity, what+": "+c.p.Unlimited.Error(), "start the server by systemd with Delegate=yes on a machine with "+
			"control groups of version 2 alone (kernel parameter systemd.unified_cgroup_hierarchy=1), as root where the memory "+
			"controller is of version 1, or limit the memory of its unit or container")
	}
}

// overlap names an account of the machine, or the owner of subordinate ids, whose ids are among those of runs. A range
// of one account was chosen.
func overlap(r boundary.Range) string {
	if r.First == r.Last {
		return ""
	}
	for file, field := range map[string]int{"/etc/passwd": 2, "/etc/subuid": 1} {
		b, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(b)) {
			f := strings.Split(strings.TrimSpace(line), ":")
			if len(f) < 3 {
				continue
			}
			first, err := strconv.Atoi(f[field])
			if err != nil {
				continue
			}
			last := first
			if n, err := strconv.Atoi(f[2]); field == 1 && err == nil {
				last = first + n - 1
			}
			if first <= r.Last && r.First <= last && !strings.HasPrefix(f[0], "writ-run") {
				return f[0] + " in " + file
			}
		}
	}
	return ""
}
