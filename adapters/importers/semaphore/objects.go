package semaphore

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/writ-automation/writ/adapters/importers/document"
	"github.com/writ-automation/writ/adapters/importers/draft"
	"github.com/writ-automation/writ/ports/importer"
	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/reserved"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secrets"
)

// key is a key of a backup. It becomes a credential of each kind that its uses need.
type key struct {
	record *record
	name   string
	kind   string
	made   map[secrets.Kind]string
}

func (x *reader) key(r *record) {
	name, kind := r.text("name"), r.line("type")
	if r.line("owner") != "" {
		x.skip("key", name, r.ref, "The product made the key for a secret of an environment or a storage; enter it in a "+
			"credential of the kind env or custom.")
		return
	}
	if kind == "none" || kind == "" {
		x.keys[name] = &key{kind: "none"}
		x.skip("key", name, r.ref, "The key stands for no login, so no credential is needed.")
		return
	}
	if x.keys[name] != nil {
		x.skip("key", name, r.ref, "Another key has the same name.")
		return
	}
	x.keys[name] = &key{record: r, name: name, kind: kind, made: map[secrets.Kind]string{}}
}

// login returns the credential of a key for a use, empty for none. kind is empty for a login.
func (x *reader) login(o *importer.Object, field, name string, kind secrets.Kind) string {
	if name == "" {
		return ""
	}
	k := x.keys[name]
	switch {
	case k == nil:
		draft.Need(o, field, "The key %s is not in the backup; choose a credential.", reserved.Shown(name))
		return ""
	case k.kind == "none":
		return ""
	}
	return x.credential(k, kind)
}

// credential makes the credential of a key for a use, once.
func (x *reader) credential(k *key, kind secrets.Kind) string {
	if kind == "" {
		kind = secrets.Token
		switch k.kind {
		case "ssh":
			kind = secrets.SSHKey
		case "login_password":
			kind = secrets.SSHPassword
		}
	}
	if k.made[kind] != "" {
		return k.made[kind]
	}
	name := k.name
	if len(k.made) > 0 {
		name += " (" + strings.ReplaceAll(string(kind), "_", " ") + ")"
	}
	o := importer.Object{Kind: importer.Credential, Name: x.Name(importer.Credential, name), Ref: k.record.ref,
		Spec: &importer.CredentialSpec{Kind: string(kind)}}
	k.made[kind] = o.Name
	draft.Map(&o, "The key became a credential of the kind %s.", kind)
	draft.Need(&o, "type", "The secret has to be entered, with the name of the user if there is one: a backup has none.")
	if k.record.line("storage") != "" {
		draft.Need(&o, "storage", "The secret came from another secret store; set it as the source.")
	}
	for _, member := range []string{"type", "owner", "storage", "synchronized", "login_password", "ssh",
		"string", "secret",
		"password", "private_key", "source_storage_type", "source_storage_key", "storage_id"} {
		k.record.take(member)
	}
	k.record.rest(&o, "")
	x.Add(o)
	return o.Name
}

// unused makes the credentials of the keys that nothing uses.
func (x *reader) unused() {
	for _, name := range slices.Sorted(maps.Keys(x.keys)) {
		if k := x.keys[name]; k.kind != "none" && len(k.made) == 0 {
			x.credential(k, "")
		}
	}
}

func (x *reader) repository(r *record) {
	name := r.text("name")
	url, hidden, reason := address(r.line("git_url"))
	if reason != "" {
		x.repositories[name] = ""
		x.skip("repository", name, r.ref, reason)
		return
	}
	o := importer.Object{Kind: importer.Project, Name: x.Name(importer.Project, name), Ref: r.ref}
	spec := &importer.ProjectSpec{RepoURL: url, Branch: r.line("git_branch"), InstallDeps: true}
	if hidden {
		draft.Need(&o, "git_url", "The address had a login, which is left out; use a credential.")
	}
	if spec.Branch != "" && !validBranch(spec.Branch) {
		draft.Need(&o, "git_branch", "The branch is none that the server takes, and is left out.")
		spec.Branch = ""
	}
	spec.Credential = x.login(&o, "ssh_key", r.text("ssh_key"), "")
	draft.Map(&o, "The repository became a project, and the requirements files are installed, as before.")
	r.rest(&o, "")
	o.Spec = spec
	x.Add(o)
	x.repositories[name] = o.Name
}

var branch = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_+#-]*([./][A-Za-z0-9_+#-]+)*$`)

func validBranch(s string) bool {
	return branch.MatchString(s) && len(s) <= maxName && !strings.HasSuffix(s, ".lock") && !strings.Contains(s, ".lock/")
}

// inventory is what templates need to know of an inventory.
type inventory struct {
	name, path  string
	credentials []string // of a file
	missing     string   // why it is not written
}

func (x *reader) inventory(r *record) {
	name, kind, content := r.text("name"), r.line("type"), r.text("inventory")
	in := &inventory{}
	x.inventories[name] = in
	o := importer.Object{Kind: importer.Inventory, Ref: r.ref}
	switch kind {
	case "none":
		in.missing = "The inventory has no hosts and no content."
	case "", "static", "static-yaml":
	case "file":
		in.path = strings.TrimSpace(content)
		if !validPath(in.path) {
			in.path = ""
			in.missing = "The path of the inventory is none within a repository."
		}
	default:
		in.missing = "An inventory of this type is a workspace of another tool."
	}
	if in.missing != "" {
		x.skip("inventory", name, r.ref, in.missing)
		return
	}
	o.Name = name
	own := r.text("repository")
	if kind == "file" && x.repositories[own] == "" {
		o.Name, o.Kind, o.Class = x.Name("inventory file", name), "inventory file", importer.NoHome
		o.Reason = "It is a file of a repository, and no object: the templates that use it have its path."
		in.credentials = x.logins(&o, r)
		r.rest(&o, "")
		x.Add(o)
		return
	}
	o.Name = x.Name(importer.Inventory, name)
	in.name = o.Name
	spec := &importer.InventorySpec{}
	spec.Credentials = x.logins(&o, r)
	if kind == "file" {
		x.source(&o, in.path, x.repositories[own], r)
		in.path = ""
	} else {
		spec.Content, spec.Format = x.hosts(&o, kind, content)
	}
	r.rest(&o, "")
	o.Spec = spec
	x.Add(o)
}

// source makes the source of an inventory that is a file of a repository.
func (x *reader) source(o *importer.Object, path, project string, r *record) {
	s := importer.Object{Kind: importer.Source, Name: x.Name(importer.Source, o.Name), Ref: r.ref}
	s.Spec = &importer.SourceSpec{Kind: "project", Path: path, Project: project, Inventory: o.Name, UpdateOnLaunch: true}
	draft.Map(&s, "The file became a source that reads it from its project when runs start.")
	draft.Map(o, "The hosts come from the source %q.", s.Name)
	x.Add(s)
}

// logins returns the credentials of an inventory.
func (x *reader) logins(o *importer.Object, r *record) []string {
	var out []string
	for _, use := range []struct {
		member string
		kind   secrets.Kind
	}{{"ssh_key", ""}, {"become_key", secrets.Become}} {
		if name := x.login(o, use.member, r.text(use.member), use.kind); name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// assigned matches a variable of an inventory in the form of INI.
var assigned = lazyregexp.New(`([A-Za-z_][A-Za-z0-9_.-]*)(\s*=\s*)("(?:[^"\\]|\\.)*"|'[^']*'|\S+)`)

// hosts returns the content of an inventory without its secrets, with its format.
func (x *reader) hosts(o *importer.Object, kind, content string) (text, format string) {
	if strings.TrimSpace(content) == "" {
		draft.Map(o, "The inventory has no hosts.")
		return "", ""
	}
	r := newRecord("", nil)
	if kind == "static-yaml" {
		if strings.Contains(content, "&") && strings.Contains(content, "*") {
			if x.aliases++; x.aliases > maxAliases {
				draft.Need(o, "inventory", "More than %d inventories have aliases of YAML; this one has no hosts.", maxAliases)
				return "", ""
			}
		}
		var v any
		if err := document.YAML([]byte(content), &v); err != nil {
			draft.Need(o, "inventory", "The text is not YAML, so the inventory has no hosts.")
			return "", ""
		}
		if r.values, _ = v.(map[string]any); r.values == nil {
			draft.Need(o, "inventory", "The text is no inventory, so there are no hosts.")
			return "", ""
		}
		kept, _ := clean(o, "inventory", r.values, false, 0)
		body, err := json.MarshalIndent(kept, "", "  ")
		if err != nil {
			draft.Need(o, "inventory", "The YAML has a value that JSON cannot hold, so the inventory has no hosts.")
			return "", ""
		}
		draft.Map(o, "The hosts became the content, in JSON.")
		return string(body) + "\n", "json"
	}
	lines, section := strings.SplitAfter(content, "\n"), ""
	for i, line := range lines {
		if strings.HasPrefix(strings.TrimSpace(line), "[") {
			section = strings.TrimSpace(line)
		}
		if name, value, _ := strings.Cut(line, "="); strings.HasSuffix(section, ":vars]") &&
			secret(strings.TrimSpace(name), value) && !reference.MatchString(value) {
			draft.Need(o, "inventory", "The secret %s is left out; keep it in a credential.",
				reserved.Shown(strings.TrimSpace(name)))
			lines[i] = "\n"
			continue
		}
		lines[i] = assigned.Get().ReplaceAllStringFunc(line, func(s string) string {
			m := assigned.FindStringSubmatch(s)
			value := strings.Trim(m[3], `"'`)
			if !secret(m[1], value) || reference.MatchString(value) {
				return s
			}
			draft.Need(o, "inventory", "The secret %s is left out; keep it in a credential.", reserved.Shown(m[1]))
			return ""
		})
		if userInfo.MatchString(lines[i]) || strings.HasPrefix(strings.TrimSpace(line), "#") && runs.LooksSecret(line) {
			draft.Need(o, "inventory", "A line with a secret is left out.")
			lines[i] = "\n"
		}
	}
	draft.Map(o, "The hosts became the content.")
	return strings.Join(lines, ""), "ini"
}

func validPath(path string) bool {
	return path != "" && filepath.IsLocal(path) && path[0] != '-' && oneLine(path, maxPath)
}

// Bounds of the work for one backup.
const (
	maxAliases   = 20
	maxVariables = 64 << 20
)

// environment is an environment of a backup.
type environment struct {
	vars       map[string]any // without secrets
	lost       bool           // some are left out
	size       int            // bytes
	credential string
}

func (x *reader) environment(r *record) {
	name, env := r.text("name"), &environment{}
	x.environments[name] = env
	text := r.line("json")
	o := importer.Object{Kind: "environment", Name: x.Name("environment", name), Ref: r.ref, Class: importer.NoHome,
		Reason: "An environment is no object here: the templates that use it have its variables."}
	vars, ok := parsed(text).(map[string]any)
	if !ok && text != "" && text != "null" {
		draft.Need(&o, "json", "The variables are no JSON object and are left out.")
	}
	kept, _ := clean(&o, "json", vars, false, 0)
	env.vars, _ = kept.(map[string]any)
	env.size, env.lost = len(text), len(o.Warnings) > 0
	o.Class = importer.NoHome
	set, _ := parsed(r.text("env")).(map[string]any)
	if blank(r.values["env"]) && blank(r.take("password")) {
		r.rest(&o, "")
		x.Add(o)
		return
	}
	c := importer.Object{Kind: importer.Credential, Name: x.Name(importer.Credential, name), Ref: r.ref,
		Spec: &importer.CredentialSpec{Kind: string(secrets.Env)}}
	env.credential = c.Name
	draft.Map(&c, "The variables of the process became a credential of the kind env.")
	names := make([]string, 0, len(set))
	for _, n := range slices.Sorted(maps.Keys(set)) {
		names = append(names, reserved.Shown(n))
	}
	draft.Need(&c, "env", "The values have to be entered: %s.", reserved.Paths(names))
	x.Add(c)
	draft.Map(&o, "The variables of the process are the credential %q.", c.Name)
	r.rest(&o, "")
	x.Add(o)
}

// parsed returns the value of a text that is JSON, nil for another text.
func parsed(s string) any {
	var v any
	if strings.TrimSpace(s) == "" || document.JSON([]byte(s), &v) != nil {
		return nil
	}
	return v
}
