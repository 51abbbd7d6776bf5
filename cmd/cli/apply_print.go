package cli

import (
	"fmt"
	"strings"
)

var actionMarks = map[string][2]string{actCreate: {"+", "ok"}, actUpdate: {"~", "changed"}, actDelete: {"-", "failed"}}

// printPlan prints the changes, and the count of unchanged objects.
func printPlan(s screen, p *plan) {
	for _, x := range p.steps {
		if x.action == actUnchanged {
			continue
		}
		m := actionMarks[x.action]
		_, _ = fmt.Fprintf(s.w, "%s %s\n", s.paint(m[1], m[0]), oneLine(x.key.String(), 300))
		for _, c := range x.change {
			printChange(s, c.Member, c.Lines)
		}
		for _, note := range x.notes {
			_, _ = fmt.Fprintf(s.w, "    %s\n", oneLine(note, 400))
		}
	}
	if p.changes() {
		_, _ = fmt.Fprintln(s.w)
	}
	_, _ = fmt.Fprintln(s.w, summary(p))
}

func summary(p *plan) string {
	return fmt.Sprintf("%d to create, %d to change, %d to delete, %d unchanged", p.count(actCreate), p.count(actUpdate),
		p.count(actDelete), p.count(actUnchanged))
}

// printChange prints a member with a one-line value in one line each, any other below its name.
func printChange(s screen, member string, lines []string) {
	short := len(lines) <= 2
	signs := ""
	for _, l := range lines {
		signs += l[:1]
	}
	if short && (signs == "-" || signs == "+" || signs == "-+") {
		for _, l := range lines {
			_, _ = fmt.Fprintf(s.w, "    %s\n", colouredLine(s, l[:2]+member+": "+l[2:]))
		}
		return
	}
	_, _ = fmt.Fprintf(s.w, "      %s:\n", member)
	for _, l := range lines {
		_, _ = fmt.Fprintf(s.w, "    %s\n", colouredLine(s, l[:2]+"  "+l[2:]))
	}
}

func colouredLine(s screen, l string) string {
	text := strings.TrimRight(strings.ReplaceAll(plainText(l), "\n", " "), " ")
	switch l[0] {
	case '+':
		return s.paint("ok", text)
	case '-':
		return s.paint("failed", text)
	}
	return text
}

var doneTexts = map[string]string{actCreate: "created", actUpdate: "changed", actDelete: "deleted"}

// printDone prints a step that was done, with the secrets that the server shows only once.
func (x *planStep) printDone(s screen) {
	id := stringField(x.answer, "id")
	if x.was != nil && id == "" {
		id = x.was.id
	}
	_, _ = fmt.Fprintf(s.w, "%s %s %s\n", doneTexts[x.action], oneLine(x.key.String(), 300), oneLine(id, 80))
	warnings, _ := x.answer["warnings"].([]any)
	for _, v := range warnings {
		if warning, ok := v.(map[string]any); ok {
			_, _ = fmt.Fprintf(s.w, "  warning: %s\n", oneLine(stringField(warning, "message"), 400))
		}
	}
	if secret := stringField(x.answer, "signing_secret"); secret != "" {
		_, _ = fmt.Fprintf(s.w, "  hook path       %s\n  signing secret  %s\n  Both are shown this once.\n",
			plainText(stringField(x.answer, "hook_path")), plainText(secret))
	}
}

// planView is a plan as --json shows it.
type planView struct {
	Applied bool       `json:"applied"`
	Error   string     `json:"error,omitempty"`
	Counts  planCounts `json:"counts"`
	Steps   []stepView `json:"steps"`
}

type planCounts struct {
	Create    int `json:"create"`
	Change    int `json:"change"`
	Delete    int `json:"delete"`
	Unchanged int `json:"unchanged"`
}

type stepView struct {
	Action  string       `json:"action"`
	Kind    string       `json:"kind"`
	Name    string       `json:"name"`
	Org     string       `json:"org,omitempty"`
	ID      string       `json:"id,omitempty"`
	Done    bool         `json:"done"`
	Changes []changeView `json:"changes,omitempty"`
	Notes   []string     `json:"notes,omitempty"`
	// Members that only the answer to the creation of a trigger shows.
	HookPath      string `json:"hook_path,omitempty"`
	SigningSecret string `json:"signing_secret,omitempty"`
}

type changeView struct {
	Member string   `json:"member"`
	Diff   []string `json:"diff"`
}

func planOf(p *plan, applied bool, err error) planView {
	v := planView{Applied: applied && err == nil, Steps: []stepView{}, Counts: planCounts{
		p.count(actCreate), p.count(actUpdate), p.count(actDelete), p.count(actUnchanged),
	}}
	if err != nil {
		v.Error = err.Error()
	}
	for _, x := range p.steps {
		s := stepView{
			Action: x.action, Kind: x.key.Kind, Name: x.key.Name, Org: x.key.Org, ID: stringField(x.answer, "id"), Done: x.done,
			Notes:    x.notes,
			HookPath: stringField(x.answer, "hook_path"), SigningSecret: stringField(x.answer, "signing_secret"),
		}
		if x.was != nil && s.ID == "" {
			s.ID = x.was.id
		}
		for _, c := range x.change {
			s.Changes = append(s.Changes, changeView{c.Member, c.Lines})
		}
		v.Steps = append(v.Steps, s)
	}
	return v
}
