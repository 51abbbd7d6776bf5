package runs

import (
	"encoding/json"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/runs"
)

const (
	exampleID    = "run_01k0a8bq3vtx5zk9w2m4n6p8rs"
	exampleOther = "run_01k0a7zz3vtx5zk9w2m4n6p8rs"
	// exampleReceipt is the receipt of an example's submission.
	exampleReceipt = "4711:88bfe5fb1c9d4e2a7f60b3d8a1c5e9f2047b6d8e3a9c1f5072e4b6d8f0a237ce"
)

func exampleSubmit() httpapi.RunsSubmitBody {
	return httpapi.RunsSubmitBody{Settings: exampleSettings()}
}

func exampleSettings() httpapi.Settings {
	return httpapi.Settings{
		Controls: httpapi.Controls{Playbook: "site.yml", Limit: "web",
			ExtraVars: runs.Vars{"version": json.RawMessage(`"1.4.2"`)}},
		Inventory: "hosts.ini", Labels: map[string]string{"team": "web"}, Change: "CHG-1042",
	}
}

func exampleRun() httpapi.RunsRunBody {
	b := exampleRow()
	b.HostKeys = []runs.HostKey{{Host: "web1", Type: "ssh-ed25519",
		Fingerprint: "SHA256:Xk3LmE0HnPz8kW2u0a9FqR7tYcV5bN1sJdG4hZ6oT8w"}}
	b.ExtraVars = exampleSettings().ExtraVars
	b.AuditReceipt = exampleReceipt
	return b
}

func exampleRow() httpapi.RunsRunBody {
	started, ended, code := httpapi.ExampleTime().Add(time.Second), httpapi.ExampleTime().Add(42*time.Second), 0
	b := httpapi.RunsRunBody{
		ID: exampleID, Kind: "single", Status: "succeeded", Settings: exampleSettings(), CreatedAt: httpapi.ExampleTime(),
		StartedAt: &started, EndedAt: &ended, DurationMS: 41000, ExitCode: &code,
		Warnings: []runs.Warning{}, Source: "api",
		Actor:  actor.Actor{Type: actor.User, ID: "usr_01k0a0000vtx5zk9w2m4n6p8rs", Name: "admin"},
		Worker: "wkr_01k0a0001vtx5zk9w2m4n6p8rs", Hosts: map[string]int{"changed": 2, "ok": 1}, HostsTouched: 3,
		ToolVersion: "2.19.11", EventCount: 27, LogBytes: 4096,
	}
	b.Tool, b.Queue, b.ExtraVars = "ansible", "default", nil
	return b
}

func exampleList() ListBody {
	return ListBody{Runs: []httpapi.RunsRunBody{exampleRow()}, Count: 1, Total: 1, NextOffset: 1, Limit: 200}
}

func examplePipeline() httpapi.RunsPipelineBody {
	return httpapi.RunsPipelineBody{Name: "release", Inventory: "hosts.ini", Steps: []httpapi.RunsStepInput{
		{Name: "build", Controls: httpapi.Controls{Tool: "bash", Command: "make build"}},
		{Name: "deploy", Controls: httpapi.Controls{Playbook: "deploy.yml"}, DependsOn: []string{"build"}, Retries: 1},
	}}
}

func examplePipelineRun() httpapi.RunsRunBody {
	return httpapi.RunsRunBody{
		ID: exampleID, Name: "release", Kind: "pipeline", Status: "pending",
		Settings: httpapi.Settings{Inventory: "hosts.ini"}, CreatedAt: httpapi.ExampleTime(),
		Warnings: []runs.Warning{}, Source: "api", Actor: actor.Actor{Type: actor.User, Name: "admin"},
		Hosts: map[string]int{},
		Steps: []httpapi.RunsStepBody{{Name: "build", Status: "pending", RunID: exampleOther},
			{Name: "deploy", Status: "pending"}},
	}
}

func exampleShards() ShardList {
	b, index := exampleRow(), 0
	b.Kind, b.ParentID, b.ShardIndex = "shard", exampleOther, &index
	return ShardList{Shards: []httpapi.RunsRunBody{b}, Count: 1, Total: 1}
}

func exampleSteps() StepList {
	b := exampleRow()
	b.Kind, b.ParentID, b.StepName = "step", exampleOther, "deploy"
	return StepList{Steps: []httpapi.RunsRunBody{b}, Count: 1, Total: 1}
}

func exampleHosts() HostList {
	return HostList{Hosts: []HostBody{{Host: "web1", OK: 4, Changed: 1, Worst: "changed", DurationMS: 3100}}, Count: 1,
		Total: 1}
}

func exampleTasks() TaskList {
	return TaskList{Tasks: []TaskBody{{Play: "all", Task: "Install packages", OK: 2, Changed: 1, Hosts: 3,
		DurationMS: 2200, MeanMS: 900, MaxMS: 2100}}, Count: 1, Total: 1}
}

func exampleCompare() CompareBody {
	base := exampleRow()
	base.ID = exampleOther
	return CompareBody{
		Run: exampleRow(), Baseline: base, Duration: SpanBody{BeforeMS: 38000, AfterMS: 41000},
		Hosts:         []HostChangeBody{{Host: "web1", Before: "failed", After: "changed", Verdict: "recovered"}},
		Tasks:         []TaskChangeBody{{Task: "Install packages", BeforeMS: 2000, AfterMS: 2200, DeltaMS: 200}},
		ChangedFields: []string{"extra_vars"},
	}
}

func exampleEvents() EventsBody {
	return EventsBody{
		Events: []runs.Event{
			{Seq: 1, At: httpapi.ExampleTime(), Type: runs.EventStatus, From: runs.Pending, To: runs.Running},
		},
		Count: 1, NextAfter: 1, Limit: 500,
	}
}
