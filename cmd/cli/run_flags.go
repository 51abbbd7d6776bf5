package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-automation/writ/platform/config"
)

// runFlags are the members of a submission, in the order of the help text.
type runFlags struct {
	following

	tool, playbook, command, file          string
	inventory, inventoryID, project, queue string
	query                                  string
	name, change, limit                    string
	tags, skipTags, labels, extraVars, env []string
	credentials, failOn, locks             []string
	shards, forks, verbosity, priority     int
	timeout                                time.Duration
	dryRun, diff, hold, exclusive          bool
}

func (f *runFlags) register(c *cobra.Command) {
	fs := c.Flags()
	fs.StringVar(&f.tool, "tool", "", "ansible (default), bash, python, powershell, go or an extension's")
	fs.StringVarP(&f.playbook, "playbook", "p", "", "playbook, a path on the executing machine")
	fs.StringVarP(&f.command, "command", "c", "", "script of a tool other than ansible")
	fs.StringVar(&f.file, "file", "", "read the script from a file, - for standard input")
	fs.StringVarP(&f.inventory, "inventory", "i", "", "inventory, a path on the executing machine")
	fs.StringVar(&f.inventoryID, "inventory-id", "", "id of a stored inventory")
	fs.StringVar(&f.query, "inventory-query", "", "only hosts whose facts fit, such as os.family=Debian")
	fs.StringVar(&f.project, "project-id", "", "id of a project")
	fs.StringArrayVar(&f.credentials, "credential-id", nil, "id of a credential (repeatable)")
	fs.StringVarP(&f.limit, "limit", "l", "", "host pattern")
	fs.StringSliceVarP(&f.tags, "tags", "t", nil, "only plays and tasks with these tags")
	fs.StringSliceVar(&f.skipTags, "skip-tags", nil, "skip plays and tasks with these tags")
	fs.StringArrayVarP(&f.extraVars, "extra-var", "e", nil, "k=v as text, or k:=JSON (repeatable)")
	fs.StringArrayVar(&f.env, "env", nil, "k=v of the run's environment, not for secrets (repeatable)")
	fs.StringArrayVar(&f.labels, "label", nil, "k=v (repeatable)")
	fs.StringVar(&f.name, "name", "", "name of the run")
	fs.StringVar(&f.change, "change", "", "change that the run belongs to")
	fs.StringVar(&f.queue, "queue", "", "queue of the run")
	fs.IntVar(&f.shards, "shards", 0, "number of shards to split the run over")
	fs.IntVar(&f.forks, "forks", 0, "number of hosts at once")
	fs.CountVarP(&f.verbosity, "verbose", "v", "more output of the tool (-v to -vvvv)")
	fs.IntVar(&f.priority, "priority", 0, "-10 to 10")
	config.DurationVar(fs, &f.timeout, "timeout", 0, "maximum time that the run may execute")
	fs.BoolVarP(&f.dryRun, "dry-run", "n", false, "change nothing")
	fs.BoolVar(&f.diff, "diff", false, "show differences of changed files")
	fs.BoolVar(&f.hold, "require-approval", false, "hold the run until it is approved")
	fs.StringSliceVar(&f.failOn, "fail-on", nil, "fail the run on no_hosts, unreachable, or any of its warnings")
	fs.StringArrayVar(&f.locks, "lock", nil, "lock that the run takes: it waits for other runs with it (repeatable)")
	fs.BoolVar(&f.exclusive, "exclusive-hosts", false, "wait for other runs with this flag that execute on the same hosts")
	fs.BoolVarP(&f.follow, "follow", "f", false, "follow the run to its end (default on a terminal)")
	fs.BoolVar(&f.raw, "log", false, "show the tool's output instead of progress")
}

// body makes the request's body; members that are not set are absent.
func (f *runFlags) body(w environment) (map[string]any, error) {
	command, err := f.script(w)
	vars, varsErr := variables(f.extraVars)
	labels, labelsErr := pairs("label", f.labels)
	env, envErr := pairs("env", f.env)
	if err := firstError(err, varsErr, labelsErr, envErr); err != nil {
		return nil, err
	}
	b := map[string]any{}
	put(b, map[string]string{
		"tool": f.tool, "playbook": f.playbook, "command": command, "inventory": f.inventory, "inventory_id": f.inventoryID,
		"inventory_query": f.query,
		"project_id":      f.project, "limit": f.limit, "name": f.name, "change": f.change, "queue": f.queue,
	}, func(v string) bool { return v != "" })
	put(b, map[string]int{
		"shards": f.shards, "forks": f.forks, "verbosity": f.verbosity, "priority": f.priority,
		"timeout": int(f.timeout.Seconds()),
	}, func(v int) bool { return v != 0 })
	put(b, map[string]bool{"dry_run": f.dryRun, "diff_mode": f.diff, "require_approval": f.hold,
		"exclusive_hosts": f.exclusive}, func(v bool) bool { return v })
	put(b, map[string][]string{
		"tags": f.tags, "skip_tags": f.skipTags, "credential_ids": f.credentials, "fail_on": f.failOn,
		"locks": f.locks,
	}, func(v []string) bool { return len(v) > 0 })
	put(b, map[string]map[string]string{"labels": labels, "env": env}, func(v map[string]string) bool {
		return len(v) > 0
	})
	put(b, map[string]map[string]any{"extra_vars": vars}, func(v map[string]any) bool { return len(v) > 0 })
	return b, nil
}

// put adds the members that are set.
func put[T any](body map[string]any, members map[string]T, isSet func(T) bool) {
	for k, v := range members {
		if isSet(v) {
			body[k] = v
		}
	}
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// maxScript bounds a script that is read from a file; the server's own limit on bodies is the same.
const maxScript = 1 << 20

func (f *runFlags) script(w environment) (string, error) {
	if f.file == "" {
		return f.command, nil
	}
	if f.command != "" {
		return "", usagef("use one of --command and --file, not both")
	}
	in := w.in
	if f.file != "-" {
		file, err := os.Open(f.file)
		if err != nil {
			return "", usageError{err}
		}
		defer func() { _ = file.Close() }()
		in = file
	}
	raw, err := io.ReadAll(io.LimitReader(in, maxScript+1))
	if err != nil {
		return "", fmt.Errorf("read the script: %w", err)
	}
	if len(raw) > maxScript {
		return "", usagef("the script is larger than %d bytes", maxScript)
	}
	return string(raw), nil
}

func pairs(flag string, list []string) (map[string]string, error) {
	out := make(map[string]string, len(list))
	for _, item := range list {
		k, v, ok := strings.Cut(item, "=")
		if !ok || k == "" {
			return nil, usagef("--%s: expected key=value", flag)
		}
		out[k] = v
	}
	return out, nil
}

// variables reads k=v as text and k:=JSON as a value of its own type.
func variables(list []string) (map[string]any, error) {
	out := make(map[string]any, len(list))
	for _, item := range list {
		k, v, ok := strings.Cut(item, "=")
		name, typed := strings.CutSuffix(k, ":")
		switch {
		case !ok || name == "":
			return nil, usagef("--extra-var: expected key=value or key:=JSON")
		case !typed:
			out[k] = v
		case !json.Valid([]byte(v)):
			return nil, usagef("--extra-var %s: the value is not JSON", name)
		default:
			out[name] = json.RawMessage(v)
		}
	}
	return out, nil
}
