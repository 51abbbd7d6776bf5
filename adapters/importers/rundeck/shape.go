package rundeck

import (
	"github.com/writ-automation/writ/adapters/importers/document"
)

// fromXML returns a job of XML in the shape that YAML and JSON have.
func fromXML(e *document.Element) fields {
	job := members(e)
	if context := job.object("context"); context != nil {
		job["project"] = context.take("project")
		options := context.object("options")
		job["options"] = options.list("option")
	}
	if dispatch := job.object("dispatch"); dispatch != nil {
		nodes := job.object("nodefilters")
		if nodes == nil {
			nodes = fields{}
		}
		nodes["dispatch"], job["nodefilters"] = dispatch, nodes
	}
	if schedule := job.object("schedule"); schedule != nil {
		job["schedule"] = xmlSchedule(schedule)
	}
	if sequence := job.object("sequence"); sequence != nil {
		commands := sequence.list("command")
		for i, c := range commands {
			commands[i] = xmlCommand(asFields(c))
		}
		sequence["commands"], job["sequence"] = commands, sequence
	}
	return job
}

// value returns an element as a text, or as an object of its attributes and children, where children of one name
// are a list. A configuration with entries is an object by their keys.
func value(e *document.Element) any {
	if len(e.Children) == 0 && len(e.Attrs) == 0 {
		return e.Text
	}
	return members(e)
}

func members(e *document.Element) fields {
	out := make(fields, len(e.Attrs)+len(e.Children))
	for name, v := range e.Attrs {
		out[name] = v
	}
	if len(e.Children) == 0 && e.Text != "" {
		out[e.Name] = e.Text
	}
	for _, c := range e.Children {
		if key, ok := c.Attrs["key"]; ok && c.Name == "entry" {
			out[key] = entryText(c)
			continue
		}
		was, again := out[c.Name]
		switch was := was.(type) {
		case []any:
			out[c.Name] = append(was, value(c))
		default:
			if again {
				out[c.Name] = []any{was, value(c)}
			} else {
				out[c.Name] = value(c)
			}
		}
	}
	return out
}

func entryText(e *document.Element) any {
	if v, ok := e.Attrs["value"]; ok {
		return v
	}
	return e.Text
}

// xmlSchedule gives the parts of a schedule the names of YAML. The day of the month may be beside the month.
func xmlSchedule(s fields) fields {
	if month := s.object("month"); month != nil {
		if day := month.text("day"); day != "" {
			s["dayofmonth"] = fields{"day": day}
		}
		s["month"] = month.text("month")
	}
	if year := s.object("year"); year != nil {
		s["year"] = year.text("year")
	}
	return s
}

// xmlCommand gives the parts of a step the names of YAML.
func xmlCommand(c fields) fields {
	if c == nil {
		return fields{}
	}
	if args := c.take("scriptargs"); set(args) {
		c["args"] = args
	}
	if interpreter := c.object("scriptinterpreter"); interpreter != nil {
		c["interpreterArgsQuoted"] = interpreter.take("argsquoted")
		c["scriptinterpreter"] = interpreter.take("scriptinterpreter")
	}
	for name, onNodes := range map[string]string{"node-step-plugin": "true", "step-plugin": "false"} {
		if plugin := c.object(name); plugin != nil {
			c["type"], c["configuration"], c["nodeStep"] = plugin.take("type"), plugin.take("configuration"), onNodes
			c[name] = plugin
		}
	}
	if ref := c.object("jobref"); ref != nil {
		if arg := ref.object("arg"); arg != nil {
			ref["args"] = arg.take("line")
		}
		if dispatch := ref.object("dispatch"); dispatch != nil {
			nodes := ref.object("nodefilters")
			if nodes == nil {
				nodes = fields{}
			}
			nodes["dispatch"], ref["nodefilters"] = dispatch, nodes
		}
		c["jobref"] = ref
	}
	if handler := c.object("errorhandler"); handler != nil {
		c["errorhandler"] = xmlCommand(handler)
	}
	return c
}
