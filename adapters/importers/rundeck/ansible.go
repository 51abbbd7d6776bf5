package rundeck

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-automation/writ/adapters/importers/document"
	"github.com/writ-automation/writ/ports/importer"
	"github.com/writ-automation/writ/ports/reserved"
	"github.com/writ-automation/writ/ports/runs"
)

// plugged renders a step of a plugin: a command of the server, or Ansible.
func (s *scope) plugged(c *command) (importer.Step, string) {
	switch name := c.plugin; {
	case name == "localexec" && c.config.peek("command") != "":
		local := *s
		local.nodes = nodes{}
		s.job.warnOnce(s.at, "the command of the plugin localexec runs once, and not once for each node")
		return local.script(local.bash(c.config.peek("command"), inCommand), "")
	case strings.Contains(name, "AnsiblePlaybookInline") && c.config.peek("ansible-playbook-inline") != "":
		return s.inline(c)
	case strings.Contains(name, "AnsiblePlaybook") && c.config.peek("ansible-playbook") != "":
		return s.playbook(c)
	}
	return importer.Step{}, "the plugin " + oneLine(c.plugin) + " has no counterpart"
}

// peek returns a member as text, and leaves it.
func (f fields) peek(name string) string { return strings.TrimSpace(plainText(f[name])) }

// inline renders a playbook in the job: a script that hands it to the program ansible-playbook.
func (s *scope) inline(c *command) (importer.Step, string) {
	text := plainText(c.config["ansible-playbook-inline"])
	if strings.Contains(text, "${option.") || strings.Contains(text, "@secret.") {
		s.job.needOnce(s.at, "the playbook has options or secrets in its text, which are not replaced")
	}
	options := []string{`-i "$inventory"`, `--limit "$hosts"`}
	add := func(option, member string) {
		if v := c.config.peek(member); v != "" {
			options = append(options, option+" "+s.word(v))
		}
	}
	add("-u", "ansible-ssh-user")
	for _, a := range s.access(c) {
		options = append(options, a.option)
	}
	if c.config.peek("ansible-become") == "true" {
		options = append(options, "--become")
	}
	add("--become-method", "ansible-become-method")
	add("--become-user", "ansible-become-user")
	if extra := c.config.peek("ansible-extra-vars"); extra != "" {
		options = append(options, "--extra-vars "+s.word(extra))
	}
	if extra := c.config.peek("ansible-extra-param"); extra != "" {
		options = append(options, s.words(extra))
		if strings.Contains(extra, "/") {
			s.job.needOnce(s.at, "files that the options of Ansible name have to exist on the executor")
		}
	}
	s.unread(c, "ansible-playbook-inline", "ansible-ssh-user", "ansible-become", "ansible-become-method",
		"ansible-become-user", "ansible-extra-vars", "ansible-extra-param")
	on := *s
	if !on.remote {
		on.remote, on.pattern = true, "all"
	}
	body := on.hosts() + hereDocument(`cat >"$TMPDIR/playbook.yml"`, text) +
		`ansible-playbook ` + strings.Join(options, " ") + ` "$TMPDIR/playbook.yml"` + "\n"
	s.job.warnOnce(s.at, "the playbook is in a script, since a template takes none in its text: put it into a project")
	return importer.Step{Tool: "bash", Command: strings.Join(append(slices.Clone(s.sets), body), "\n"),
		Limit: s.limit()}, tooLong(body)
}

// access is a stored key or password that a step of Ansible uses.
type access struct {
	member, kind, setting, from, option string
}

// access returns what a step uses, as credentials of the job.
func (s *scope) access(c *command) []access {
	var out []access
	for _, a := range []access{
		{"ansible-ssh-key-storage-path", "ssh_key", "username", "ansible-ssh-user", ""},
		{"ansible-ssh-password-storage-path", "ssh_password", "username", "ansible-ssh-user",
			`--connection-password-file "$WRIT_SSH_PASSWORD_FILE"`},
		{"ansible-vault-storage-path", "vault_password", "", "", `--vault-password-file "$WRIT_VAULT_PASSWORD_FILE"`},
		{"ansible-become-password-storage-path", "become_password", "", "",
			`--become-password-file "$WRIT_BECOME_PASSWORD_FILE"`},
	} {
		path := c.config.peek(a.member)
		if path == "" {
			continue
		}
		spec := importer.CredentialSpec{Kind: a.kind}
		if v := c.config.peek(a.from); a.setting != "" && v != "" && !strings.ContainsAny(v, "${\r\n") && v[0] != '-' {
			spec.Settings = map[string]any{a.setting: short(v, 1000)}
		}
		s.r.shell(s.job, oneLine(path), "what the key storage of Rundeck has at this path", spec)
		s.job.needOnce(s.at+".configuration."+a.member, "enter what the key storage has there in the credential of its name")
		out = append(out, a)
	}
	return out
}

// unread warns of settings of a plugin that are not used, except for names. Settings that are false mean nothing.
func (s *scope) unread(c *command, names ...string) {
	names = append(names, "ansible-ssh-key-storage-path", "ansible-ssh-password-storage-path",
		"ansible-vault-storage-path", "ansible-become-password-storage-path", "ansible-ssh-auth-type")
	for _, name := range c.config.rest() {
		if v := c.config.peek(name); !slices.Contains(names, name) && v != "false" {
			s.job.needOnce(s.at+".configuration", "the setting "+strconv.Quote(oneLine(name))+" of the plugin is not kept")
		}
	}
}

// playbook renders a playbook of a file.
func (s *scope) playbook(c *command) (importer.Step, string) {
	file := c.config.peek("ansible-playbook")
	if strings.ContainsAny(file, "$\r\n\x00") || strings.HasPrefix(file, "-") || len(file) > 4096 {
		return importer.Step{}, "its playbook is no plain path"
	}
	s.access(c)
	step := importer.Step{Tool: "ansible", Playbook: file, ExtraVars: s.extraVars(c)}
	if limit := c.config.peek("ansible-limit"); exactName.MatchString(limit) {
		step.Limit = limit
	} else if s.remote {
		if step.Limit = s.limit(); step.Limit == "" {
			return step, "its hosts depend on an answer or have no pattern, and a playbook would run on all of them"
		}
	}
	s.job.needOnce(s.at, "the playbook has to exist at its path on the executor; better put it into a project")
	if len(s.sets) > 0 {
		s.job.needOnce(s.at, "the options of the referenced job are not passed to its playbook")
	}
	if s.r.inventory == "" {
		s.job.needOnce("nodefilters", "the playbook needs an inventory, and none was chosen: give the template one")
	}
	s.unread(c, "ansible-playbook", "ansible-limit", "ansible-extra-vars", "ansible-ssh-user", "ansible-disable-limit")
	return step, ""
}

// extraVars returns the variables of a playbook without references, secrets and reserved names.
func (s *scope) extraVars(c *command) map[string]any {
	text := c.config.peek("ansible-extra-vars")
	if text == "" {
		return nil
	}
	at := s.at + ".configuration.ansible-extra-vars"
	var vars map[string]any
	if document.YAML([]byte(text), &vars) != nil {
		s.job.needOnce(at, "the variables are no object of YAML or JSON, and are not kept")
		return nil
	}
	for name, v := range vars {
		encoded, err := json.Marshal(v)
		switch {
		case hasSecret(name, v) || looksSecret(string(encoded)):
			s.job.needOnce(at, "a secret among the variables is left out: use a credential")
		case string(encoded) == `"${option.`+name+`}"` && s.of.option(name) != nil:
		case err != nil || strings.Contains(string(encoded), "${"):
			s.job.needOnce(at, "the variable "+oneLine(name)+" refers to something, and is not kept")
		case reserved.Variable(name):
			s.job.needOnce(at, "the variable "+oneLine(name)+" is reserved, and is not kept")
		default:
			continue
		}
		delete(vars, name)
	}
	for name, v := range vars {
		kept, removed := reserved.Strip(name, v)
		vars[name] = kept
		if len(removed) > 0 {
			s.job.needOnce(at, "the reserved members "+oneLine(reserved.Paths(removed))+" are not kept")
		}
	}
	return vars
}

// hasSecret reports whether a variable, or a member of it, has a name that looks secret.
func hasSecret(name string, v any) bool {
	if runs.LooksSecret(name) {
		return true
	}
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, func(x any) bool { return hasSecret("", x) })
	case map[string]any:
		for member, x := range v {
			if hasSecret(member, x) {
				return true
			}
		}
	}
	return false
}
