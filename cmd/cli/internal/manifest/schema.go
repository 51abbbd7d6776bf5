package manifest

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// The kinds of documents, and two kinds of objects that documents only name.
const (
	Project    = "Project"
	Inventory  = "Inventory"
	Source     = "InventorySource"
	Template   = "Template"
	Schedule   = "Schedule"
	Trigger    = "Trigger"
	Credential = "Credential"
	Org        = "Organization"
)

// shape is what a member may hold.
type shape uint8

const (
	text    shape = iota
	number        // a whole number
	flag          // true or false
	texts         // a list of texts
	pairs         // an object of texts
	object        // an object of anything
	value         // anything
	ref           // an object by name
	refs          // several
	record        // an object of known members
	records       // several
)

// member is one member of a document.
type member struct {
	name   string // in files
	api    string // in the API, where it is another one
	shape  shape
	to     string // the kind that a reference names
	fields []member
	preset any  // what leaving it out means, where that is not the zero value
	always bool // sent also where it is left out, as its preset
	zero   bool // a zero value says something else than leaving it out
	keep   bool // left out it says nothing: what the server has stays
	echo   bool // what stays has to be sent
	beside bool // its text may stand in a file of its own, which the member with "_file" behind its name tells
	secret bool // its texts are shown masked
	most   int  // more counts as this; 0 is no bound
}

func (m *member) field() string {
	if m.api != "" {
		return m.api
	}
	return m.name
}

// Kind is a kind of documents.
type Kind struct {
	Name    string
	Plural  string // of files and of the key of lists
	Path    string // of the API
	members []member
}

// Kinds lists the kinds in the order in which objects are created, so that what is named is there before what names it.
func Kinds() []Kind {
	return []Kind{
		{Project, "projects", "/v1/projects", projectMembers()},
		{Inventory, "inventories", "/v1/inventories", inventoryMembers()},
		{Source, "inventory_sources", "/v1/inventory-sources", sourceMembers()},
		{Template, "templates", "/v1/templates", templateMembers()},
		{Schedule, "schedules", "/v1/schedules", scheduleMembers()},
		{Trigger, "triggers", "/v1/triggers", triggerMembers()},
	}
}

// KindOf returns the kind of a name as files have it, or in the plural; ok is false for any other word.
func KindOf(name string) (k Kind, ok bool) {
	for _, k := range Kinds() {
		if name == k.Name || name == k.Plural || strings.EqualFold(name, k.Name) {
			return k, true
		}
	}
	return Kind{}, false
}

// Names lists the kinds' names.
func Names() []string {
	var out []string
	for _, k := range Kinds() {
		out = append(out, k.Name)
	}
	return out
}

// of returns the members of a document, of which one hangs on another: what a source is told hangs on its kind.
func (k Kind) of(spec map[string]any) []member {
	if k.Name != Source || spec["kind"] != "plugin" {
		return k.members
	}
	out := slices.Clone(k.members)
	for i := range out {
		if out[i].name == "config" {
			out[i] = member{name: "config", shape: object}
		}
	}
	return out
}

// Targets lists the kinds that documents of a kind may name.
func (k Kind) Targets() []string {
	var out []string
	var walk func([]member)
	walk = func(list []member) {
		for i := range list {
			if list[i].to != "" && !slices.Contains(out, list[i].to) {
				out = append(out, list[i].to)
			}
			walk(list[i].fields)
		}
	}
	walk(k.members)
	return out
}

// idForm is how ids look, by the kind of object.
var idForm = regexp.MustCompile(`^([a-z]{3,4})_[0-9a-z]{26}$`)

// IsID reports whether a text has the form of an id of that kind of object.
func IsID(kind, s string) bool {
	prefix := map[string]string{
		Project: "prj", Inventory: "inv", Source: "src", Template: "tpl", Schedule: "sch", Trigger: "trg", Credential: "crd", Org: "org",
	}[kind]
	m := idForm.FindStringSubmatch(s)
	return m != nil && m[1] == prefix
}

func projectMembers() []member {
	return []member{
		{name: "repo_url"}, {name: "branch"}, credential(), {name: "install_deps", shape: flag},
	}
}

func inventoryMembers() []member {
	return []member{
		{name: "content", keep: true, beside: true, preset: ""}, {name: "format", keep: true, echo: true, preset: "ini"}, credentials(), {name: "queue"},
	}
}

func sourceMembers() []member {
	return []member{
		{name: "kind"},
		{name: "config", shape: record, fields: []member{
			{name: "content", beside: true}, {name: "url"}, {name: "headers", shape: pairs, secret: true},
		}},
		{name: "path"}, project(), credential(), inventory(), {name: "update_on_launch", shape: flag}, {name: "sync_interval", shape: number},
	}
}

func templateMembers() []member {
	return slices.Concat(
		[]member{tool(), {name: "playbook"}, command(), shards(), inventory(), inventoryPath(), project(), extraVars()},
		controls(),
		[]member{
			{name: "timeout", shape: number}, notifications(), survey(), steps(), credentials(),
			{name: "selectable_credentials", api: "selectable_credential_ids", shape: refs, to: Credential},
			{name: "queue"}, labels(), {name: "change"}, {name: "dry_run", shape: flag}, {name: "allow_overrides", shape: texts},
		},
	)
}

func scheduleMembers() []member {
	return []member{
		{name: "cron"}, {name: "timezone"}, {name: "enabled", shape: flag, preset: true, always: true},
		{name: "template", api: "template_id", shape: ref, to: Template},
		{name: "run", shape: record, fields: runMembers()}, {name: "pipeline", shape: record, fields: pipelineMembers()},
		{name: "answers", shape: object},
	}
}

func triggerMembers() []member {
	return []member{
		{name: "template", api: "template_id", shape: ref, to: Template},
		{name: "require_signature", shape: flag, preset: true, always: true}, {name: "branch", preset: "", always: true},
		{name: "events", shape: texts, preset: []any{}, always: true},
	}
}

func runMembers() []member {
	return slices.Concat(
		[]member{{name: "name"}, tool(), {name: "playbook"}, command(), shards(), inventory(), inventoryPath(), project(), extraVars()},
		controls(),
		[]member{
			{name: "dry_run", shape: flag}, {name: "timeout", shape: number}, notifications(), {name: "env", shape: pairs}, credentials(),
			{name: "queue"}, {name: "priority", shape: number}, {name: "require_approval", shape: flag}, labels(), {name: "change"},
		},
	)
}

func pipelineMembers() []member {
	return []member{
		{name: "name"}, inventory(), inventoryPath(), project(), steps(), extraVars(), credentials(), labels(), {name: "change"},
		{name: "queue"}, {name: "require_approval", shape: flag}, {name: "dry_run", shape: flag}, {name: "timeout", shape: number}, notifications(),
	}
}

func steps() member {
	return member{name: "steps", shape: records, fields: []member{
		{name: "name"}, tool(), {name: "playbook"}, command(), {name: "depends_on", shape: texts}, {name: "retries", shape: number},
		{name: "continue_on_failure", shape: flag}, extraVars(), {name: "limit"}, {name: "tags", shape: texts}, {name: "skip_tags", shape: texts},
		{name: "timeout", shape: number}, credentials(), inventory(), {name: "queue"},
	}}
}

func survey() member {
	return member{name: "survey", shape: records, fields: []member{
		{name: "var"}, {name: "type"}, {name: "label"}, {name: "help"}, {name: "required", shape: flag}, {name: "default", shape: value, zero: true},
		{name: "min", shape: number, zero: true}, {name: "max", shape: number, zero: true},
		{name: "min_length", shape: number, zero: true}, {name: "max_length", shape: number, zero: true},
		{name: "pattern"}, {name: "choices", shape: texts},
	}}
}

func notifications() member {
	return member{name: "notifications", shape: records, fields: []member{
		{name: "kind"}, {name: "url", secret: true}, {name: "key", secret: true}, {name: "to"}, {name: "on_failure", shape: flag},
	}}
}

func controls() []member {
	return []member{
		{name: "limit"}, {name: "tags", shape: texts}, {name: "skip_tags", shape: texts}, {name: "forks", shape: number},
		{name: "verbosity", shape: number, most: 4}, {name: "diff_mode", shape: flag},
	}
}

func shards() member {
	return member{name: "shards", shape: number, preset: json.Number("1"), most: 512}
}
func tool() member          { return member{name: "tool", preset: "ansible"} }
func command() member       { return member{name: "command", beside: true} }
func extraVars() member     { return member{name: "extra_vars", shape: object} }
func labels() member        { return member{name: "labels", shape: pairs} }
func inventoryPath() member { return member{name: "inventory_path", api: "inventory"} }

func credential() member {
	return member{name: "credential", api: "credential_id", shape: ref, to: Credential}
}

func credentials() member {
	return member{name: "credentials", api: "credential_ids", shape: refs, to: Credential}
}

func project() member { return member{name: "project", api: "project_id", shape: ref, to: Project} }

func inventory() member {
	return member{name: "inventory", api: "inventory_id", shape: ref, to: Inventory}
}
