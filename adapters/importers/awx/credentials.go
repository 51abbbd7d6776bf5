package awx

import (
	"maps"
	"slices"
	"strings"

	"github.com/writ-automation/writ/adapters/importers/draft"
	"github.com/writ-automation/writ/ports/importer"
	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/reserved"
	"github.com/writ-automation/writ/ports/secrets"
)

// shell says what a credential of a type becomes.
type shell struct {
	kind     secrets.Kind
	settings map[string]string // by setting: the input
	secret   []string          // inputs
	env      string            // the variables that a credential of the kind env has to have
}

// shells returns what the credentials of the product's own types become, by the name of the type in small letters.
func shells() map[string]shell {
	token := shell{kind: secrets.Token, secret: []string{"token"}}
	env := func(names string) shell { return shell{kind: secrets.Env, env: names} }
	const controller = "CONTROLLER_HOST, CONTROLLER_USERNAME and CONTROLLER_PASSWORD"
	return map[string]shell{
		"vault": {secrets.VaultPassword, map[string]string{"vault_id": "vault_id"}, []string{"vault_password"}, ""},
		"network": {secrets.Network, map[string]string{"username": "username"},
			[]string{"password", "authorize_password"}, ""},
		"amazon web services": {secrets.AWS, map[string]string{"access_key_id": "username"},
			[]string{"password", "security_token"}, ""},
		"google compute engine": {secrets.GCP, map[string]string{"project": "project"}, []string{"ssh_key_data"}, ""},
		"microsoft azure resource manager": {secrets.Azure, map[string]string{"client_id": "client", "tenant_id": "tenant",
			"subscription_id": "subscription"}, []string{"secret"}, ""},
		"vmware vcenter": {secrets.VMware, map[string]string{"server": "host", "username": "username"},
			[]string{"password"}, ""},
		"openstack": {secrets.OpenStack, map[string]string{"auth_url": "host", "username": "username",
			"project_name": "project", "domain_name": "domain", "region": "region"}, []string{"password"}, ""},
		"container registry": {secrets.Registry, map[string]string{"server": "host", "username": "username"},
			[]string{"password"}, ""},
		"github personal access token": token, "gitlab personal access token": token,
		"bitbucket data center http access token":  token,
		"red hat virtualization":                   env("OVIRT_URL, OVIRT_USERNAME and OVIRT_PASSWORD"),
		"red hat satellite 6":                      env("FOREMAN_SERVER, FOREMAN_USER and FOREMAN_PASSWORD"),
		"ansible tower":                            env(controller),
		"red hat ansible automation platform":      env(controller),
		"openshift or kubernetes api bearer token": env("K8S_AUTH_HOST and K8S_AUTH_API_KEY"),
	}
}

// homeless returns why a credential of a kind of types is not written, empty if it is.
func homeless(kind string) string {
	switch kind {
	case "external":
		return "A lookup in another secret store is the source of each credential here, and no credential of its own."
	case "galaxy":
		return "A login to a Galaxy server is a setting of the server here, and no credential."
	case "insights", "cryptography":
		return "There is no use for credentials of this kind."
	default:
		return ""
	}
}

func (x *reader) credential(e *entry, r *record) {
	inputs, key := r.child("inputs"), r.take("credential_type")
	name, kind := named(key), newRecord("", key).text("kind")
	custom := x.find("credential_type", key)
	made, known := shells()[strings.ToLower(name)]
	if custom == nil && homeless(kind) != "" {
		x.Skip("credential", e.name, e.ref, "%s", homeless(kind))
		return
	}
	o := x.put(e, importer.Credential)
	r.described(o)
	switch {
	case custom != nil:
		x.customCredential(o, custom, inputs)
	case kind == "ssh" || name == "Machine":
		x.machine(o, e, inputs)
	case kind == "scm" || name == "Source Control":
		sourceControl(o, inputs)
	case known:
		fill(o, made, inputs)
	case name == "":
		lose(o, "The credential has no type.")
		return
	default:
		o.Spec = &importer.CredentialSpec{Kind: string(secrets.Custom), Type: name}
		draft.Need(o, "credential_type", "The credential type %q is not in the export; the server has to have one of this "+
			"name, with the values to enter again.", name)
		inputs.skip(slices.Collect(maps.Keys(inputs.values))...)
	}
	draft.Need(o, "inputs", "The secret has to be entered: an export has none.")
	for _, source := range r.child("related").list("credential_input_sources") {
		_ = source
		draft.Need(o, "related.credential_input_sources", "A secret came from another secret store; set it as the source.")
	}
	inputs.rest(o, "inputs.")
	r.rest(o, "")
}

// fill makes a credential of a built-in kind. The inputs that are secrets are never read.
func fill(o *importer.Object, s shell, inputs *record) {
	spec := importer.CredentialSpec{Kind: string(s.kind)}
	for _, setting := range slices.Sorted(maps.Keys(s.settings)) {
		input := s.settings[setting]
		value := inputs.line(input)
		if setting == "server" {
			_, rest, scheme := strings.Cut(value, "://")
			if scheme {
				value = strings.TrimRight(rest, "/")
			}
		}
		switch {
		case value == "":
		case !validSetting(setting, value):
			draft.Need(o, "inputs."+input, "The value is none that the server takes for %s, and is left out.", setting)
		default:
			if spec.Settings == nil {
				spec.Settings = map[string]any{}
			}
			spec.Settings[setting] = value
			draft.Map(o, "The input %s became the setting %s.", input, setting)
		}
	}
	inputs.skip(s.secret...)
	draft.Map(o, "The credential became one of the kind %s.", s.kind)
	if s.env != "" {
		inputs.skip(slices.Collect(maps.Keys(inputs.values))...)
		draft.Need(o, "inputs", "There is no kind for this type: enter the variables %s.", s.env)
	}
	o.Spec = &spec
}

var (
	server  = lazyregexp.New(`^[A-Za-z0-9\[][A-Za-z0-9._:/\[\]-]{0,254}$`)
	vaultID = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$`)
	become  = lazyregexp.New(`^[a-z0-9_.]{1,100}$`)
	webURL  = lazyregexp.New(`^https?://[^/@\s]+(/[^@\s]*)?$`)
)

// validSetting reports whether the server takes a setting.
func validSetting(name, value string) bool {
	const most = 1000
	if !object.Line(value, most) || strings.HasPrefix(value, "-") || hidden(value) {
		return false
	}
	switch name {
	case "server":
		return server.MatchString(value)
	case "vault_id":
		return vaultID.MatchString(value)
	case "method":
		return become.MatchString(value)
	case "auth_url":
		return webURL.MatchString(value)
	default:
		return true
	}
}

// has reports whether a credential has an input. The values of secrets are empty in an export.
func (r *record) has(name string) bool { _, ok := r.values[name]; return ok }

// machine makes the credentials of a login to hosts: one for the login, and one for becoming another user.
func (x *reader) machine(o *importer.Object, e *entry, inputs *record) {
	s := shell{kind: secrets.SSHKey, settings: map[string]string{"username": "username"},
		secret: []string{"ssh_key_data", "ssh_key_unlock", "password"}}
	if inputs.has("password") && !inputs.has("ssh_key_data") {
		s.kind = secrets.SSHPassword
	} else if inputs.has("password") {
		draft.Need(o, "inputs.password", "The credential has a key and a password; it became one for the key.")
	}
	fill(o, s, inputs)
	if !inputs.has("become_password") && inputs.line("become_method") == "" && inputs.line("become_username") == "" {
		return
	}
	b := x.Add(importer.Object{Kind: importer.Credential, Name: x.unique(importer.Credential, e.name+" become"),
		Ref: e.ref})
	fill(b, shell{kind: secrets.Become, settings: map[string]string{"method": "become_method",
		"username": "become_username"}, secret: []string{"become_password"}}, inputs)
	draft.Need(b, "inputs.become_password", "The secret has to be entered: an export has none.")
	draft.Map(o, "The settings for becoming another user are the credential %q.", b.Name)
	e.with = b.Name
}

// sourceControl makes a credential for repositories.
func sourceControl(o *importer.Object, inputs *record) {
	s := shell{kind: secrets.Token, secret: []string{"password", "ssh_key_data", "ssh_key_unlock"}}
	switch user := inputs.line("username"); {
	case inputs.has("ssh_key_data"):
		s.kind, s.settings = secrets.SSHKey, map[string]string{"username": "username"}
	case user != "":
		s.kind, s.settings = secrets.SSHPassword, map[string]string{"username": "username"}
	}
	if inputs.has("ssh_key_data") && inputs.has("password") {
		draft.Need(o, "inputs.password", "The credential has a key and a password; it became one for the key.")
	}
	fill(o, s, inputs)
}

// customCredential makes a credential of a type of the export.
func (x *reader) customCredential(o *importer.Object, t *entry, inputs *record) {
	if !t.written() {
		lose(o, "The credential type %q is not imported.", t.name)
		return
	}
	spec := importer.CredentialSpec{Kind: string(secrets.Custom), Type: t.as}
	for _, f := range t.fields {
		v := inputs.take(f.Name)
		if f.Secret || blank(v) && v != false {
			continue
		}
		s := text(v)
		value, ok := any(s), object.Line(s, maxPart) || f.Type == "multiline" && len(s) <= maxPart
		switch {
		case f.Type == "bool":
			value, ok = truth(v), true
		case f.Type == "choice":
			ok = slices.Contains(f.Choices, s)
		}
		if !ok || hidden(s) {
			draft.Need(o, "inputs."+reserved.Shown(f.Name), "The value is none that the server takes, and is left out.")
			continue
		}
		if spec.Fields == nil {
			spec.Fields = map[string]any{}
		}
		spec.Fields[f.Name] = value
	}
	draft.Map(o, "The inputs that are no secrets became fields of the credential type %q.", t.as)
	o.Spec = &spec
}
