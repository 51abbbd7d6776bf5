package objects

// table words the forms of a kind of records.
type table struct {
	// Noun is the record in a sentence, with its article; About is what it is for.
	Noun, About string
	// Home is the page of the list. Detail is the page of a record, with {id}; empty for none.
	Home, Detail string
	Groups       []groupSpec
	// Members words members, by their path. What it lacks comes from common().
	Members map[string]memberSpec
	// Expand are objects whose members have fields of their own.
	Expand []string
}

type groupSpec struct {
	Name    string
	Members []string
	// Folded is a group that is closed until something of it is set.
	Folded bool
}

// memberSpec words a member.
type memberSpec struct {
	Label, Help string
	// Widget is area, code, json, password, pairs, steps, zone, cron or tool; empty follows from the schema.
	Widget string
	// Refers is the kind of records that the value names.
	Refers string
	// Default is the value in the form of a new record.
	Default string
	// Keep sends an empty value when the record is changed: the API keeps what is omitted.
	Keep  bool
	Lines int
	// None is the choice of no value.
	None string
}

// common words the members that several kinds have.
func common() map[string]memberSpec {
	return map[string]memberSpec{
		"name": {Label: "Name"}, "org_id": {Label: "Organization", Refers: "orgs", None: "No organization"},
		"inventory_id":   {Label: "Inventory", Refers: "inventories"},
		"project_id":     {Label: "Project", Refers: "projects"},
		"template_id":    {Label: "Template", Refers: "templates"},
		"credential_id":  {Label: "Credential", Refers: "credentials"},
		"credential_ids": {Label: "Credentials", Refers: "credentials"},
		"queue":          {Label: "Queue", Refers: "queues"},
		"queues":         {Label: "Queues", Help: "One on each line; the default queue if empty."},
		"timezone": {Label: "Time zone", Widget: "zone",
			Help: "A name such as Europe/Berlin. The server's if empty."},
		"cron":       {Label: "Cron expression", Widget: "cron"},
		"enabled":    {Label: "Enabled", Default: "true", Help: "What is not enabled has no effect."},
		"extra_vars": {Label: "Extra variables", Widget: "json"},
		"labels":     {Label: "Labels", Widget: "pairs", Help: "One on each line: name=value."},
		"env": {Label: "Environment", Widget: "pairs",
			Help: "One on each line: NAME=value. Not for secrets."},
		"limit":                {Label: "Limit", Help: "A host pattern, such as web:!web-eu-0078."},
		"tags":                 {Label: "Only tags", Help: "One on each line."},
		"skip_tags":            {Label: "Not tags", Help: "One on each line."},
		"locks":                {Label: "Locks", Help: "Runs that share a lock wait for each other. One on each line."},
		"notifications":        {Label: "Notifications", Widget: "json"},
		"message":              {Label: "Message", Widget: "area"},
		"reason":               {Label: "Reason", Widget: "area"},
		"expires_at":           {Label: "Ends", Help: "An instant such as 2026-12-24T18:00:00Z. Never if empty."},
		"expires_in":           {Label: "Ends after", Help: "Seconds: 2592000 are 30 days. Never if empty."},
		"tool":                 {Label: "Tool", Widget: "tool", Help: "Ansible if empty."},
		"command":              {Label: "Command", Widget: "code", Lines: 8},
		"change":               {Label: "Change", Help: "Runs with the same label form one change."},
		"match.tools":          {Label: "Tools", Help: "One on each line."},
		"match.inventory_ids":  {Label: "Inventories", Refers: "inventories"},
		"match.template_ids":   {Label: "Templates", Refers: "templates"},
		"match.project_ids":    {Label: "Projects", Refers: "projects"},
		"match.credential_ids": {Label: "Credentials", Refers: "credentials"},
		"match.queues":         {Label: "Queues", Help: "One on each line."},
		"match.labels":         {Label: "Labels", Widget: "pairs", Help: "One on each line: name=value. The value * is any."},
		"approver_teams":       {Label: "Approver teams", Refers: "teams"},
		"actors":               {Label: "Only for", Refers: "subjects"},
		"user_id":              {Label: "Account", Refers: "users", None: "Your own account"},
		"password":             {Label: "Password", Widget: "password"},
	}
}

// tables returns the tables by kind.
func tables() map[string]table {
	out := catalogTables()
	for name, t := range accessTables() {
		out[name] = t
	}
	for name, t := range ruleTables() {
		out[name] = t
	}
	return out
}

// matched are the members of the object match.
func matched() []string {
	return []string{"match.tools", "match.command_contains", "match.playbook", "match.inventory_ids", "match.template_ids",
		"match.project_ids", "match.credential_ids", "match.queues", "match.sources", "match.labels", "match.hosts_over",
		"match.inventory_share_over", "match.limit_missing", "match.change_missing"}
}
