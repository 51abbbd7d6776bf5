package rundeck

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-automation/writ/ports/importer"
	"github.com/writ-automation/writ/ports/lazyregexp"
)

// maxCommand bounds the script of a template, in bytes.
const maxCommand = 4 << 20

// render returns what a step executes, or the reason why it cannot be translated.
func (s *scope) render(c *command) (step importer.Step, reason string) {
	switch {
	case c.exec != "":
		return s.script(s.bash(c.exec, inCommand), "")
	case c.script != "":
		return s.scripted(c)
	case c.file != "" && s.remote:
		return step, "it runs a file of the server on the nodes: put the file into a project and write a playbook"
	case c.file != "":
		s.job.needOnce(s.at+".scriptfile", "the script file has to exist on the executor, under the same path")
		return s.script(strings.TrimSpace(c.interpreter+" "+s.words(c.file)+" "+s.words(c.args)), "")
	case c.url != "":
		return step, "it runs a script from an address, and what that holds is not known: put it into a project"
	case c.plugin != "":
		return s.plugged(c)
	}
	return step, "it has no command that is known"
}

var shebang = lazyregexp.New(`^#![ \t]*(?:/usr/bin/env[ \t]+(?:-S[ \t]+)?)?([^\n\r]*)`)

// scripted renders a script. Other languages than bash are files that bash makes and runs, unless they have a tool.
func (s *scope) scripted(c *command) (importer.Step, string) {
	text := c.script
	interpreter := c.interpreter
	if interpreter == "" {
		if m := shebang.FindStringSubmatch(text); m != nil {
			interpreter = strings.TrimSpace(m[1])
		} else if strings.EqualFold(strings.TrimPrefix(c.extension, "."), "ps1") {
			interpreter = "pwsh"
		}
	}
	args := s.words(c.args)
	alone := args == "" && !s.remote && len(s.sets) == 0
	switch language(interpreter) {
	case "bash":
		if args != "" {
			args = "set -- " + args + "\n"
		}
		return s.script(strings.TrimLeft(strings.TrimPrefix(s.bash(text, inScript), firstLine(text)), "\r\n"), args)
	case "python":
		text = s.literals(text, `__import__("os").environ.get("`, `", "")`)
		if alone {
			return importer.Step{Tool: "python", Command: text}, tooLong(text)
		}
		return s.file(interpreter, ".py", text, args)
	case "powershell":
		text = s.literals(text, "$env:", "")
		if alone {
			return importer.Step{Tool: "powershell", Command: text}, tooLong(text)
		}
		return s.file(strings.TrimSuffix(interpreter, " -File")+" -File", ".ps1", text, args)
	}
	s.job.warn(s.at+".scriptinterpreter", "the interpreter %s has to exist where the script runs", oneLine(interpreter))
	return s.file(interpreter, "", s.literals(text, "", ""), args)
}

// firstLine returns the line of a script that names its interpreter.
func firstLine(text string) string { return shebang.Get().FindString(text) }

// language returns the language of an interpreter without arguments, empty for others.
func language(interpreter string) string {
	switch name := path.Base(interpreter); {
	case interpreter == "", slices.Contains([]string{"bash", "sh"}, name):
		return "bash"
	case strings.HasPrefix(name, "python") && strings.Trim(name[len("python"):], "0123456789.") == "":
		return "python"
	case slices.Contains([]string{"pwsh", "powershell", "powershell.exe", "pwsh -File", "powershell -File"}, name):
		return "powershell"
	}
	return ""
}

func tooLong(text string) string {
	if len(text) > maxCommand {
		return "its script is longer than 4 MiB"
	}
	return ""
}

// file renders a script that an interpreter reads from a file.
func (s *scope) file(interpreter, ending, text, args string) (importer.Step, string) {
	body := `script=$(mktemp -d)/step` + ending + "\n" + `trap 'rm -rf "${script%/*}"' EXIT` + "\n" +
		hereDocument(`cat >"$script"`, text) + strings.TrimSpace(interpreter+` "$script" `+args) + "\n"
	return s.script(body, "")
}

// script renders a bash script, which has its arguments set before.
func (s *scope) script(body, before string) (importer.Step, string) {
	if strings.ContainsAny(strings.TrimSpace(body), "\n;|&") {
		// A step goes on after a failed command, and ends as its last one does.
		before = "set +e +o pipefail\n" + before
	}
	if len(s.sets) > 0 {
		before = strings.Join(s.sets, "\n") + "\n" + before
	}
	step := importer.Step{Tool: "bash", Command: before + body}
	if s.remote {
		step.Command = s.onHosts(step.Command)
		step.Limit = s.limit()
	}
	return step, tooLong(step.Command)
}

// hosts returns the lines of a script that set the hosts of an ansible command and its inventory.
func (s *scope) hosts() string {
	var b strings.Builder
	if s.pattern == "" {
		b.WriteString("hosts=\n" + `: "${hosts:?the node filter of the job has no pattern: set hosts to one}"` + "\n")
	} else {
		of := *s
		of.of = s.nodes.of
		b.WriteString("hosts=" + of.word(s.pattern) + "\n")
	}
	b.WriteString(`inventory=${WRIT_INVENTORY:?the template has no inventory}` + "\n")
	if !s.mayMatch {
		b.WriteString(`if ansible -i "$inventory" --list-hosts -- "$hosts" | grep -q '(0)'; then` + "\n" +
			"\techo 'No host matches the node filter.' >&2\n\texit 1\nfi\n")
	}
	if s.r.inventory == "" {
		s.job.needOnce("nodefilters", "the job runs on nodes, and no inventory was chosen: give the template one")
	}
	s.job.warnOnce("nodefilters", "scripts run on the executor alone, so the command reaches the hosts with the program "+
		"ansible, which the executor needs, and with the credentials of the template or the inventory")
	return b.String()
}

// onHosts returns a script that runs a bash script on the hosts.
func (s *scope) onHosts(body string) string {
	names := slices.Compact(slices.Sorted(slices.Values(wanted.Get().FindAllString(body, -1))))
	script := "{\necho '#!/usr/bin/env bash'\n"
	if len(names) > 0 {
		script += "for name in " + strings.Join(names, " ") + "; do printf 'export %s=%q\\n' \"$name\" \"${!name-}\"; done\n"
	}
	script += hereDocument("cat", body) + "} >\"$TMPDIR/step.sh\"\n"
	forks := ""
	if s.forks > 0 {
		forks = " -f " + strconv.Itoa(s.forks)
	}
	return s.hosts() + script +
		`ansible -i "$inventory"` + forks + ` -m ansible.builtin.script -a "$TMPDIR/step.sh" -- "$hosts"` + "\n"
}

// failing is the step in the place of one that is not translated.
func failing(what, reason string) importer.Step {
	message := fmt.Sprintf("The %s was not imported: %s.", what, reason)
	return importer.Step{Tool: "bash", Command: "echo " + quote(message) + " >&2\nexit 1\n"}
}
