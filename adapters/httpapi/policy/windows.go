package policy

import (
	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/policy"
)

// WindowFields are the members of a window that a caller sets.
type WindowFields struct {
	Name     string            `json:"name" minLength:"1" maxLength:"200" doc:"Unique."`
	Mode     policy.WindowMode `json:"mode" enum:"allow,deny" doc:"Runs start inside of allow windows, and never inside of deny windows."`
	Match    MatchBody         `json:"match" required:"false" doc:"What is empty selects every run. Ids of objects that the reader may not read are left out of answers."`
	Cron     string            `json:"cron,omitempty" maxLength:"512" doc:"When an occurrence begins, as of a schedule. With duration, and without from and to."`
	Duration int64             `json:"duration,omitempty" minimum:"60" maximum:"31622400" doc:"How long an occurrence lasts, in seconds."`
	From     string            `json:"from,omitempty" maxLength:"64" doc:"When the only occurrence begins: an instant, or a local time of the zone without an offset."`
	To       string            `json:"to,omitempty" maxLength:"64" doc:"When it ends; this instant is outside of it."`
	Timezone string            `json:"timezone,omitempty" maxLength:"64" doc:"An IANA zone. The server's local time if absent."`
	Outside  policy.Outside    `json:"outside" enum:"wait,deny" doc:"What happens to a request for a run that may not start now. If windows differ, it is denied."`
	Enabled  *bool             `json:"enabled,omitempty" doc:"True if absent."`
}

func (b *WindowFields) window() policy.Window {
	return policy.Window{
		Record: object.Record{Name: b.Name}, Mode: b.Mode, Enabled: b.Enabled == nil || *b.Enabled,
		Match: policy.Match(b.Match), Cron: b.Cron, Duration: b.Duration, From: b.From, To: b.To, Timezone: b.Timezone,
		Outside: b.Outside,
	}
}

// WindowBody is a window.
type WindowBody struct {
	httpapi.Record
	WindowFields
}

func windowBody(w policy.Window) WindowBody {
	return WindowBody{httpapi.RecordOf(w.Record), WindowFields{
		Name: w.Name, Mode: w.Mode, Match: MatchBody(w.Match), Cron: w.Cron, Duration: w.Duration, From: w.From, To: w.To,
		Timezone: w.Timezone, Outside: w.Outside, Enabled: &w.Enabled,
	}}
}

// WindowList lists windows by name.
type WindowList struct {
	Windows []WindowBody `json:"windows"`
	httpapi.Listed
}

func windowList(rows []WindowBody, l httpapi.Listed) WindowList { return WindowList{rows, l} }

func exampleWindow() WindowFields {
	on := true
	return WindowFields{
		Name: "weekend", Mode: policy.DenyWindow, Match: MatchBody{Labels: map[string]string{"env": "production"}},
		Cron: "0 18 * * fri", Duration: 216_000, Timezone: "Europe/Berlin", Outside: policy.OutsideWait, Enabled: &on,
	}
}

func (h *handlers) windows(r *httpapi.Router) {
	k := httpapi.Kind[policy.Window, WindowBody]{
		Path: "/v1/windows", Noun: "window", Tag: "policy", Read: httpapi.Needs("window", "read"),
		Write:   httpapi.Needs("window", "write"),
		Example: WindowBody{Record: httpapi.ExampleRecord("win_01k0a0009vtx5zk9w2m4n6p8rs"), WindowFields: exampleWindow()},
		Request: exampleWindow(), Body: windowBody, Record: func(w policy.Window) object.Record { return w.Record },
	}
	const binds = "It binds the start of every run that it matches, also of those that wait."
	httpapi.Handle(r, k.Create(audit.WindowCreate, "Create a window", binds),
		httpapi.Creator(k, (*WindowFields).window, h.Windows.Create))
	httpapi.HandleList(r, k.List("List windows by name", "Ordered by name, those that are disabled too."), windowList,
		windowBody, httpapi.Filtered((*ListInput).filter, h.Windows.List), k.Example)
	httpapi.Handle(r, k.Get("Read one window", "With everything that it matches."), k.Getter(h.Windows.Get))
	httpapi.Handle(r, k.Update(audit.WindowUpdate, "Replace a window",
		"An omitted member clears, and an omitted enabled is true. "+binds),
		httpapi.Updater(k, h.Windows.Get, (*WindowBody).window, h.Windows.Update))
	httpapi.Handle(r, k.Delete(audit.WindowDelete, "Delete a window", "Runs that wait for it alone may start."),
		httpapi.Deleter(h.Windows.Delete))
}
