package submit

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/runs"
)

// Bounds that the contract states.
const (
	maxShards    = 512
	maxVerbosity = 4
	maxPriority  = 10
	maxName      = 200
	maxLabel     = 255
)

var (
	labelKey = lazyregexp.New(`^[a-z0-9][a-z0-9._/-]{0,62}$`)
	envName  = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]{0,254}$`)
	profile  = lazyregexp.New(`^[a-z][a-z0-9._-]{0,62}$`)
	lock     = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._/-]{0,62}$`)
	queue    = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._:/-]{0,99}$`)
)

// normalise completes a spec with the defaults and clamps what the contract clamps.
func normalise(s *runs.Spec) {
	s.Tool = cmp.Or(s.Tool, runs.Ansible)
	s.Queue = cmp.Or(s.Queue, runs.DefaultQueue)
	s.Verbosity = min(s.Verbosity, maxVerbosity)
	if s.Shards == 1 {
		s.Shards = 0
	}
	s.Shards = min(s.Shards, maxShards)
	if len(s.LimitHosts) == 0 {
		s.LimitHosts = nil
	}
	if len(s.FailOn) == 0 {
		s.FailOn = nil
	}
	if s.Locks = union(s.Locks); len(s.Locks) == 0 {
		s.Locks = nil
	}
}

// spec checks the settings of an execution.
func (s *Submitter) spec(c checks, x *runs.Spec) {
	c.tool(x)
	c.paths(x)
	c.controls(&x.Controls)
	c.common(x)
	if x.Shards < 0 {
		c.bad("shards", "must not be negative")
	}
	c.query(x)
	if x.Shards > 1 && x.Tool != runs.Ansible {
		c.bad("shards", "only ansible runs can be split")
	}
	if len(x.LimitHosts) > maxHosts {
		c.bad("limit_hosts", "has more than %d members", maxHosts)
		return
	}
	for i, h := range x.LimitHosts {
		c.host(fmt.Sprintf("limit_hosts[%d]", i), h)
	}
}

// known refuses a tool that this installation does not have.
func (s *Submitter) known(path, tool string) error {
	if s.tools.Known(tool) {
		return nil
	}
	text := fmt.Sprintf("there is no tool %.64q, but %s", tool, strings.Join(slices.Sorted(slices.Values(s.tools.Names())),
		", "))
	f := runs.UnknownTool.New("%s: %s", path, text)
	f.Fields = []fault.Field{{Location: path, Message: text}}
	return f
}

// tool checks the input that a tool requires. Tools of extensions may need variables only.
func (c checks) tool(x *runs.Spec) {
	switch x.Tool {
	case runs.Ansible:
		if strings.TrimSpace(x.Playbook) == "" {
			c.bad("playbook", "is required for ansible")
		}
	case "bash", "python", "powershell", "go":
		if strings.TrimSpace(x.Command) == "" {
			c.bad("command", "is required for %s", x.Tool)
		}
	}
}

// query checks where a query may be. What selects the hosts checks the query itself.
func (c checks) query(x *runs.Spec) {
	switch {
	case x.InventoryQuery == "":
	case x.Tool != runs.Ansible:
		c.bad("inventory_query", "only ansible runs have hosts")
	case x.Inventory != "":
		c.bad("inventory", "must be empty where inventory_query is given")
	}
}

func (c checks) paths(x *runs.Spec) {
	c.argument("playbook", x.Playbook, maxPath)
	c.inside(x)
	c.argument("inventory", x.Inventory, maxPath)
	c.inventory(x)
	c.text("command", x.Command, maxCommand)
	if x.InventoryID != "" && x.Inventory != "" {
		c.bad("inventory", "must be empty where inventory_id is given")
	}
	c.queue(x.Queue)
}

func (c checks) queue(name string) {
	if !queue.MatchString(name) {
		c.bad("queue", "is not the name of a queue")
	}
}

// inside checks the name of a project's playbook. Links are checked in the checkout.
func (c checks) inside(x *runs.Spec) {
	if x.ProjectID != "" && x.Playbook != "" && !filepath.IsLocal(x.Playbook) {
		c.bad("playbook", "leads out of the project")
	}
}

// inventory judges a path of a project by its name, as inside does, and the names of a list of hosts. Ansible replaces
// a ~ and variables of the environment in a path.
func (c checks) inventory(x *runs.Spec) {
	list := strings.Contains(x.Inventory, ",")
	for part := range strings.SplitSeq(x.Inventory, ",") {
		if list && strings.HasPrefix(strings.TrimSpace(part), "-") {
			c.bad("inventory", "names a host that starts with -")
			return
		}
	}
	path := !list && x.Inventory != "" || strings.Contains(x.Inventory, "/")
	if x.ProjectID != "" && path && (!filepath.IsLocal(x.Inventory) || strings.HasPrefix(x.Inventory, "~") ||
		strings.Contains(x.Inventory, "$")) {
		c.bad("inventory", "leads out of the project")
	}
}

func (c checks) controls(x *runs.Controls) {
	c.argument("limit", x.Limit, maxText)
	if runs.LimitNamesFile(x.Limit) {
		c.bad("limit", "must not name a file")
	}
	c.list("tags", x.Tags)
	c.list("skip_tags", x.SkipTags)
	if x.Forks < 0 {
		c.bad("forks", "must not be negative")
	}
	if x.Verbosity < 0 {
		c.bad("verbosity", "must not be negative")
	}
}

func (c checks) list(path string, list []string) {
	if !c.count(path, len(list)) {
		return
	}
	for i, v := range list {
		at := fmt.Sprintf("%s[%d]", path, i)
		if v == "" {
			c.bad(at, "must not be empty")
			continue
		}
		c.argument(at, v, maxLabel)
	}
}

func (c checks) host(path, h string) {
	if h == "" {
		c.bad(path, "must not be empty")
		return
	}
	c.argument(path, h, maxLabel)
}

func (c checks) common(x *runs.Spec) {
	if x.TimeoutSeconds < 0 || x.TimeoutSeconds > maxSeconds {
		c.bad("timeout", "must be a number of seconds from 0 to %d", maxSeconds)
	}
	if x.IsolationProfile != "" && !profile.MatchString(x.IsolationProfile) {
		c.bad("isolation_profile", "is not the name of an isolation profile")
	}
	c.failOn(x.FailOn)
	if x.Priority < -maxPriority || x.Priority > maxPriority {
		c.bad("priority", "must be from %d to %d", -maxPriority, maxPriority)
	}
	c.ids(x.InventoryID, x.ProjectID, x.CredentialIDs)
	if c.count("env", len(x.Env)) {
		for _, k := range slices.Sorted(maps.Keys(x.Env)) {
			switch {
			case !envName.MatchString(k):
				c.bad("env", "%q is not the name of an environment variable", k)
			case strings.HasPrefix(k, "WRIT_"):
				c.bad("env."+k, "is set by the executor")
			default:
				c.text("env."+k, x.Env[k], maxText)
			}
		}
	}
	if c.count("notifications", len(x.Notifications)) {
		for i := range x.Notifications {
			c.under(fmt.Sprintf("notifications[%d]", i)).target(x.Notifications[i])
		}
	}
}

func (c checks) failOn(names []string) {
	known := []string{runs.FailOnNoHosts, runs.FailOnUnreachable, runs.FailOnWarnings}
	for i, name := range names {
		switch at := fmt.Sprintf("fail_on[%d]", i); {
		case i == maxItems:
			return
		case !slices.Contains(known, name):
			c.bad(at, "%s", fault.NoChoice(name, known...))
		case slices.Contains(names[:i], name):
			c.bad(at, "is named before")
		}
	}
}

// locks checks names of locks. The given ones are right, and do not count.
func (c checks) locks(names, vouched []string) {
	own := 0
	for i, name := range names {
		switch {
		case slices.Contains(vouched, name):
		case lock.MatchString(name):
			own++
		default:
			c.bad(fmt.Sprintf("locks[%d]", i), "is not the name of a lock: letters, digits and . _ / -, at most 63")
			return
		}
	}
	if own > runs.MaxLocks {
		c.bad("locks", "has more than %d members", runs.MaxLocks)
	}
}

// vouchedLocks are locks that only the application names: that of the schedule that makes the run, and those of the run
// that it is made from.
func vouchedLocks(o runs.Origin, of *runs.Run) []string {
	switch {
	case of != nil:
		return of.Spec.Locks
	case o.Source == runs.FromSchedule:
		return []string{runs.ScheduleLock(o.SourceID)}
	default:
		return nil
	}
}

func (c checks) ids(inventory, project string, credentials []string) {
	c.text("inventory_id", inventory, maxLabel)
	c.text("project_id", project, maxLabel)
	if c.count("credential_ids", len(credentials)) {
		for i, id := range credentials {
			c.host(fmt.Sprintf("credential_ids[%d]", i), id)
		}
	}
}
