package cli

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-automation/writ/cmd/cli/internal/apidoc"
	"github.com/writ-automation/writ/ports/ids"
)

// noun is a kind of object of the API, with a command for each of its operations. The API's description names the
// verbs and flags; this says what a rule cannot derive.
type noun struct {
	name    string     // as users write it
	plural  string     // of people's words, if it is not the path
	paths   string     // below /v1/, with spaces between them
	prefix  ids.Prefix // of ids; objects without one are called by a name that is in the path
	label   string     // the member that names an object; empty if only ids do
	columns string     // of a list, beside the label
	under   string     // the group that has it; empty for the top
	as      string     // its name in that group
	aliases []string
}

func nouns() []noun {
	const named = "name"
	return []noun{
		{name: "run", paths: "runs", prefix: ids.Run},
		{name: "pipeline", paths: "pipelines", prefix: ids.Run},
		{name: "template", paths: "templates", prefix: ids.Template, label: named,
			columns: "tool,playbook,command,queue,updated_at"},
		{name: "schedule", paths: "schedules", prefix: ids.Schedule, label: named,
			columns: "cron,timezone,enabled,next_run_at,last_error"},
		{name: "trigger", paths: "triggers", prefix: ids.Trigger, label: named,
			columns: "branch,events,last_fired_at,last_error"},
		{name: "task", paths: "tasks"},
		{name: "project", paths: "projects", prefix: ids.Project, label: named,
			columns: "repo_url,branch,commit,synced_at,last_error"},
		{name: "inventory", paths: "inventories", prefix: ids.Inventory, label: named,
			columns: "hosts,groups,queue,updated_at"},
		{name: "source", plural: "sources", paths: "inventory-sources", prefix: ids.Source, label: named,
			columns: "kind,path,synced_at,last_error"},
		{name: "credential", paths: "credentials", prefix: ids.Credential, label: named,
			columns: "kind,has_secret,updated_at"},
		{name: "credential-type", paths: "credential-types", prefix: ids.CredentialType, label: named},
		{name: "host", paths: "hosts fleet"},
		{name: "estate", paths: "estate"},
		{name: "drift", paths: "drift"},
		{name: "drift ignore", as: "ignore", under: "drift", plural: "rules", paths: "drift/ignores",
			prefix: ids.DriftIgnore, columns: "host,resource,expires_at,reason"},
		{name: "change", paths: "changes"},
		{name: "ai", plural: "answers of a language model", paths: "ai"},
		{name: "user", paths: "users", prefix: ids.User, label: "username", aliases: []string{"account"},
			columns: "role,full_name,has_password,created_at"},
		{name: "token", paths: "tokens", prefix: ids.Token, label: named,
			columns: "kind,username,user_id,scopes,expires_at,last_used_at"},
		{name: "team", paths: "teams", prefix: ids.Team, label: named, columns: "created_at"},
		{name: "org", plural: "organizations", paths: "orgs", prefix: ids.Org, label: named, columns: "created_at"},
		{name: "grant", paths: "grants", prefix: ids.Grant, columns: "subject,level,object,created_at"},
		{name: "policy", paths: "policies", prefix: ids.Policy, label: named, columns: "enabled,effect,message"},
		{name: "window", paths: "windows", prefix: ids.Window, label: named,
			columns: "enabled,mode,outside,cron,from,to,timezone"},
		{name: "audit", plural: "entries of the trail", paths: "audit", columns: "seq,at,actor,action,object,outcome,text"},
		{name: "queue", paths: "queues", label: named, columns: "pending,running,max_concurrent,workers"},
		{name: "worker", paths: "workers", label: named, columns: "kind,queues,executors,running,fresh,last_seen_at"},
		workerTokens("worker-token", "", ""),
		workerTokens("worker-token", "worker", "token"),
		{name: "dead-letter", plural: "dead letters", paths: "dead-letters", prefix: ids.DeadLetter,
			columns: "event,subscriber,attempts,last_at,error"},
		{name: "extension", paths: "extensions", label: named, columns: "kinds,version,state,restarts,error"},
		{name: "license", paths: "license"},
	}
}

// workerTokens are both a noun and a group of the command worker.
func workerTokens(name, under, as string) noun {
	return noun{name: name, under: under, as: as, plural: "tokens of workers", paths: "worker-tokens",
		prefix: ids.WorkerToken, label: "name", columns: "queues,created_at,expires_at"}
}

func (n *noun) use() string { return cmp.Or(n.as, n.name) }

// many is the plural in people's words.
func (n *noun) many() string {
	first, _, _ := strings.Cut(n.paths, " ")
	return cmp.Or(n.plural, strings.ReplaceAll(first, "-", " "))
}

// words is the name in people's words.
func (n *noun) words() string { return strings.ReplaceAll(n.name, "-", " ") }

// argument is how usage lines call an object.
func (n *noun) argument() string { return strings.ToUpper(cmp.Or(n.as, n.name)) }

func findNoun(name string) (noun, bool) {
	list := nouns()
	i := slices.IndexFunc(list, func(n noun) bool { return n.name == name })
	if i < 0 {
		return noun{}, false
	}
	return list[i], true
}

// operation is an operation of the API as a verb of a noun.
type operation struct {
	apidoc.Operation
	verb string
}

// operations lists the operations below the paths of a noun that no other noun has.
func (n *noun) operations() []operation {
	var out []operation
	without := withoutCommand()
	for _, o := range apidoc.Operations() {
		for path := range strings.FieldsSeq(n.paths) {
			rest, ok := strings.CutPrefix(o.Path, "/v1/"+path)
			inside := strings.HasPrefix(o.Path, "/v1/drift/ignores") && path == "drift"
			if ok && !inside && without[o.ID] == "" && (rest == "" || rest[0] == '/') {
				out = append(out, operation{o, verbOf(o, rest)})
			}
		}
	}
	return append(out, n.elsewhere()...)
}

// withoutCommand lists the operations that have no command of their own, each with what takes its place.
func withoutCommand() map[string]string {
	const browser, document, session = "the sign-in of a browser", "a document for other programs: writ api",
		"of sessions: the commands that sign in"
	return map[string]string{
		"begin-oidc": browser, "complete-oidc": browser, "begin-saml": browser, "complete-saml": browser,
		"read-saml-metadata": document, "read-metrics": document, "read-openapi-json": document,
		"read-openapi-yaml": document, "check-liveness": document, "check-readiness": document,
		"deliver-hook": "the protocol of webhooks", "import-export": "writ import",
		"follow-run": "writ logs --follow", "mint-stream-ticket": "writ logs --follow",
		"follow-live": "writ watch, which asks again", "mint-live-ticket": "streams of browsers: writ api",
		"sign-in": session, "sign-out": session, "read-me": session, "check-token": session,
		"exchange-code":    session,
		"read-preferences": "settings of clients: writ api", "save-preferences": "settings of clients: writ api",
		"read-team-preferences": "settings of clients: writ api", "save-team-preferences": "settings of clients: writ api",
		"get-doctor": "writ doctor",
	}
}

// elsewhere lists operations of a noun at other paths.
func (n *noun) elsewhere() []operation {
	var out []operation
	for id, verb := range map[string][2]string{"change-password": {"user", "password"}, "read-seal": {"audit", "seal"}} {
		if o, ok := apidoc.Find(id); ok && verb[0] == n.name {
			out = append(out, operation{o, verb[1]})
		}
	}
	return out
}

func (n *noun) operation(verb string) (operation, bool) {
	list := n.operations()
	i := slices.IndexFunc(list, func(o operation) bool { return o.verb == verb })
	if i < 0 {
		return operation{}, false
	}
	return list[i], true
}

// verbOf names the verb of an operation by the rest of its path below the noun.
func verbOf(o apidoc.Operation, rest string) string {
	// The commands verify and bundle of audit work on files and databases, compare of schedule on an export; the others
	// have a clearer verb.
	switch o.ID {
	case "compare-schedule":
		return "compare-update"
	case "verify-audit-chain":
		return "check"
	case "download-audit-bundle":
		return "download"
	case "relaunch-failed":
		return "relaunch"
	case "find-in-log":
		return "find"
	case "propose-run":
		return "propose"
	case "get-inventory-version":
		return "version"
	case "compare-inventory-versions":
		return "diff"
	}
	var names []string
	for part := range strings.SplitSeq(strings.Trim(rest, "/"), "/") {
		if part != "" && !strings.HasPrefix(part, "{") {
			names = append(names, part)
		}
	}
	one := strings.Contains(rest, "{")
	switch {
	case len(names) == 1 && names[0] == "members" && o.Method == "POST":
		return "add"
	case len(names) == 1 && names[0] == "members" && o.Method == "DELETE":
		return "remove"
	case len(names) > 0:
		return strings.Join(names, "-")
	case o.Method == "POST":
		return "create"
	case o.Method == "PUT":
		return "edit"
	case o.Method == "DELETE":
		return "delete"
	case one || o.List == "":
		return "show"
	}
	return "list"
}

// verbAliases are short and former names of verbs.
func verbAliases(o operation) []string {
	switch {
	case o.verb == "create" && strings.HasPrefix(o.ID, "mint-"):
		return []string{"new"}
	case o.verb == "create" && o.ID == "submit-pipeline":
		return []string{"submit"}
	case o.verb == "delete" && strings.HasPrefix(o.ID, "revoke-"):
		return []string{"revoke"}
	case o.verb == "delete":
		return []string{"rm"}
	case o.verb == "list":
		return []string{"ls"}
	}
	return nil
}

// addNouns completes the commands by a verb for each operation that has none. The verbs of a noun are made only if
// wanted: the tree has hundreds of flags.
func addNouns(root *cobra.Command, w environment, wanted func(name string) bool) {
	for _, n := range nouns() {
		parent := root
		if n.under != "" {
			parent = child(root, n.under)
		}
		c := child(parent, n.use())
		if c == nil {
			c = group(n.use(), "Work with "+n.many())
			parent.AddCommand(c)
		}
		c.Aliases = append(c.Aliases, n.aliases...)
		if !wanted(n.use()) && !slices.ContainsFunc(n.aliases, wanted) {
			continue
		}
		more := handmade(w, n)
		for _, o := range n.operations() {
			more = append(more, n.command(w, o))
		}
		for _, verb := range more {
			if child(c, verb.Name()) != nil {
				continue
			}
			verb.Aliases = slices.DeleteFunc(verb.Aliases, func(a string) bool { return child(c, a) != nil })
			c.AddCommand(verb)
		}
	}
}

// child finds a command below another one by its name or an alias.
func child(c *cobra.Command, name string) *cobra.Command {
	for _, sub := range c.Commands() {
		if sub.Name() == name || sub.HasAlias(name) {
			return sub
		}
	}
	return nil
}

// renamed makes a daily command a verb of its noun.
func renamed(c *cobra.Command, use string) *cobra.Command {
	c.Use, c.Example = use, ""
	return c
}

// handmade are the commands with a better form than the rule would give them, as verbs of their noun.
func handmade(w environment, n noun) []*cobra.Command {
	switch n.name {
	case "run":
		list := renamed(runsCommand(w), "list")
		list.Args = args(cobra.NoArgs)
		return []*cobra.Command{list, runShowCommand(w), logsCommand(w), cancelCommand(w), approveCommand(w),
			rejectCommand(w)}
	case "template":
		return []*cobra.Command{launchCommand(w)}
	case "schedule":
		return []*cobra.Command{scheduleCompareCommand(w)}
	case "host":
		return []*cobra.Command{renamed(hostsCommand(w), "list"), renamed(hostCommand(w), "show HOST")}
	case "change":
		return []*cobra.Command{renamed(changesCommand(w), "list"), renamed(changeCommand(w), "show CHANGE")}
	case "estate":
		show := renamed(estateCommand(w), "show")
		show.Aliases = []string{"list", "ls"}
		return []*cobra.Command{show}
	case "drift":
		list := renamed(driftCommand(w), "list")
		list.RemoveCommand(list.Commands()...)
		list.Aliases = []string{"show"}
		return []*cobra.Command{list}
	}
	return nil
}
