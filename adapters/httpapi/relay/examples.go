package relay

import (
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/runs"
)

const (
	exampleID = "run_01k0a8bq3vtx5zk9w2m4n6p8rs"
	// exampleCapability has the form of a capability and is never valid.
	exampleCapability = "EXAMPLE-capability-of-a-claim-EXAMPLE-0000A"
)

func exampleClaim() execution.RelayClaim {
	return execution.RelayClaim{
		Worker: execution.RelayPeer{Name: "edge-1", Version: "1.0.0", Labels: map[string]string{"site": "berlin"},
			Executors: 4, Installs: true},
		Queues: []string{"default"}, WaitSeconds: 30,
		Heads: []string{
			"writ.example.org/in_01k0a0000vtx5zk9w2m4n6p8rs\n4711\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n",
		},
	}
}

func exampleRun() RunBody {
	started := httpapi.ExampleTime().Add(time.Second)
	return RunBody{RelayRun: execution.RelayRun{
		ID: exampleID, Kind: runs.Single, Status: runs.Running,
		Spec: runs.Spec{
			Tool: runs.Ansible, Playbook: "site.yml", InventoryID: "inv_01k0a0002vtx5zk9w2m4n6p8rs",
			ProjectID: "prj_01k0a0003vtx5zk9w2m4n6p8rs",
			Controls:  runs.Controls{Limit: "web"}, Queue: runs.DefaultQueue,
		},
		ExtraVars: runs.Vars{"version": json.RawMessage(`"1.4.2"`)}, Labels: map[string]string{"team": "web"},
		Change: "CHG-1042",
		Commit: "5d1c3f0a9be7d1c5f0a9be7d1c5f0a9be7d1c5f0", Worker: execution.RelayPrefix + "edge-1", Epoch: 1, Begun: true,
		CreatedAt: httpapi.ExampleTime(), StartedAt: &started, LogBytes: 6,
	}}
}

func exampleGrant() GrantBody {
	run := exampleRun()
	run.Begun, run.StartedAt, run.LogBytes, run.NextSeq = false, nil, 0, 3
	return GrantBody{Run: &run, RelayGrant: execution.RelayGrant{
		Capability: exampleCapability, LeaseSeconds: int(runs.LeaseTTL / time.Second),
		Secrets:      &execution.RelaySecrets{Env: map[string]string{"API_TOKEN": "example"}, Hide: []string{"example"}},
		PoliciesETag: `"5d41402abc4b2a76"`,
	}}
}

func exampleBeat() execution.RelayBeat {
	return execution.RelayBeat{LeaseSeconds: int(runs.LeaseTTL / time.Second)}
}

func exampleSave() execution.RelaySave {
	code, started, ended := 0, httpapi.ExampleTime().Add(time.Second), httpapi.ExampleTime().Add(42*time.Second)
	return execution.RelaySave{
		Status: runs.Succeeded, ExitCode: &code, Outputs: runs.Vars{"url": json.RawMessage(`"https://example.org"`)},
		StartedAt: &started, EndedAt: &ended, LogBytes: 6,
		LogSHA256: "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03", Version: "2.19.11",
	}
}

func exampleDivision() execution.RelayDivision {
	return execution.RelayDivision{Hosts: []string{"web1.example.org", "web2.example.org"}}
}

func exampleLog() LogBody {
	return LogBody{Data: base64.StdEncoding.EncodeToString([]byte("hello\n"))}
}

func exampleEvents() EventsBody {
	return EventsBody{execution.RelayEvents{Events: []runs.Event{{
		Seq: 3, At: httpapi.ExampleTime(), Type: runs.EventHostOK, Play: "web", Task: "Install nginx", Host: "web1",
		Changed: true, DurationMS: 1200,
	}}}}
}

func exampleHosts() execution.RelayHostList {
	return execution.RelayHostList{Hosts: []execution.RelayHost{{Host: "web1", OK: 3, Changed: 1, Worst: runs.HostChanged,
		DurationMS: 1200}}}
}

func exampleTasks() execution.RelayTaskList {
	return execution.RelayTaskList{Tasks: []execution.RelayTask{{
		Play: "web", Task: "Install nginx", Changed: 1, Hosts: 1, DurationMS: 1200, MeanMS: 1200, MaxMS: 1200,
	}}}
}

func exampleFacts() execution.RelayFactsList {
	return execution.RelayFactsList{Facts: []execution.RelayFacts{{
		Host: "web1", GatheredAt: httpapi.ExampleTime(), Facts: json.RawMessage(`{"ansible_distribution":"Debian"}`),
	}}}
}

func examplePlan() runs.Plan {
	return runs.Plan{Summary: "1 to add",
		Digest:   "sha256:5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03",
		Findings: []runs.PlanFinding{{Resource: "terraform_data.web", Action: "create", Diff: "+ input = \"1.4.2\""}}}
}

func exampleInventory() execution.RelayInventory {
	return execution.RelayInventory{Content: []byte("[web]\nweb1\n"), Format: "ini"}
}
