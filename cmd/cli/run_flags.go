package cli

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/writ-automation/writ/platform/config"
)

// runFlags are the members of a submission, in the order of the help text.
type runFlags struct {
	following

	tool, playbook, command, file          string
	inventory, inventoryID, project, queue string
	key                                    string
	query                                  string
	name, change, limit                    string
	tags, skipTags, labels, extraVars, env []string
	credentials, failOn, locks, set        []string
	shards, forks, verbosity, priority     int
	timeout                                time.Duration
	dryRun, diff, hold, exclusive          bool
}

func (f *runFlags) register(w environment, c *cobra.Command) {
	fs := c.Flags()
	fs.StringVar(&f.tool, "tool", "", "ansible (default), bash, python, powershell, go or an extension's")
	fs.StringVarP(&f.playbook, "playbook", "p", "", "playbook, a path on the executing machine")
	fs.StringVarP(&f.command, "command", "c", "", "script of a tool other than ansible")
	fs.StringVar(&f.file, "file", "", "read the script from a file, - for standard input")
	fs.StringVarP(&f.inventory, "inventory", "i", "", "stored inventory, by name or id, or a path where it executes")
	fs.StringVar(&f.inventoryID, "inventory-id", "", "stored inventory, by name or id, whatever its name looks like")
	fs.StringVar(&f.query, "inventory-query", "", "only hosts whose facts fit, such as os.family=Debian")
	fs.StringVar(&f.project, "project", "", "project, by name or id; the playbook is a path in it")
	fs.StringArrayVar(&f.credentials, "credential", nil, "credential, by name or id (repeatable)")
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
	fs.StringArrayVar(&f.set, "set", nil, "k=v or k:=JSON, a member of the request that has no flag (repeatable)")
	fs.StringVar(&f.key, "idempotency-key", "", keyHelp)
	f.following.register(c)
	completeFlags(w, c, map[string]string{"project": "project", "inventory-id": "inventory", "credential": "credential",
		"queue": "queue", "change": "change"})
	_ = c.RegisterFlagCompletionFunc("inventory", orFiles(completeNames(w, "inventory")))
	// Older names of flags remain.
	c.SetGlobalNormalizationFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		switch name {
		case "project-id", "credential-id":
			name = strings.TrimSuffix(name, "-id")
		}
		return pflag.NormalizedName(name)
	})
	_ = fs.MarkHidden("inventory-id")
}

const keyHelp = "key of this request: a second one with it within 24 hours returns the same run"

// isPath tells a path on the executing machine from the name of a stored inventory. Ansible's list of hosts is a path.
func isPath(inventory string) bool {
	switch path.Ext(inventory) {
	case ".ini", ".yml", ".yaml", ".json", ".toml", ".cfg", ".txt", ".py", ".sh":
		return true
	}
	return strings.ContainsAny(inventory, "/,")
}

// resolve replaces the names of objects by their ids.
func (f *runFlags) resolve(ctx context.Context, c *client, body map[string]any) (err error) {
	stored := f.inventoryID
	if f.inventory != "" && !isPath(f.inventory) {
		stored = f.inventory
		delete(body, "inventory")
	}
	if stored != "" {
		if body["inventory_id"], err = c.find(ctx, "inventory", stored); err != nil {
			if stored == f.inventory {
				err = fmt.Errorf("%w\n  for a file on the executing machine write ./%s", err, stored)
			}
			return err
		}
	}
	if f.project != "" {
		if body["project_id"], err = c.find(ctx, "project", f.project); err != nil {
			return err
		}
	}
	if len(f.credentials) > 0 {
		body["credential_ids"], err = c.findAll(ctx, "credential", f.credentials)
	}
	return err
}

// body makes the request's body; members that are not set are absent.
func (f *runFlags) body(w environment) (map[string]any, error) {
	command, err := f.script(w)
	vars, varsErr := typedPairs("extra-var", f.extraVars)
	set, setErr := typedPairs("set", f.set)
	labels, labelsErr := pairs("label", f.labels)
	env, envErr := pairs("env", f.env)
	if err := firstError(err, varsErr, setErr, labelsErr, envErr); err != nil {
		return nil, err
	}
	b := map[string]any{}
	put(b, map[string]string{
		"tool": f.tool, "playbook": f.playbook, "command": command, "inventory": f.inventory,
		"inventory_query": f.query, "limit": f.limit, "name": f.name, "change": f.change, "queue": f.queue,
	}, func(v string) bool { return v != "" })
	put(b, map[string]int{
		"shards": f.shards, "forks": f.forks, "verbosity": f.verbosity, "priority": f.priority,
		"timeout": int(f.timeout.Seconds()),
	}, func(v int) bool { return v != 0 })
	put(b, map[string]bool{"dry_run": f.dryRun, "diff_mode": f.diff, "require_approval": f.hold,
		"exclusive_hosts": f.exclusive}, func(v bool) bool { return v })
	put(b, map[string][]string{
		"tags": f.tags, "skip_tags": f.skipTags, "fail_on": f.failOn,
		"locks": f.locks,
	}, func(v []string) bool { return len(v) > 0 })
	put(b, map[string]map[string]string{"labels": labels, "env": env}, func(v map[string]string) bool {
		return len(v) > 0
	})
	put(b, map[string]map[string]any{"extra_vars": vars}, func(v map[string]any) bool { return len(v) > 0 })
	for k, v := range set {
		b[k] = v
	}
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

func (f *runFlags) script(w environment) (string, error) {
	if f.file == "" {
		return f.command, nil
	}
	if f.command != "" {
		return "", usagef("use one of --command and --file, not both")
	}
	raw, err := w.input(f.file)
	return string(raw), err
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
