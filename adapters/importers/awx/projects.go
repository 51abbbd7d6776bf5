package awx

import (
	"net/url"
	"slices"
	"strings"

	"github.com/writ-automation/writ/adapters/importers/draft"
	"github.com/writ-automation/writ/ports/importer"
	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/object"
)

// scp is the short form of an address for ssh, as the server takes it.
var scp = lazyregexp.New(`^([A-Za-z0-9_.~][A-Za-z0-9_.~+%-]{0,127})@([^@:/\[\]\s]+|\[[0-9A-Fa-f:.]+\]):([^:\s].*)$`)

func (x *reader) project(e *entry, r *record) {
	related := r.child("related")
	e.channels = x.attached(r.ref, related)
	defer x.nested(e, related)
	if kind := r.line("scm_type"); kind != "git" {
		if kind == "" {
			kind = "manual"
		}
		x.Skip("project", e.name, e.ref, "A project here is a git repository, and this one is %s.", kind)
		return
	}
	address, secret, reason := repository(r.line("scm_url"))
	if reason != "" {
		x.Skip("project", e.name, e.ref, "%s", reason)
		return
	}
	o := x.put(e, importer.Project)
	r.described(o)
	spec := importer.ProjectSpec{RepoURL: address, Branch: r.line("scm_branch"), InstallDeps: true}
	if secret {
		draft.Need(o, "scm_url", "The address had a password, which is left out; use a credential.")
	}
	if spec.Branch != "" && !validRef(spec.Branch) {
		draft.Need(o, "scm_branch", "The branch is none that the server takes, and is left out.")
		spec.Branch = ""
	}
	spec.Credential = x.refer(o, "credential", "credential", r.take("credential"))
	draft.Map(o, "The repository became the address, and the requirements files are installed, as before.")
	if r.flag("scm_clean") || r.flag("scm_delete_on_update") {
		draft.Map(o, "Every run gets a fresh checkout, so nothing has to be cleaned or deleted.")
	}
	if r.line("scm_refspec") != "" {
		draft.Need(o, "scm_refspec", "Only branches and tags are fetched; another refspec is not kept.")
	}
	if r.flag("scm_track_submodules") {
		draft.Warn(o, "scm_track_submodules", "Submodules stay at the commit that the repository names.")
	}
	if r.flag("allow_override") {
		draft.Warn(o, "allow_override", "A template uses the branch of its project and cannot choose another one.")
	}
	if !r.flag("scm_update_on_launch") {
		draft.Map(o, "The project is fetched when runs start, whether or not it was before.")
	}
	if r.number("scm_update_cache_timeout") > 0 || r.number("timeout") > 0 {
		draft.Warn(o, "timeout", "The limits for the time of updates are those of the server.")
	}
	o.Spec = &spec
	r.rest(o, "")
	related.rest(o, "related.")
}

// repository returns an address that the server takes, without its password, or why it takes none.
func repository(address string) (out string, secret bool, reason string) {
	const most = 2000
	switch {
	case address == "":
		return "", false, "The project has no address."
	case !object.Line(address, most) || strings.HasPrefix(address, "-"):
		return "", false, "The address is not one line of text."
	case scp.MatchString(address):
		return address, false, ""
	case !strings.Contains(address, "://"):
		return "", false, "The address has none of the forms https://, ssh://, git:// and user@host:path."
	}
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return "", false, "The address is not valid."
	}
	if !slices.Contains([]string{"https", "ssh", "git"}, u.Scheme) {
		return "", false, "The server takes addresses with https, ssh and git, and this one has another scheme."
	}
	if u.RawQuery != "" || u.Fragment != "" || u.ForceQuery {
		return "", false, "The address has a query or a fragment, which the server does not take."
	}
	if u.User != nil {
		_, secret = u.User.Password()
		// The name of a user of https may be a token, and git:// has no users.
		switch name := u.User.Username(); {
		case u.Scheme != "ssh":
			secret, u.User = true, nil
		case name == "":
			u.User = nil
		default:
			u.User = url.User(name)
		}
	}
	return u.String(), secret, ""
}

// validRef reports whether git allows the name of a branch.
func validRef(name string) bool {
	const most = 255
	bad := len(name) > most || name == "@" || strings.Contains(name, "@{") || strings.Contains(name, "..") ||
		strings.HasPrefix(name, "-") || strings.HasSuffix(name, ".") || strings.ContainsAny(name, " ~^:?*[\\") ||
		!object.Line(name, most)
	for part := range strings.SplitSeq(name, "/") {
		bad = bad || part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock")
	}
	return !bad
}

// plugins returns the inventory plugins of the kinds of sources.
func plugins() map[string]string {
	return map[string]string{
		"ec2": "amazon.aws.aws_ec2", "gce": "google.cloud.gcp_compute", "azure_rm": "azure.azcollection.azure_rm",
		"vmware": "community.vmware.vmware_vm_inventory", "vmware_esxi": "community.vmware.vmware_host_inventory",
		"openstack": "openstack.cloud.openstack", "rhv": "ovirt.ovirt.ovirt", "satellite6": "theforeman.foreman.foreman",
		"controller": "ansible.controller.controller", "tower": "ansible.controller.controller",
		"insights": "redhat.insights.insights", "terraform": "cloud.terraform.terraform_state",
		"openshift_virtualization": "kubevirt.core.kubevirt",
	}
}

func (x *reader) source(e *entry, r *record) {
	related, key := r.child("related"), r.take("inventory")
	defer x.nested(e, related)
	kind, inventory := r.line("source"), x.find("inventory", key)
	path := strings.TrimLeft(strings.TrimSpace(r.text("source_path")), "/")
	reason := ""
	switch plugin := plugins()[kind]; {
	case named(key) == "":
		reason = "The source has no inventory."
	case inventory != nil && !inventory.written():
		reason = "Its inventory is not imported."
	case inventory != nil && inventory.uses > 0:
		reason = "A refresh replaces the whole inventory, which has another source already."
	case kind == "scm" && path == "":
		reason = "The source has no path in its project."
	case kind == "scm" && (slices.Contains(strings.Split(path, "/"), "..") || !object.Line(path, maxPath) ||
		path[0] == '-'):
		reason = "The path of the source leads out of its project."
	case kind == "scm" && named(r.values["source_project"]) == "":
		reason = "The source has no project."
	case kind != "scm" && plugin == "":
		reason = "There is no counterpart for sources of this kind: " + shown(kind) + "."
	}
	if reason != "" {
		x.Skip("inventory_source", e.name, e.ref, "%s", reason)
		return
	}
	o := x.put(e, importer.Source)
	r.described(o)
	spec := importer.SourceSpec{Kind: "project", Path: path, UpdateOnLaunch: r.flag("update_on_launch")}
	if spec.Inventory = x.refer(o, "inventory", "inventory", key); inventory != nil {
		inventory.uses++
	}
	if kind == "scm" {
		spec.Project = x.refer(o, "source_project", "project", r.take("source_project"))
		draft.Map(o, "The source became one that reads the file %s of its project.", path)
		if vars := x.variables(o, "source_vars", r.take("source_vars")); vars != nil {
			draft.Warn(o, "source_vars", "The variables of the source are not given to the reader of the file.")
		}
		if spec.Project == "" {
			lose(o, "Its project is not imported.")
			return
		}
	} else {
		x.plugin(o, &spec, plugins()[kind], r)
	}
	x.access(o, &spec, r, related)
	if !r.flag("overwrite") || !r.flag("overwrite_vars") || inventory != nil && inventory.filled() {
		draft.Warn(o, "overwrite",
			"A refresh replaces the whole inventory, also hosts and variables that were added by hand.")
	}
	for _, member := range []string{"enabled_var", "host_filter", "source_regions", "instance_filters", "group_by"} {
		if r.line(member) != "" {
			draft.Need(o, member, "This choice of hosts is not kept, so the inventory may have more hosts.")
		}
	}
	r.skip("enabled_value", "verbosity", "timeout", "update_cache_timeout")
	o.Spec = &spec
	r.rest(o, "")
	related.rest(o, "related.")
}

// plugin sets the configuration of a source that is a plugin.
func (x *reader) plugin(o *importer.Object, spec *importer.SourceSpec, name string, r *record) {
	spec.Kind, spec.Path, spec.Config = "plugin", "", x.variables(o, "source_vars", r.take("source_vars"))
	if spec.Config == nil {
		spec.Config = map[string]any{}
	}
	spec.Config["plugin"] = name
	draft.Map(o, "The source became the plugin %s, with the variables of the source as its configuration.", name)
	draft.Need(o, "source", "The executors need the collection of the plugin %s.", name)
	r.skip("source_project")
}

// access sets the credential of a source: the first of the export.
func (x *reader) access(o *importer.Object, spec *importer.SourceSpec, r, related *record) {
	all := related.list("credentials")
	if key := r.take("credential"); named(key) != "" {
		all = append([]any{key}, all...)
	}
	for i, key := range all {
		if i == 0 {
			spec.Credential = x.refer(o, "credential", "credential", key)
		} else if named(key) != named(all[0]) {
			draft.Need(o, "related.credentials", "A source has one credential; %s is not kept.", shown(named(key)))
		}
	}
}
