package schedules

import (
	"strings"
	"time"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/scheduling"
)

const (
	schedulesText   = "Schedules"
	triggersText    = "Triggers"
	newScheduleText = "New schedule"
	newTriggerText  = "New trigger"
	editText        = "Edit"
	cancelText      = "Cancel"
	rotateText      = "New secret"
	rotateAsk       = "The trigger gets a new secret, which the next page shows once. Deliveries that are signed with " +
		"the present one are refused from then on, and the address stays."
	fireText      = "Fire now"
	onText        = "Switch on"
	offText       = "Switch off"
	nextText      = "Next five times"
	startsText    = "What it starts"
	lastText      = "Last time"
	calendarText  = "The next four weeks"
	tableText     = "All schedules, by name"
	triggersTable = "All triggers, by name"
	emptySchedule = "Nothing fires by the clock"
	emptyHint     = "A schedule starts a template, a run or a pipeline by a cron expression: a dry run every night, say."
	emptyTrigger  = "No forge starts anything"
	triggerHint   = "A trigger launches a template when a forge reports a push. It has its own address and secret."
	recipeText    = "How to set up the forge"
	hookHint      = "The address was shown once, when the trigger was created."

	deliveriesText  = "Deliveries"
	deliveriesTable = "The newest deliveries, the newest first"
	emptyLog        = "Nothing was delivered to the address yet, or the token in the address was wrong."
	logHint         = "The newest 50 are kept, and of refused ones at most one in ten seconds."
	runText         = "the run"
)

func switchedText(on bool) string {
	if on {
		return "Switched on."
	}
	return "Switched off. It fires no more until it is switched on."
}

// listSentence says how the schedules stand.
func listSentence(v listView) string {
	on, missed := 0, 0
	for i := range v.Schedules {
		if v.Schedules[i].Enabled {
			on++
		}
		if v.Schedules[i].LastError != "" {
			missed++
		}
	}
	text := shell.Plural(on, "schedule") + " of " + shell.Count(v.Total) + " switched on."
	if missed > 0 {
		text += " " + shell.Count(missed) + " did not start a run at its last time."
	}
	return text
}

// peakSentence names the busiest hour.
func peakSentence(c calendar) string {
	if c.Most < 2 {
		return "No two start within one hour."
	}
	names := c.PeakNames
	more := ""
	if len(names) > 3 {
		more = " and " + shell.Count(len(names)-3) + " more"
		names = names[:3]
	}
	return shell.Count(c.Most) + " start on " + c.Peak.Format("Monday 2 January") + " from " + c.Peak.Format("15:04") +
		": " + strings.Join(names, ", ") + more + "."
}

func cutSentence(c calendar) string {
	return "Only the first " + shell.Count(scheduling.MaxPreview) + " times are counted of " +
		strings.Join(c.Cut, ", ") + "."
}

// oneSentence says when a schedule fires.
func oneSentence(v oneView) string {
	s := v.Schedule
	switch {
	case !s.Enabled:
		return "Switched off: it does not fire."
	case len(v.Next) == 0:
		return "It never fires again."
	}
	return "Fires next on " + v.Next[0].In(zoneOf(s)).Format("Monday, 2 January 2006, 15:04 MST") + "."
}

func zoneOf(s scheduling.Schedule) *time.Location {
	if zone, err := time.LoadLocation(s.Timezone); err == nil && s.Timezone != "" {
		return zone
	}
	return time.UTC
}

// overlapSentence says what happens while the last run is unfinished.
func overlapSentence(o scheduling.Overlap) string {
	switch o {
	case scheduling.OverlapQueue:
		return "While its last run is unfinished, the next one waits."
	case scheduling.OverlapAllow:
		return "Its runs may execute beside each other."
	case scheduling.OverlapSkip:
	}
	return "While its last run is unfinished, a time is missed."
}

// branchText says what a trigger listens to.
func branchText(t scheduling.Trigger) string {
	events, branch := "push", "any branch"
	if len(t.Events) > 0 {
		events = strings.Join(t.Events, ", ")
	}
	if t.Branch != "" {
		branch = "the branch " + t.Branch
	}
	return events + " of " + branch
}

// recipe is how a forge is set up.
type recipe struct{ Forge, Text string }

func recipes() []recipe {
	return []recipe{
		{"GitHub", "Settings, Webhooks: the address as Payload URL, application/json, the secret, the push event."},
		{"GitLab", "Settings, Webhooks: the address as URL, the secret as Secret token, Push events."},
		{"Gitea and Forgejo", "Settings, Webhooks: the address as Target URL, POST, application/json, the secret."},
	}
}

// verdictState is the state of a delivery.
func verdictState(v scheduling.Verdict) shell.State {
	switch v {
	case scheduling.Fired:
		return shell.State{Glyph: "done", Word: "Started a run"}
	case scheduling.Repeated:
		return shell.State{Glyph: "skip", Word: "Repeated"}
	case scheduling.Ignored:
		return shell.State{Glyph: "skip", Word: "Ignored"}
	case scheduling.Refused:
		return shell.State{Glyph: "deny", Word: "Refused"}
	case scheduling.Failed:
	}
	return shell.State{Glyph: "fail", Word: "Started no run"}
}

// reasonText says why a delivery started nothing.
func reasonText(d scheduling.LoggedDelivery) string {
	if d.Reason == runs.TemplateBusy.Name {
		return "the template is busy"
	}
	return d.Reason
}
