package scheduling

import (
	"encoding/json"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/runs"
)

const (
	exampleTemplateID = "tpl_01k0a0006vtx5zk9w2m4n6p8rs"
	exampleRunID      = "run_01k0a8bq3vtx5zk9w2m4n6p8rs"
	exampleSecret     = "<SIGNING_SECRET>"
	exampleToken      = "<HOOK_TOKEN>"
)

func exampleTarget() TargetBody {
	return TargetBody{TemplateID: exampleTemplateID, Answers: runs.Vars{"version": json.RawMessage(`"1.4.2"`)}}
}

func exampleNewSchedule() NewScheduleBody {
	enabled := true
	return NewScheduleBody{Name: "nightly", Cron: "30 2 * * *", Timezone: "Europe/Berlin", Enabled: &enabled,
		TargetBody: exampleTarget()}
}

func exampleSchedule() ScheduleBody {
	next := httpapi.ExampleTime().Add(17 * time.Hour)
	last := next.Add(-24 * time.Hour)
	return ScheduleBody{
		Record: httpapi.ExampleRecord("sch_01k0a0007vtx5zk9w2m4n6p8rs"), NewScheduleBody: exampleNewSchedule(),
		NextRunAt: &next, LastRunAt: &last, LastRunID: exampleRunID,
	}
}

func examplePreview() PreviewBody {
	next := httpapi.ExampleTime().Add(17 * time.Hour)
	return PreviewBody{Cron: "30 2 * * *", Timezone: "Europe/Berlin", Count: 2,
		Next: []time.Time{next, next.Add(24 * time.Hour)}, Notes: []string{}}
}

func exampleNewTrigger() NewTriggerBody {
	return NewTriggerBody{Name: "push to main", TemplateID: exampleTemplateID, Branch: "main"}
}

func exampleTriggerChange() map[string]any {
	return map[string]any{"name": "push to main", "require_signature": true}
}

func exampleTrigger() TriggerBody {
	fired := httpapi.ExampleTime()
	return TriggerBody{
		Record:       httpapi.ExampleRecord("trg_01k0a0008vtx5zk9w2m4n6p8rs"),
		TriggerState: TriggerState{LastFiredAt: &fired, LastRunID: exampleRunID},
		Name:         "push to main", TemplateID: exampleTemplateID, RequireSignature: true, Branch: "main",
		Events: []string{},
	}
}

func exampleMadeTrigger() MadeTriggerBody {
	b := exampleTrigger()
	b.LastFiredAt, b.LastRunID = nil, ""
	return MadeTriggerBody{TriggerBody: b, Token: exampleToken, HookPath: hooksPath + exampleToken,
		SigningSecret: exampleSecret}
}

func exampleDeliveries() []LoggedDeliveryBody {
	at := httpapi.ExampleTime()
	return []LoggedDeliveryBody{
		{At: at.Add(time.Minute), Verdict: "refused", Reason: "the signature of the delivery is missing or wrong"},
		{At: at, Verdict: "fired", Event: "push", DeliveryID: "72d3162e-cc78-11e3-81ab-4c9367dc0958", RunID: exampleRunID},
	}
}
