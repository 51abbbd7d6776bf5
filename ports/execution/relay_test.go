package execution_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

// over sends a value as JSON.
func over[T any](t *testing.T, v T) (out T) {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	return out
}

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: %s", what, diff)
	}
}

// TestRequirementsOverTheRelay checks that the login arrives, and not the path of a repository on the server's disk.
func TestRequirementsOverTheRelay(t *testing.T) {
	t.Parallel()
	login := catalog.Login{Username: "u", Password: "p", Key: "k"}
	for url, want := range map[string]string{"https://git.example/a": "https://git.example/a",
		"git@git.example:a": "git@git.example:a", "/srv/a": "", "file:///srv/a": "", "FILE:///srv/a": ""} {
		body := over(t, execution.NewRelayRequirements(&catalog.Repository{URL: url, Login: login}))
		same(t, url, catalog.Repository{ProjectID: "prj_1", URL: want, Login: login}, body.Repository("prj_1"))
	}
	if execution.NewRelayRequirements(nil) != nil {
		t.Error("nothing is something")
	}
}

func TestRunsOverTheRelay(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, time.January, 5, 8, 30, 0, 123456000, time.UTC)
	r := &runs.Run{
		ID: "run_1", Name: "n", Kind: runs.Shard, Status: runs.Running, ParentID: "run_0", Commit: "c", Worker: "relay/w",
		Epoch: 7, Begun: true,
		Spec: runs.Spec{
			Tool: "ansible", Playbook: "site.yml", InventoryID: "inv_1", ProjectID: "prj_1", TemplateID: "tpl_1",
			Templated: []string{"a"},
			Controls: runs.Controls{Limit: "web", Tags: []string{"t"}, SkipTags: []string{"s"}, Forks: 5, Verbosity: 2,
				DiffMode: true},
			DryRun: true, Shards: 3, TimeoutSeconds: 60, Env: map[string]string{"A": "b"}, CredentialIDs: []string{"crd_1"},
			Queue: "q", Priority: -1,
			RequireApproval: true, LimitHosts: []string{"a", "b"},
		},
		Labels: map[string]string{"a": "b"}, Change: "CHG-1",
		Vars:            runs.Vars{"n": json.RawMessage("12345678901234567890.10")},
		CancelRequested: true, CreatedAt: at, StartedAt: at, LogBytes: 9, LogOmitted: 3,
	}
	notifying := *r
	notifying.Spec.Notifications = []runs.Notification{{Kind: "slack", URL: "https://hooks.example/***", Ref: "ntg_1"}}
	body := over(t, execution.NewRelayRun(&notifying))
	same(t, "a run", r, body.Record())
	if len(notifying.Spec.Notifications) != 1 {
		t.Error("the run itself lost whom it tells")
	}
}

func TestEndingsOverTheRelay(t *testing.T) {
	t.Parallel()
	code, at := 3, time.Date(2026, time.January, 5, 8, 30, 0, 0, time.UTC)
	e := runs.Ending{
		Status: runs.Failed, ExitCode: &code, Error: "e", Warnings: []runs.Warning{{Code: "c", Message: "m"}},
		Outputs: runs.Vars{"o": json.RawMessage("1.50")},
		Commit:  "c", ToolVersion: "2.14.18", LogBytes: 5, LogSHA256: "s", StartedAt: at, EndedAt: at.Add(time.Second),
		AcceptedHostKeys: []runs.HostKey{{Host: "h", Type: "t", Fingerprint: "f"}},
	}
	save := over(t, execution.NewRelaySave(&e))
	same(t, "an ending", e, save.Ending())
	hosts := []runs.HostSummary{{Host: "a", OK: 1, Changed: 2, Failed: 3, Unreachable: 4, Skipped: 5, Rescued: 6,
		Ignored: 7, Worst: runs.HostFailed, Duration: time.Second}}
	hostBody := over(t, execution.NewRelayHosts(hosts))
	same(t, "hosts", hosts, hostBody.Summaries())
	tasks := []runs.TaskSummary{{
		Index: 1, TaskID: "i", Play: "p", Task: "t", OK: 1, Changed: 2, Failed: 3, Skipped: 4, Hosts: 5,
		Duration: time.Second, Mean: time.Millisecond, Max: 2 * time.Millisecond,
	}}
	taskBody := over(t, execution.NewRelayTasks(tasks))
	same(t, "tasks", tasks, taskBody.Summaries())
	facts := []runs.HostFacts{{Host: "a", GatheredAt: at, Facts: json.RawMessage(`{"a":1.10}`)}}
	factBody := over(t, execution.NewRelayFacts(facts))
	same(t, "facts", facts, factBody.Gathered())
}

func TestSecretsOverTheRelay(t *testing.T) {
	t.Parallel()
	in := secrets.Injection{
		Env: map[string]secret.Text{"TOKEN": "s3cret\x00file:a\x00"},
		ExtraVars: map[string]any{"n": json.Number("12345678901234567890"), "list": []any{"plain", true, nil},
			"mark": secret.FileMark("dir/")},
		Files: []secrets.File{{Name: "dir/f", Content: "s3cret \xff\xfe bytes"}},
		Keys:  []secrets.Key{{PrivateKey: "s3cret PEM", Comment: "c"}},
		Login: secrets.Login{
			User: "u", Password: "s3cret", BecomeMethod: "su", BecomeUser: "root", BecomePassword: "s3cret",
			Vaults: []secrets.Vault{{ID: "v", Password: "s3cret"}},
		},
		Hide: []secret.Text{"s3cret"},
	}
	sent, err := execution.NewRelaySecrets(&in)
	if err != nil {
		t.Fatal(err)
	}
	got, err := over(t, sent).Injection()
	if err != nil {
		t.Fatal(err)
	}
	same(t, "an injection", reveal(in), reveal(got))
	none, err := (*execution.RelaySecrets)(nil).Injection()
	same(t, "nothing", fmt.Sprint(secrets.Injection{}, nil), fmt.Sprint(none, err))
	if _, err := execution.NewRelaySecrets(&secrets.Injection{ExtraVars: map[string]any{"x": func() {}}}); err == nil ||
		strings.Contains(err.Error(), "s3cret") {
		t.Errorf("what is no JSON: %v", err)
	}
	grant := execution.Grant{Capability: "c4pability", Secrets: in}
	if text := fmt.Sprintf("%v %+v", grant, grant); strings.Contains(text, "s3cret") ||
		strings.Contains(text, "c4pability") {
		t.Errorf("a grant prints its secrets: %s", text)
	}
}

// reveal makes secrets comparable, since all secrets print the same.
func reveal(in secrets.Injection) string {
	sent, err := execution.NewRelaySecrets(&in)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%+v", *sent)
}
