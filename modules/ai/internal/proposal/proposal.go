// Package proposal reads the request for a run that a model wrote.
package proposal

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/writ-automation/writ/modules/ai/internal/plain"
	"github.com/writ-automation/writ/ports/ai"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// body has the members of a submission that a model may set. It may set no environment, credential and notification,
// and nothing about approval, priority and locks.
type body struct {
	Name        string            `json:"name"`
	Tool        string            `json:"tool"`
	Playbook    string            `json:"playbook"`
	Command     string            `json:"command"`
	InventoryID string            `json:"inventory_id"`
	ProjectID   string            `json:"project_id"`
	ExtraVars   map[string]any    `json:"extra_vars"`
	Limit       string            `json:"limit"`
	Tags        []string          `json:"tags"`
	SkipTags    []string          `json:"skip_tags"`
	Forks       int               `json:"forks"`
	Verbosity   int               `json:"verbosity"`
	DiffMode    bool              `json:"diff_mode"`
	DryRun      bool              `json:"dry_run"`
	Timeout     int               `json:"timeout"`
	Queue       string            `json:"queue"`
	Labels      map[string]string `json:"labels"`
	Change      string            `json:"change"`
}

// Members lists the members that a proposal may have.
const Members = "name, tool (ansible, bash, python, powershell or go), playbook (a path, for ansible), command (a " +
	"script, for the other tools), inventory_id, project_id, extra_vars (an object), limit, tags, skip_tags, forks, " +
	"verbosity, diff_mode, dry_run, timeout (seconds), queue, labels (an object of texts), change"

// Read reads an answer: one JSON object, alone or between two lines with a fence. Errors are BadProposal, and
// VarsReserved for a variable that steers the tool.
func Read(answer string) (runs.Submission, error) {
	var b body
	d := json.NewDecoder(strings.NewReader(Unfenced(answer)))
	d.DisallowUnknownFields()
	d.UseNumber()
	if err := d.Decode(&b); err != nil {
		return runs.Submission{}, malformed(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return runs.Submission{}, ai.BadProposal.New("the AI provider's answer has text behind its JSON object")
	}
	s := runs.Submission{
		Spec: runs.Spec{
			Tool: b.Tool, Playbook: b.Playbook, Command: b.Command, InventoryID: b.InventoryID, ProjectID: b.ProjectID,
			Controls: runs.Controls{Limit: b.Limit, Tags: b.Tags, SkipTags: b.SkipTags, Forks: b.Forks, Verbosity: b.Verbosity,
				DiffMode: b.DiffMode},
			DryRun: b.DryRun, TimeoutSeconds: b.Timeout, Queue: b.Queue, RequireApproval: true,
		},
		Name: b.Name, Labels: b.Labels, Change: b.Change,
		Origin: runs.Origin{Source: runs.FromProposal},
	}
	if name := unseen(&b); name != "" {
		return runs.Submission{}, bad(fault.BadField(name,
			"has characters that an approver would not see, or is nested too deep"))
	}
	for key, value := range b.ExtraVars {
		raw, err := json.Marshal(value)
		if err != nil {
			return runs.Submission{}, fault.Wrap(fault.Internal, err, "write a variable again")
		}
		s.ExtraVars = s.ExtraVars.Merge(runs.Vars{key: raw})
	}
	if _, names := s.ExtraVars.StripReserved(); len(names) > 0 {
		return runs.Submission{}, reserved(names[0])
	}
	if s.Labels == nil {
		s.Labels = map[string]string{}
	}
	s.Labels[ai.ProposalLabel] = ai.ProposalValue
	return s, nil
}

// reserved returns the fault of a reserved name. A proposal has no template that could allow it.
func reserved(name string) error {
	const message = "names a reserved variable, which steers the tool; a proposal may not set it"
	location := "extra_vars." + name
	f := runs.VarsReserved.New("%s: %s", location, message)
	f.Fields = []fault.Field{{Location: location, Message: message}}
	return f
}

// malformed returns the fault of an answer that is no such object. It repeats no value.
func malformed(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field != "" {
		return bad(fault.BadField(wrong.Field, "has the wrong type"))
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		name = plain.Head(plain.Text(strings.Trim(name, `"`)), 64)
		return bad(fault.BadField(name, "is no member that a proposal may have"))
	}
	return ai.BadProposal.New("the AI provider's answer is not one JSON object of a run")
}

// Refused returns BadProposal for an invalid request, and other errors as they are.
func Refused(err error) error {
	var f *fault.Error
	if errors.As(err, &f) && f.Kind == fault.Invalid {
		return bad(f)
	}
	return err
}

func bad(was *fault.Error) error {
	f := ai.BadProposal.New("the AI provider proposed no valid run: %s", was.Message)
	f.Fields = was.Fields
	return f
}

// unseen names the first member with characters that an approver would not see, such as those that reorder others.
func unseen(b *body) string {
	seen := func(text string) bool { return plain.Text(text) == text }
	for name, list := range map[string][]string{
		"name": {b.Name}, "tool": {b.Tool}, "playbook": {b.Playbook}, "inventory_id": {b.InventoryID},
		"project_id": {b.ProjectID}, "limit": {b.Limit}, "tags": b.Tags, "skip_tags": b.SkipTags, "queue": {b.Queue},
		"change": {b.Change}, "command": {strings.ReplaceAll(b.Command, "\r\n", "\n")},
	} {
		if slices.ContainsFunc(list, func(text string) bool { return !seen(text) }) {
			return name
		}
	}
	for key, value := range b.Labels {
		if !seen(key) || !seen(value) {
			return "labels"
		}
	}
	if b.ExtraVars != nil && !visible(b.ExtraVars, 0) {
		return "extra_vars"
	}
	return ""
}

// visible reports whether every text of a value has only characters that are seen, and the value is not nested deeper
// than the API allows.
func visible(value any, depth int) bool {
	const deepest = 64
	if depth > deepest {
		return false
	}
	switch v := value.(type) {
	case string:
		return plain.Text(v) == v
	case []any:
		return !slices.ContainsFunc(v, func(x any) bool { return !visible(x, depth+1) })
	case map[string]any:
		for key, x := range v {
			if !visible(key, depth) || !visible(x, depth+1) {
				return false
			}
		}
	}
	return true
}

// Unfenced returns what stands between the lines of a Markdown fence, if a text is nothing else, and otherwise the
// text. A model adds them although it is told not to.
func Unfenced(text string) string {
	text = strings.TrimSpace(text)
	first, rest, ok := strings.Cut(text, "\n")
	if !ok || !strings.HasPrefix(first, "```") || strings.Contains(strings.TrimLeft(first, "`"), "`") {
		return text
	}
	inner, ok := strings.CutSuffix(rest, "\n```")
	if !ok || strings.Contains(inner, "\n```") {
		return text
	}
	return inner
}
