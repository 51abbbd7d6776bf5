package rundeck

import (
	"strconv"
	"strings"
)

// command is a step of a job.
type command struct {
	at, description string
	exec            string
	script          string
	file, url       string
	args            string
	interpreter     string
	extension       string
	ref             *reference
	plugin          string
	config          fields
	handler         *command
	goesOn          bool // of a handler: the job continues after its success
}

// reference is a step that runs another job.
type reference struct {
	name, group, id, project, args string
	options                        bool // it passes the options of the job
	nodes                          nodes
}

const noCommand = "step without a command"

func (c *command) kind() string {
	switch {
	case c.ref != nil:
		return "job reference"
	case c.exec != "":
		return "command"
	case c.script != "":
		return "script"
	case c.file != "":
		return "script file"
	case c.url != "":
		return "script from an address"
	case c.plugin != "":
		return "plugin " + oneLine(c.plugin)
	}
	return noCommand
}

// sequence reads the steps of a job.
func (j *job) sequence(f fields) {
	j.keepGoing = f.flag("keepgoing", false)
	strategy := f.text("strategy")
	switch strategy {
	case "", "node-first", "step-first", "sequential":
	case "parallel":
		j.parallel = true
	default:
		j.need("sequence.strategy", "the strategy %s is not known; the steps run in order", oneLine(strategy))
	}
	f.drop("pluginConfig")
	for i, x := range f.list("commands") {
		at := "sequence.commands[" + strconv.Itoa(i) + "]"
		c := asFields(x)
		if enabled := c.flag("enabled", true); !enabled {
			j.warn(at, "the step is disabled, and is left out")
			continue
		}
		j.steps = append(j.steps, j.readCommand(c, at))
	}
	j.lost(f, "sequence")
	if len(j.steps) > 1 && j.nodes.remote && !j.parallel && strategy != "step-first" && strategy != "sequential" {
		j.warn("sequence.strategy", "each step runs on all hosts before the next one, and not all steps on one host first")
	}
}

func (j *job) readCommand(f fields, at string) *command {
	c := &command{at: at, description: f.text("description"), exec: strings.TrimSpace(f.raw("exec")),
		script: f.raw("script"), file: f.text("scriptfile"), url: f.text("scripturl"), args: f.text("args"),
		interpreter: f.text("scriptinterpreter"), extension: f.text("fileExtension"), plugin: f.text("type")}
	if c.url == "" {
		c.url = f.text("scriptfileorurl")
	}
	if strings.TrimSpace(c.script) == "" {
		c.script = ""
	}
	c.exec = j.hide(c.exec, at, "${", "}")
	c.script = j.hide(c.script, at, "@", "@")
	c.args = j.hide(c.args, at+".args", "${", "}")
	if c.plugin != "" {
		c.config = f.object("configuration")
		for _, name := range []string{"command", "ansible-extra-vars", "ansible-extra-param"} {
			if v, ok := c.config[name].(string); ok {
				c.config[name] = j.hide(v, at, "${", "}")
			}
		}
		if v, ok := c.config["ansible-playbook-inline"].(string); ok {
			c.config["ansible-playbook-inline"] = j.hide(v, at, "@", "@")
		}
	}
	if ref := f.object("jobref"); ref != nil {
		c.ref = j.readReference(ref, at+".jobref")
	}
	if handler := f.object("errorhandler"); handler != nil {
		goesOn := handler.flag("keepgoingOnSuccess", false)
		h := j.readCommand(handler, at+".errorhandler")
		if h.goesOn = goesOn; h.kind() == noCommand {
			j.warn(h.at, "the error handler has no command, and is left out")
		} else {
			c.handler = h
		}
	}
	if plugins := f.take("plugins"); set(plugins) {
		j.warn(at+".plugins", "filters of the log are not kept: use outputs of steps to pass values on")
	}
	// Arguments are passed one by one, which is what quoting the interpreter's arguments is for.
	f.drop("interpreterArgsQuoted", "nodeStep", "expandTokenInScriptFile", "autoSecureInput", "id")
	j.lost(f, at)
	return c
}

func (j *job) readReference(f fields, at string) *reference {
	ref := &reference{name: f.text("name"), group: strings.Trim(f.text("group"), "/"), id: f.text("uuid"),
		project: f.text("project"), args: f.text("args"), options: f.flag("importOptions", false)}
	if useName := f.flag("useName", false); useName && ref.name != "" {
		ref.id = ""
	}
	ref.nodes = j.nodeFilter(f.object("nodefilters"), at+".nodefilters")
	if f.flag("nodeStep", false) {
		j.warn(at+".nodeStep", "the job runs once, and not once for each host")
	}
	f.drop("failOnDisable", "childNodes", "nodeIntersect", "ignoreNotifications")
	j.lost(f, at)
	return ref
}

// target returns the job of the export that a reference means, nil if there is none.
func (r *reader) target(ref *reference) *job {
	if j := r.byID[ref.id]; j != nil && ref.id != "" {
		return j
	}
	if ref.name == "" {
		return nil
	}
	full := ref.name
	if ref.group != "" {
		full = ref.group + "/" + ref.name
	}
	if j := r.byName[full]; j != nil && (ref.project == "" || j.project == "" || ref.project == j.project) {
		return j
	}
	return nil
}
