package evidence

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-automation/writ/modules/audit/internal/report/paper"
)

// hidden ends the sentence that begins a report.
const hidden = " Characters that are invisible or change the direction of text are written as their numbers, " +
	"in brackets."

// Signed says what of a report can be verified: receipt is its noun with its verb, empty for none.
func Signed(receipt string) string {
	if receipt == "" {
		return "Nothing in this file is signed. It is asserted by the server only, as of the time when the file was made." +
			hidden
	}
	return "The signed " + receipt + " in this file can be verified without the server that made it. Everything else is " +
		"asserted by that server only, as of the time when the file was made." + hidden
}

func (d *Document) signed() string {
	if len(d.Receipt) == 0 {
		return Signed("")
	}
	return Signed("receipt")
}

// term is an entry of a list of terms; an empty text is left out.
type term struct {
	name, text string
	code, bad  bool
}

func (d *Document) summary() string {
	out := string(d.Run.Shown(d.Run.Status))
	if d.Run.Name != "" {
		out = d.Run.Name + ", " + out
	}
	if d.Run.DryRun {
		out += ", dry run"
	}
	return out + ". Made " + paper.When(d.GeneratedAt) + "."
}

func (d *Document) settings() []term {
	r := &d.Run
	status := string(r.Shown(r.Status))
	if r.ExitCode != nil {
		status += fmt.Sprintf(", exit code %d", *r.ExitCode)
	}
	ended := ""
	if !r.EndedAt.IsZero() {
		ended = paper.When(r.EndedAt) + ", after " + span(r.DurationMS)
	}
	list := []term{
		{name: "Status", text: status}, {name: "Requested by", text: d.RequestedBy.String()},
		{name: "Created", text: paper.When(r.CreatedAt)}, {name: "Started", text: paper.When(r.StartedAt)},
		{name: "Ended", text: ended}, {name: "Source", text: after(string(r.Source), " ", r.SourceID)},
		{name: "Change", text: r.Change},
		{name: "Kind", text: after(after(string(r.Kind), ", ", r.Tool), " ", r.ToolVersion)},
		{name: "Isolation", text: after("level "+string(r.Isolation.Level), ", profile ", r.Isolation.Profile)},
		{name: "Profile of the request", text: r.IsolationProfile}, {name: "Playbook", text: r.Playbook},
		{name: "Command", text: r.Command}, {name: "Project", text: r.ProjectID}, {name: "Commit", text: d.Commit},
		{name: "Inventory", text: r.InventoryID}, {name: "Inventory", text: r.Inventory}, {name: "Limit", text: r.Limit},
		{name: "Bound to hosts", text: strings.Join(r.LimitHosts, ", ")}, {name: "Tags", text: strings.Join(r.Tags, ", ")},
		{name: "Skipped tags", text: strings.Join(r.SkipTags, ", ")},
		{name: "Credentials", text: strings.Join(r.CredentialIDs, ", ")}, {name: "Variables", text: pairs(r.ExtraVars)},
		{name: "Environment", text: pairs(r.Env)}, {name: "Labels", text: pairs(r.Labels)}, {name: "Queue", text: r.Queue},
		{name: "Executed by", text: r.Worker},
	}
	if r.Isolation.Level == "" {
		list = slices.DeleteFunc(list, func(t term) bool { return t.name == "Isolation" })
	}
	for _, k := range r.HostKeys {
		list = append(list, term{name: "Accepted host key", text: k.Host + " " + k.Type + " " + k.Fingerprint})
	}
	list = append(list, term{name: "Fails on", text: strings.Join(r.FailOn, ", ")},
		term{name: "Part of", text: after(r.ParentID, ", step ", r.StepName)}, term{name: "Retry of", text: r.RetryOf},
		term{name: "Rerun of", text: r.RerunOf}, term{name: "Error", text: r.Error, bad: true})
	for _, w := range r.Warnings {
		list = append(list, term{name: "Warning", text: fmt.Sprintf("%s (%s)", w.Message, w.Code)})
	}
	return known(append(list, term{name: "Risk", text: string(d.Risk)}))
}

func (d *Document) digests() []term {
	size := fmt.Sprintf("%d bytes", d.Run.LogBytes)
	if d.Run.LogOmitted > 0 {
		size += fmt.Sprintf(", %d of them not stored", d.Run.LogOmitted)
	}
	return known([]term{
		{name: "Request", text: d.InputsDigest, code: true}, {name: "Log", text: d.LogDigest, code: true},
		{name: "Log size", text: size}, {name: "Events, root", text: d.EventsDigest, code: true},
		{name: "Events", text: fmt.Sprint(d.Run.EventCount)},
	})
}

func known(list []term) []term {
	return slices.DeleteFunc(list, func(t term) bool { return t.text == "" })
}

// after returns a text and another one behind it; nothing without the first, and no mark without the second.
func after(first, mark, second string) string {
	if first == "" || second == "" {
		return first
	}
	return first + mark + second
}

// pairs lists names and values, one in a line.
func pairs(of map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(of)) {
		b.WriteString(name + " = " + of[name] + "\n")
	}
	return b.String()
}

func (h Hold) by() string {
	out := paper.Cell(h.Name)
	if h.ID != "" {
		out += " (" + h.ID + ")"
	}
	return out
}

func (d *Document) touched() string {
	return paper.Count(int64(d.Run.HostsTouched), "host was", "hosts were") + " touched." +
		omitted(d.HostsOmitted, "host more is", "hosts more are")
}

func (d *Document) counted() string {
	return paper.Count(int64(len(d.Tasks)), "task", "tasks") + "." +
		omitted(d.TasksOmitted, "task more is", "tasks more are")
}

func omitted(n int, one, many string) string {
	if n == 0 {
		return ""
	}
	return " " + paper.Count(int64(n), one, many) + " not listed here."
}

// span formats a duration in milliseconds.
func span(ms int64) string { return fmt.Sprintf("%d.%03d s", ms/1000, ms%1000) }

func number(n any) string {
	if p, ok := n.(*int); ok {
		if p == nil {
			return ""
		}
		n = *p
	}
	return fmt.Sprint(n)
}
