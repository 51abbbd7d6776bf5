package jenkins

import (
	"slices"
	"strconv"
	"strings"

	"github.com/writ-automation/writ/adapters/importers/document"
	"github.com/writ-automation/writ/adapters/importers/draft"
	"github.com/writ-automation/writ/ports/importer"
	"github.com/writ-automation/writ/ports/lazyregexp"
)

func itoa(n int) string { return strconv.Itoa(n) }

// tool adds a step for a build by Maven, Ant or Gradle.
func (w *work) tool(name string, e *document.Element) {
	var words []string
	switch name {
	case "Maven":
		words = append(w.option([]string{"mvn"}, "-f", e.Value("pom")), w.definitions(e)...)
		words = append(words, w.words(e, e.Value("targets"))...)
		w.exportOptions(e, "MAVEN_OPTS", e.Value("jvmOptions"), words)
		w.rest(e, "targets", "pom", "properties", "jvmOptions", "mavenName")
		return
	case "Ant":
		words = append(w.option([]string{"ant"}, "-f", e.Value("buildFile")), w.definitions(e)...)
		words = append(words, w.words(e, e.Value("targets"))...)
		w.exportOptions(e, "ANT_OPTS", e.Value("antOpts"), words)
		w.rest(e, "targets", "buildFile", "properties", "antOpts", "antName")
		return
	}
	program := "gradle"
	if e.Value("useWrapper") == "true" {
		program = "./gradlew"
	}
	words = w.option(w.option([]string{program}, "-b", e.Value("buildFile")), "-p", e.Value("rootBuildScriptDir"))
	words = append(words, w.words(e, e.Value("switches"))...)
	words = append(words, w.words(e, e.Value("tasks"))...)
	w.exportOptions(e, "", "", words)
	w.rest(e, "tasks", "switches", "buildFile", "rootBuildScriptDir", "useWrapper", "gradleName", "makeExecutable",
		"wrapperLocation")
}

// maven adds the step of a job of the type for Maven.
func (w *work) maven(root *document.Element) {
	words := w.option([]string{"mvn"}, "-f", root.Value("rootPOM"))
	words = append(words, w.words(root, root.Value("goals"))...)
	w.exportOptions(root, "MAVEN_OPTS", root.Value("mavenOpts"), words)
}

// exportOptions adds a script that calls a program, with a variable for the options of its Java.
func (w *work) exportOptions(e *document.Element, variable, options string, words []string) {
	script := "set -xe\n"
	if kept := w.words(e, options); len(kept) > 0 && len(kept) == len(argument.Get().FindAllString(limited(options), -1)) {
		script += "export " + variable + "=" + expanded(strings.Join(strings.Fields(options), " ")) + "\n"
	}
	program := words[0]
	w.script(strings.TrimPrefix(program, "./"), "bash", script+strings.Join(words, " ")+"\n")
	warn(w.o, short(e.Name), "The program %s has to be installed on the executor; Jenkins installs tools itself.", program)
}

func (w *work) option(words []string, name, value string) []string {
	if value == "" {
		return words
	}
	return append(words, name, expanded(value))
}

// definitions returns the properties of a build as arguments.
func (w *work) definitions(e *document.Element) []string {
	var out []string
	for line := range strings.Lines(e.Value("properties")) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		if name, value, _ := strings.Cut(line, "="); secretName(name) && !strings.HasPrefix(value, "$") {
			need(w.o, short(e.Name)+"/properties", "The property %s is left out because it may be a secret.", cut(name, 100))
			continue
		}
		out = append(out, expanded("-D"+line))
	}
	return out
}

var argument = lazyregexp.New(`(?:[^\s"']|"[^"]*"|'[^']*')+`)

// words returns arguments as words of a shell, without those that may be secrets.
func (w *work) words(e *document.Element, text string) []string {
	var out []string
	if len(text) > maxField {
		need(w.o, short(e.Name), "The arguments are too long and left out.")
		return nil
	}
	for _, a := range argument.Get().FindAllString(text, -1) {
		a = strings.Map(func(r rune) rune {
			if r == '"' || r == '\'' {
				return -1
			}
			return r
		}, a)
		if name, value, ok := strings.Cut(a, "="); ok && secretName(name) && !strings.HasPrefix(value, "$") {
			need(w.o, short(e.Name), "The argument %s is left out because it may be a secret.", cut(name, 100))
			continue
		}
		out = append(out, expanded(a))
	}
	return out
}

var (
	plain    = lazyregexp.New(`^[A-Za-z0-9_./:=,@%+-]+$`)
	variable = lazyregexp.New(`^\$(?:[A-Za-z_][A-Za-z0-9_]*|\{[A-Za-z_][A-Za-z0-9_.]*\})`)
)

// expanded returns a text as a word of a shell in which only variables are expanded, as in the fields of Jenkins.
func expanded(s string) string {
	if plain.MatchString(s) {
		return s
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '$' && variable.MatchString(s[i:min(len(s), i+200)]), c != '$' && c != '\\' && c != '"' && c != '`':
			b.WriteByte(c)
		default:
			b.WriteByte('\\')
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// playbook adds a step for a playbook of Ansible.
func (w *work) playbook(e *document.Element) {
	s := step{Step: importer.Step{Tool: "ansible"}}
	s.Playbook = w.path(e, "playbook")
	if s.Playbook == "" {
		w.missing(e, "AnsiblePlaybookBuilder", " because its playbook is not a file of the project")
		return
	}
	if w.t.Project == "" {
		need(w.o, "scm", "The playbook is a file of a project, and the job names no repository; choose a project.")
	}
	w.inventory(&s, e.Child("inventory"))
	s.Limit = w.literal(e, "limit")
	s.Tags, s.SkipTags = split(w.literal(e, "tags")), split(w.literal(e, "skippedTags"))
	s.forks, _ = strconv.Atoi(e.Value("forks"))
	s.forks = min(max(s.forks, 0), 1000)
	if s.forks == 5 {
		s.forks = 0 // the default
	}
	s.ExtraVars = w.extraVars(e)
	if e.Value("sudo") == "true" || e.Value("become") == "true" {
		s.ExtraVars["ansible_become"] = true
		if user := e.Value("sudoUser") + e.Value("becomeUser"); user != "" && !strings.Contains(user, "$") {
			s.ExtraVars["ansible_become_user"] = cut(user, 200)
		}
		draft.Map(w.o, "Becoming another user became the variable ansible_become.")
	}
	for _, a := range strings.Fields(limited(e.Value("additionalParameters"))) {
		if v := strings.Trim(a, "v"); v == "-" && len(a) > 1 {
			s.verbosity = min(len(a)-1, 4)
		} else {
			need(w.o, short(e.Name)+"/additionalParameters", "Additional parameters of the command are left out.")
		}
	}
	if id := e.Value("credentialsId"); id != "" {
		s.Credentials = append(s.Credentials, w.credential("ssh_key", id, nil,
			"The credential of Jenkins may be a password instead of a key; then create one of that kind."))
	}
	if id := e.Value("vaultCredentialsId"); id != "" {
		s.Credentials = append(s.Credentials, w.credential("vault_password", id, nil, ""))
	}
	if e.Value("hostKeyChecking") == "false" || e.Value("disableHostKeyChecking") == "true" {
		need(w.o, short(e.Name)+"/hostKeyChecking", "Host keys are checked here; add the keys of the hosts.")
	}
	w.add("Playbook "+s.Playbook, s)
	w.rest(e, "playbook", "inventory", "limit", "tags", "skippedTags", "forks", "extraVars", "sudo", "sudoUser", "become",
		"becomeUser", "additionalParameters", "credentialsId", "vaultCredentialsId", "hostKeyChecking",
		"disableHostKeyChecking", "colorizedOutput", "unbufferedOutput", "ansibleName")
}

// path returns a path within the project, empty if it is none.
func (w *work) path(e *document.Element, member string) string {
	p := strings.TrimPrefix(strings.TrimPrefix(e.Value(member), "${WORKSPACE}/"), "$WORKSPACE/")
	p = strings.TrimPrefix(p, "./")
	if p == "" || len(p) > 4096 || strings.ContainsAny(p, "$\r\n,~") || strings.HasPrefix(p, "/") ||
		strings.HasPrefix(p, "-") || slices.Contains(strings.Split(p, "/"), "..") {
		if p != "" {
			need(w.o, short(e.Name)+"/"+member, "The path is not one within the project.")
		}
		return ""
	}
	return p
}

// literal returns a member that has no variables. One that has them is left to somebody.
func (w *work) literal(e *document.Element, member string) string {
	v := strings.Join(strings.Fields(e.Value(member)), " ")
	if strings.ContainsAny(v, "$") || strings.HasPrefix(v, "-") || strings.HasPrefix(v, "@") || len(v) > 4096 {
		need(w.o, short(e.Name)+"/"+member, "The value has variables or is an option; it is left out. "+
			"Let the template allow an override instead.")
		return ""
	}
	return v
}

// split returns the words of a list.
func split(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// inventory sets where a step finds its hosts.
func (w *work) inventory(s *step, e *document.Element) {
	switch simple(e.Attr("class")) {
	case "InventoryContent":
		if e.Value("dynamic") == "true" {
			need(w.o, "inventory", "The inventory is a script; create an inventory source, and choose its inventory.")
			return
		}
		name := w.b.Name(importer.Inventory, w.j.full)
		o := w.b.Add(importer.Object{
			Kind: importer.Inventory, Name: name, Ref: w.j.ref,
			Spec: &importer.InventorySpec{Content: text(e.Child("content"))},
		})
		draft.Map(o, "The content of the inventory of the job became an inventory.")
		s.Inventory = name
	case "InventoryPath":
		if strings.Contains(e.Value("path"), "$") {
			need(w.o, "inventory", "The path of the inventory has variables; choose an inventory.")
		} else {
			s.inventoryPath = w.path(e, "path")
		}
	case "InventoryDoNotSpecify", "":
	default:
		need(w.o, "inventory", "The type of the inventory is not known; choose an inventory.")
	}
	if s.Inventory == "" && s.inventoryPath == "" && w.t.Inventory == "" {
		need(w.o, "inventory", "The playbook has no inventory; choose one.")
	}
}

// extraVars returns the variables of a playbook, which are never nil.
func (w *work) extraVars(e *document.Element) map[string]any {
	out := map[string]any{}
	for _, v := range children(e.Child("extraVars")) {
		name, value := v.Value("key"), text(v.Child("value"))
		field := "extraVars/" + cut(name, 100)
		switch {
		case name == "" || len(name) > 255 || len(value) > maxAnswer:
			need(w.o, field, "The variable has no possible name or is too large; it is left out.")
		case v.Value("hidden") == "true" || secretName(name) || v.Child("secretValue") != nil:
			need(w.o, field, "The variable is left out because it may be a secret.")
		case len(out) >= 1000:
			need(w.o, field, "There are too many variables; it is left out.")
		default:
			out[name] = w.answers(field, value)
		}
	}
	return out
}

var reference = lazyregexp.New(`\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))`)

// answers replaces the parameters in a value by the variables that have their answers.
func (w *work) answers(field, value string) string {
	return reference.Get().ReplaceAllStringFunc(value, func(m string) string {
		name := strings.Trim(m, "${}")
		if v := w.vars[strings.ToUpper(name)]; v == name {
			return "{{ " + v + " }}"
		}
		need(w.o, field, "The value names the variable %s, which is not known here.", cut(name, 100))
		return m
	})
}
