package objects

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/runs"
)

// stepsField is what the editor of a workflow's steps needs beside their text.
type stepsField struct {
	// Stored is the JSON of the stored steps, Order has the members of a step in the order in which they are written.
	Stored, Order string
	// Page is the page of the form; the browser keeps unsaved steps for it.
	Page string
	// Fields are those of the form of one step. Their names begin with "_", so that they are not sent.
	Fields []field
	// Problems are what the API refused, by step.
	Problems []stepProblem
	// Refused reports whether the text is one that the API refused.
	Refused bool
}

// stepProblem is what is wrong with a step. Step is its place, from 0.
type stepProblem struct {
	Step    int    `json:"step"`
	Name    string `json:"name"`
	Line    int    `json:"line"`
	Member  string `json:"member"`
	Message string `json:"message"`
}

// stepMembers are the members that the form of a step has, in their order.
func stepMembers() []string {
	return []string{"name", "template_id", "tool", "playbook", "command", "inventory_id", "limit", "retries", "timeout",
		"on", "continue_on_failure", "require_approval"}
}

// steps makes the field of the steps of a workflow: YAML, with what the editor in the browser needs.
func (b *builder) steps(f *field, w memberSpec, s *schema, stored any) {
	item := b.doc.resolve(s.Items)
	order := item.names()
	f.Name, f.Kind, f.Mono, f.Lines, f.Widget = f.Member+":yaml", "area", true, w.Lines, w.Widget
	list, ok := stored.([]any)
	if text, isText := stored.(string); isText {
		f.Value = text // of the query of a new record's page
	} else if f.Value = ""; ok && len(list) > 0 {
		f.Value = shell.WriteYAML(stored, order)
	}
	raw, err := json.Marshal(list)
	if err != nil || list == nil {
		raw = []byte("[]")
	}
	f.Steps = &stepsField{Stored: string(raw), Order: strings.Join(order, " "), Page: b.page()}
	if s := b.r.Refused(b.operation()); s != nil {
		f.Steps.Refused = true
		f.Steps.Problems = problemsOf(s.Problem.Errors, s.Values.Get(f.Name))
	}
	for _, name := range stepMembers() {
		m := b.doc.resolve(item.Properties[name])
		if m == nil {
			continue
		}
		of := b.field(name, m, nil, false)
		_, kind, typed := strings.Cut(of.Name, ":")
		of.Name, of.Value = "_step."+name, ""
		if typed {
			of.Name += ":" + kind
		}
		switch name {
		case "on":
			of.Label, of.Choices = onLabel, onChoices()
		case "playbook", "command", "require_approval":
			of.Help = ""
		case "template_id":
			of.Help = stepTemplateHelp
		case "inventory_id":
			if of.Kind == "select" {
				of.Choices[0].Label = wholeText
			}
		}
		f.Steps.Fields = append(f.Steps.Fields, of)
	}
}

// page is the page of the form, without what opens its dialogs.
func (b *builder) page() string {
	if b.fresh {
		return b.r.URL.RequestURI()
	}
	return b.r.URL.Path
}

func onChoices() []shell.Choice {
	return []shell.Choice{{Label: onSuccessText}, {Value: runs.OnFailure, Label: onFailureText},
		{Value: runs.OnAlways, Label: onAlwaysText}}
}

// problemsOf returns the refusals that are about one step of a text.
func problemsOf(list []httpapi.FieldError, text string) (out []stepProblem) {
	v, lines, err := shell.ReadYAML(text)
	steps, ok := v.([]any)
	if err != nil || !ok {
		return nil
	}
	for _, e := range list {
		rest, ok := strings.CutPrefix(strings.TrimPrefix(e.Location, "body."), "steps[")
		place, member, closed := strings.Cut(rest, "]")
		i, err := strconv.Atoi(place)
		if !ok || !closed || err != nil || i < 0 || i >= len(steps) {
			continue
		}
		member, _, _ = strings.Cut(strings.TrimPrefix(member, "."), "[")
		p := stepProblem{Step: i, Line: lines[i], Member: member, Message: e.Message}
		if step, ok := steps[i].(map[string]any); ok {
			p.Name = textOf(step["name"])
		}
		out = append(out, p)
	}
	return out
}

// readSteps is the answer to the editor in the browser: the steps of a text with the lines where they begin, or why it
// cannot be read.
type readSteps struct {
	Steps   []any  `json:"steps"`
	Lines   []int  `json:"lines"`
	Problem string `json:"problem,omitempty"`
}

func readText(text string) readSteps {
	v, lines, err := shell.ReadYAML(text)
	if err != nil {
		return readSteps{Problem: err.Error()}
	}
	list, ok := v.([]any)
	if !ok && v != nil {
		return readSteps{Problem: noListText}
	}
	for i, x := range list {
		step, ok := x.(map[string]any)
		if !ok {
			return readSteps{Problem: fmt.Sprintf("line %d: %s", lines[i], noStepText)}
		}
		if _, ok := step["name"].(string); !ok {
			return readSteps{Problem: fmt.Sprintf("line %d: %s", lines[i], noNameText)}
		}
	}
	return readSteps{Steps: append([]any{}, list...), Lines: append([]int{}, lines...)}
}

// read reads the text of the editor. It stores nothing: the form saves the text itself.
func (h *handlers) read(r *shell.Request) (*shell.Page, error) {
	form, err := r.Form()
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	return nil, r.JSON(readText(form.Get("text")))
}

func problemsJSON(list []stepProblem) string {
	out, err := json.Marshal(list)
	if err != nil || list == nil {
		return "[]"
	}
	return string(out)
}
