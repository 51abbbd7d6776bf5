package notify

import (
	"slices"

	"github.com/writ-automation/writ/ports/runs"
)

// Kind is a kind of target. The list of kinds is closed: notifiers of extensions are not kinds.
type Kind struct {
	Name     string
	Required []string // of url, key and to
	// Incident kinds receive only failed and interrupted runs.
	Incident bool
	Doc      string // what is sent, in one sentence
}

// Kinds lists the kinds in the order of the reference.
func Kinds() []Kind {
	return []Kind{
		{Name: "webhook", Required: []string{"url"},
			Doc: "The run's record as JSON, the values of its variables redacted; signed where a key is set."},
		{Name: "slack", Required: []string{"url"}, Doc: "A message to an incoming webhook of Slack."},
		{Name: "mattermost", Required: []string{"url"}, Doc: "A message to an incoming webhook of Mattermost."},
		{Name: "rocketchat", Required: []string{"url"}, Doc: "A message to an incoming webhook of Rocket.Chat."},
		{Name: "discord", Required: []string{"url"}, Doc: "A message to a webhook of Discord."},
		{Name: "teams", Required: []string{"url"}, Doc: "An adaptive card to a webhook of Microsoft Teams."},
		{Name: "ntfy", Required: []string{"url"},
			Doc: "A notification to a topic, of high priority where the run failed or was interrupted."},
		{Name: "pagerduty", Required: []string{"key"}, Incident: true, Doc: "An incident on the routing key."},
		{Name: "grafana", Required: []string{"url", "key"},
			Doc: "An annotation by that instance's API, with the key as its token."},
		{Name: "twilio", Required: []string{"to"}, Doc: "An SMS through the server's account."},
		{Name: "email", Required: []string{"to"},
			Doc: "Mail to a list of addresses with commas between them, through the server's SMTP transport."},
	}
}

// KindOf returns a kind by its name.
func KindOf(name string) (Kind, bool) {
	list := Kinds()
	i := slices.IndexFunc(list, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return Kind{}, false
	}
	return list[i], true
}

// Event is the event that a notification is about.
type Event string

// The events.
const (
	Finished Event = "run.finished"
	Held     Event = "run.held"
	// DriftFound is that a dry run found drift that was not known.
	DriftFound Event = "drift.found"
)

// Wants reports whether a target receives an event of a run, and otherwise the reason in a few words. A target with
// on_failure receives only failed runs.
func Wants(n runs.Notification, e Event, s runs.Status) (bool, string) {
	k, _ := KindOf(n.Kind)
	switch {
	case n.OnFailure && (e != Finished || s != runs.Failed):
		return false, "the target is notified only of failed runs"
	case k.Incident && (e != Finished || s != runs.Failed && s != runs.Interrupted):
		return false, "this kind is notified only of failed and interrupted runs"
	default:
		return true, ""
	}
}
