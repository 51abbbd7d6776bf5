package catalog

import (
	"encoding/json"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/runs"
)

const (
	exampleUserID      = "usr_01k0a0000vtx5zk9w2m4n6p8rs"
	exampleProjectID   = "prj_01k0a0005vtx5zk9w2m4n6p8rs"
	exampleInventoryID = "inv_01k0a0006vtx5zk9w2m4n6p8rs"
	exampleTemplateID  = "tpl_01k0a0007vtx5zk9w2m4n6p8rs"
	exampleCommit      = "9fceb02d0ae598e95dc970b74767f19372d61af8"
)

func exampleProject() ProjectBody {
	synced := httpapi.ExampleTime().Add(4 * time.Second)
	return ProjectBody{
		Record: httpapi.ExampleRecord(exampleProjectID),
		ProjectFields: ProjectFields{Name: "site", RepoURL: "https://git.example.com/ops/site.git", Branch: "main",
			InstallDeps: true},
		Commit: exampleCommit, SyncedAt: &synced,
		Hints: []catalog.Hint{{Path: "roles/web/tasks/main.yml", Line: 12,
			Message: "when is no boolean: ansible-core 2.19 and newer refuse it"}},
	}
}

func exampleEntries() EntryList {
	return EntryList{
		Files: []EntryBody{{Path: "roles", Type: "dir"}, {Path: "site.yml", Type: "file", Size: 412}}, Count: 2, Total: 2,
		Commit: exampleCommit,
	}
}

func exampleCommits() CommitList {
	return CommitList{
		Commits: []CommitBody{{ID: exampleCommit, Author: "Alex", At: httpapi.ExampleTime(), Subject: "Listen on 8080"}},
		Count:   1, Total: 1, From: "7d1f0e3b5c9a2468ace013579bdf02468ace1357", To: exampleCommit,
	}
}

func exampleNewInventory() NewInventoryBody {
	known := "web1,web2 ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPc6OdGcCcJyJPGz3cGEr4kfAH3kEzUfoC+XrSqfLrXl\n"
	return NewInventoryBody{InventoryFields: InventoryFields{Name: "web", Format: "ini", HostKeyPolicy: "strict"},
		Content: "[web]\nweb1 http_port=8080\nweb2\n", KnownHosts: &known}
}

func exampleInventory() InventoryBody {
	in := exampleNewInventory()
	return InventoryBody{
		InventoryRow: InventoryRow{
			Record: httpapi.ExampleRecord(exampleInventoryID), InventoryFields: in.InventoryFields, Hosts: 2, Groups: 1,
			Digest: "1a76d2f66d5bbb3c1a5e9f2047b6d8e3a9c1f5072e4b6d8f0a23788bfe5fb1c9",
		},
		Content: in.Content, KnownHosts: *in.KnownHosts,
	}
}

func exampleVersions() []VersionRow {
	at, by := httpapi.ExampleTime(), &actor.Actor{Type: actor.User, ID: exampleUserID, Name: "alex"}
	return []VersionRow{
		{Number: 2, At: at.Add(time.Hour), By: &actor.Actor{Type: actor.System, Name: "system"}, How: "refresh",
			SourceID: "src_01k0a0008vtx5zk9w2m4n6p8rs", Format: "ini", Hosts: 2, Groups: 1,
			Digest: "88bfe5fb1c9d4e2a7f60b3d8a1c5e9f2047b6d8e3a9c1f5072e4b6d8f0a237ce"},
		{Number: 1, At: at, By: by, How: "edit", Format: "ini", Hosts: 1, Groups: 1,
			Digest: "1a76d2f66d5bbb3c1a5e9f2047b6d8e3a9c1f5072e4b6d8f0a23788bfe5fb1c9"},
	}
}

func exampleDiff() DiffBody {
	list := exampleVersions()
	port := ChangedVarBody{Name: "http_port", Change: "removed", From: 8080}
	return DiffBody{
		From: &list[1], To: list[0],
		Hosts: EntryDiffBody{Added: []string{"web2"}, Removed: []string{}, AddedTotal: 1, ChangedTotal: 1,
			Changed: []ChangedEntryBody{{Name: "web1", Vars: []ChangedVarBody{port}, Joined: []string{}, Left: []string{}}}},
		Groups: EntryDiffBody{Added: []string{}, Removed: []string{}, Changed: []ChangedEntryBody{}},
		Text:   "@@ -1,2 +1,3 @@\n [web]\n-web1 http_port=8080\n+web1\n+web2\n",
	}
}

func exampleNewSource() SourceFields {
	return SourceFields{
		Name: "cloud", Kind: "plugin", InventoryID: exampleInventoryID, UpdateOnLaunch: true, SyncInterval: 3600,
		Config: SourceConfig{"plugin": "amazon.aws.aws_ec2", "regions": []string{"eu-central-1"}},
	}
}

func exampleSource() SourceBody {
	synced := httpapi.ExampleTime().Add(4 * time.Second)
	return SourceBody{
		Record: httpapi.ExampleRecord("src_01k0a0008vtx5zk9w2m4n6p8rs"), SourceFields: exampleNewSource(), SyncedAt: &synced,
	}
}

func exampleSettings() httpapi.Settings {
	return httpapi.Settings{
		Controls: httpapi.Controls{
			Playbook: "deploy.yml", InventoryID: exampleInventoryID, ExtraVars: runs.Vars{"version": json.RawMessage(`"1.4.2"`)},
			Timeout: 1800,
		},
		ProjectID: exampleProjectID, Labels: map[string]string{"team": "web"},
	}
}

func exampleTemplate() TemplateBody {
	return TemplateBody{
		Record: httpapi.ExampleRecord(exampleTemplateID),
		TemplateFields: TemplateFields{
			Name: "deploy", Settings: exampleSettings(),
			Survey: Survey(
				`[{"var":"version","type":"text","label":"Which version?","required":true,"pattern":"\\d+\\.\\d+\\.\\d+"}]`),
			AllowOverrides: []string{"limit", "dry_run"}, AllowedVars: []string{"ansible_user"}, IsolationProfile: "sealed",
		},
	}
}

func exampleLaunch() LaunchBody {
	limit := "web1"
	return LaunchBody{Answers: httpapi.Values{"version": "1.4.2"}, Limit: &limit}
}

func exampleRun() httpapi.RunsRunBody {
	b := httpapi.RunsRunBody{
		ID: "run_01k0a8bq3vtx5zk9w2m4n6p8rs", Name: "deploy", Kind: "single", Status: "pending", Settings: exampleSettings(),
		CreatedAt: httpapi.ExampleTime(), Warnings: []runs.Warning{}, Source: "template", SourceID: exampleTemplateID,
		Actor:  actor.Actor{Type: actor.User, ID: exampleUserID, Name: "alex"},
		Commit: exampleCommit, Hosts: map[string]int{},
		AuditReceipt: "4711:88bfe5fb1c9d4e2a7f60b3d8a1c5e9f2047b6d8e3a9c1f5072e4b6d8f0a237ce",
	}
	b.Tool, b.Limit, b.Queue = "ansible", "web1", "default"
	return b
}
