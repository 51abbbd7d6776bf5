package jenkins

import (
	"strings"

	"github.com/writ-automation/writ/adapters/importers/document"
	"github.com/writ-automation/writ/adapters/importers/draft"
	"github.com/writ-automation/writ/ports/importer"
	"github.com/writ-automation/writ/ports/lazyregexp"
)

// builder adds the steps of a build step.
func (w *work) builder(e *document.Element) {
	if len(w.j.parts) > maxSteps {
		return
	}
	switch name := simple(e.Name); name {
	case "Shell":
		w.shellStep(e)
	case "BatchFile":
		w.script("Batch", "powershell", batch(text(e.Child("command"))))
		need(w.o, short(e.Name), "A batch file needs Windows; choose the queue of a worker there.")
		w.scriptOptions(e)
	case "PowerShell":
		w.script("PowerShell", "powershell", text(e.Child("command")))
		w.scriptOptions(e)
	case "Python":
		w.script("Python", "python", text(e.Child("command")))
		w.scriptOptions(e)
	case "AnsiblePlaybookBuilder":
		w.playbook(e)
	case "Maven", "Ant", "Gradle":
		w.tool(name, e)
	case "ConditionalBuilder", "SingleConditionalBuilder":
		w.conditional(e)
	case "MultiJobBuilder":
		w.phase(e)
	case "TriggerBuilder":
		w.callJobs(e)
	default:
		w.missing(e, simple(e.Name), "")
	}
}

// missing adds a step that fails, for a build step that cannot be translated. More tells what is in it.
func (w *work) missing(e *document.Element, name, more string) {
	w.add(name, step{Step: importer.Step{
		Tool: "bash", Command: failure("The build step " + name + " of Jenkins was not translated."),
	}})
	need(w.o, short(e.Name), "The build step %s has no counterpart%s; its step fails until you replace it.", name, more)
}

// scriptOptions warns about the settings of a script besides its text.
func (w *work) scriptOptions(e *document.Element) {
	if v := e.Value("unstableReturn"); v != "" && v != "0" {
		warn(w.o, "unstableReturn", "There is no unstable result: the exit code %s fails the step as any other.", cut(v, 10))
	}
	w.rest(e, "command", "unstableReturn", "configuredLocalRules")
}

var (
	shebang = lazyregexp.New(`^#!\s*(\S+)(?:[ \t]+([^\r\n]*))?\r?\n?`)
	flags   = lazyregexp.New(`^-[aefnuvxC]+$`)
	builtin = lazyregexp.New(`^(?:BUILD_(?:NUMBER|ID|URL|TAG|DISPLAY_NAME|CAUSE)|JOB_(?:NAME|BASE_NAME|URL)|` +
		`JENKINS_(?:URL|HOME)|NODE_(?:NAME|LABELS)|EXECUTOR_NUMBER|GIT_(?:COMMIT|BRANCH|LOCAL_BRANCH|URL|` +
		`PREVIOUS_COMMIT)|SVN_(?:REVISION|URL)|BRANCH_NAME|CHANGE_(?:ID|URL|TITLE|AUTHOR|TARGET)|WORKSPACE_TMP)$`)
)

// shellStep adds a step for a script of a shell, or of the interpreter that its first line names. Jenkins executes a
// script without such a line with sh -xe.
func (w *work) shellStep(e *document.Element) {
	defer w.scriptOptions(e)
	script := strings.ReplaceAll(text(e.Child("command")), "\r\n", "\n")
	m := shebang.FindStringSubmatch(script)
	if m == nil {
		w.script("Shell", "bash", "set -xe\n"+script)
		return
	}
	line := strings.Fields(m[1] + " " + m[2])
	if base(line[0]) == "env" && len(line) > 1 {
		line = line[1:]
	}
	body := strings.TrimPrefix(script, m[0])
	switch kind := strings.TrimRight(base(line[0]), "0123456789."); kind {
	case "bash", "sh", "dash", "ash":
		set := ""
		for _, f := range line[1:] {
			if !flags.MatchString(f) {
				warn(w.o, short(e.Name), "An option of the shell in the first line of the script is left out.")
				continue
			}
			set += "set " + f + "\n"
		}
		w.script("Shell", "bash", set+body)
	case "python":
		w.script("Python", "python", body)
	case "pwsh", "powershell":
		w.script("PowerShell", "powershell", body)
	default:
		end := "END_OF_SCRIPT"
		for strings.Contains(script, end) {
			end += "_"
		}
		words := make([]string, len(line))
		for i, f := range line {
			words[i] = quote(f)
		}
		w.script("Shell", "bash", "script=$(mktemp)\ncat >\"$script\" <<'"+end+"'\n"+strings.TrimSuffix(script, "\n")+"\n"+
			end+"\n"+strings.Join(words, " ")+" \"$script\"\n")
		draft.Map(w.o, "A script with the interpreter %s is started by a script of bash.", cut(base(line[0]), 50))
	}
}

func base(path string) string { return path[strings.LastIndex(path, "/")+1:] }

const maxCommand = 4 << 20

// script adds a step for a script, which finds its parameters in its environment.
func (w *work) script(name, tool, command string) {
	if strings.TrimSpace(command) == "" {
		command = "true"
		if tool != "bash" {
			command = "# empty"
		}
	}
	if len(command) > maxCommand {
		w.add(name, step{Step: importer.Step{Tool: "bash", Command: failure("The script was too large.")}})
		need(w.o, "command", "The script %s is larger than %d MiB; its step fails.", name, maxCommand>>20)
		return
	}
	var other []string
	seen := map[string]bool{}
	// A search of the expression in the whole script takes ten times as long.
	for v := range strings.FieldsFuncSeq(command, func(r rune) bool { return !inWord(r) }) {
		if v != "WORKSPACE" && (!strings.Contains(v, "_") || !builtin.MatchString(v)) {
			continue
		}
		if !seen[v] && w.vars[v] == "" && v != "WORKSPACE" {
			other = append(other, v)
		}
		seen[v] = true
	}
	if len(other) > 0 {
		need(w.o, "command", "The script %s uses variables that only Jenkins sets: %s.", name, strings.Join(other, ", "))
	}
	exports := w.exports
	if tool == "bash" && seen["WORKSPACE"] {
		exports = append([]export{{name: "WORKSPACE", answer: "PWD"}}, exports...)
	}
	before, ok := environment(tool, command, exports)
	if !w.grow(len(before)) || len(before)+len(command) > maxCommand {
		before, ok = "", false
	}
	if !ok {
		need(w.o, "command", "The script %s has to read the parameters from the variables WRIT_VAR_<NAME>.", name)
	}
	w.add(name, step{Step: importer.Step{Tool: tool, Command: before + command}})
	if before != "" && len(w.exports) > 0 {
		draft.Map(w.o, "The script %s begins with lines that set the variables that Jenkins sets.", name)
	}
}

// inWord reports whether a character belongs to the name of a variable.
func inWord(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
}

// environment returns lines that set variables before a script of a tool. It returns false if the script has to begin
// with its own first line.
func environment(tool, script string, exports []export) (string, bool) {
	if len(exports) == 0 {
		return "", true
	}
	if tool == "powershell" && ownStart.MatchString(script) || tool == "python" && strings.Contains(script, "__future__") {
		return "", false
	}
	var b strings.Builder
	if tool == "python" {
		b.WriteString("import os\n")
	}
	for _, x := range exports {
		switch {
		case tool == "python" && x.answer != "":
			b.WriteString("os.environ['" + x.name + "'] = os.environ.get('" + x.answer + "', '')\n")
		case tool == "python":
			b.WriteString("os.environ['" + x.name + "'] = '" + pythonText.Replace(x.text) + "'\n")
		case tool == "powershell" && x.answer != "":
			b.WriteString("$env:" + x.name + " = $env:" + x.answer + "\n")
		case tool == "powershell":
			b.WriteString("$env:" + x.name + " = '" + strings.ReplaceAll(x.text, "'", "''") + "'\n")
		case x.answer != "":
			b.WriteString("export " + x.name + "=\"${" + x.answer + "-}\"\n")
		default:
			b.WriteString("export " + x.name + "=" + quote(x.text) + "\n")
		}
	}
	return b.String(), true
}

// ownStart matches a script of PowerShell before which nothing may be.
var ownStart = lazyregexp.New(`(?i)^\s*(?:param\b|using\b|\[cmdletbinding|#requires)`)

var pythonText = strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`, "\r", `\r`)

// batch returns a script of PowerShell that executes a batch file.
func batch(script string) string {
	// A here-string ends at a line that begins with its end.
	return "$lines = @'\n" + strings.ReplaceAll(script, "\n'@", "\n '@") + "\n'@\n" +
		"$file = [IO.Path]::GetTempFileName() + '.cmd'\n" +
		"Set-Content -Path $file -Value $lines\n& cmd.exe /c $file\nexit $LASTEXITCODE\n"
}

// conditional adds the steps in a condition that always holds. Other conditions are left to somebody.
func (w *work) conditional(e *document.Element) {
	condition := simple(e.Child("runCondition").Attr("class"))
	if condition == "" {
		condition = simple(e.Child("condition").Attr("class"))
	}
	inner := children(e.Child("conditionalbuilders"))
	if one := e.Child("buildStep"); one != nil {
		inner = append(inner, &document.Element{Name: one.Attr("class"), Children: one.Children, Text: one.Text})
	}
	var kinds []string
	for _, b := range inner {
		if len(kinds) < 20 {
			kinds = append(kinds, simple(b.Name))
		}
	}
	switch condition {
	case "AlwaysRun":
		for _, b := range inner {
			w.builder(b)
		}
		draft.Map(w.o, "The steps with the condition AlwaysRun became ordinary steps: %s.", strings.Join(kinds, ", "))
	case "NeverRun":
		w.lose(e, "The steps with the condition NeverRun are left out: %s.", strings.Join(kinds, ", "))
	default:
		w.missing(e, "Conditional step", " (the condition "+condition+" for "+strings.Join(kinds, ", ")+")")
	}
}

var (
	stageName = lazyregexp.New(`\bstage\s*\(?\s*(?:name:\s*)?["']([^"'\n]{1,100})["']`)
	inScript  = lazyregexp.New(`\b(cron|pollSCM|upstream|string|booleanParam|choice|password|text)\s*\(`)
)

// pipeline adds a step that fails for the script of a pipeline, which is a program.
func (w *work) pipeline(e *document.Element) {
	var stages []string
	script := ""
	if e != nil {
		script = e.Value("script")
		script = script[:min(len(script), 1<<20)]
		if scm := e.Child("scm"); scm != nil {
			w.project(scm)
		}
		w.rest(e, "script", "scm", "scriptPath", "sandbox", "lightweight")
	}
	for _, m := range stageName.Get().FindAllStringSubmatch(script, 50) {
		stages = append(stages, m[1])
	}
	where := "its script"
	if path := e.Value("scriptPath"); path != "" {
		where = "the file " + cut(path, 200)
	}
	text := "The pipeline has to be rewritten from " + where + "."
	if len(stages) > 0 {
		text = "The pipeline has to be rewritten: its stages are " + strings.Join(stages, ", ") + "."
	}
	w.add("Pipeline", step{Step: importer.Step{Tool: "bash", Command: failure(text)}})
	need(w.o, "definition", "%s Until then the template fails.", text)
	if inScript.MatchString(script) {
		need(w.o, "definition/script", "Parameters and triggers that the script itself declares are left out.")
	}
}
