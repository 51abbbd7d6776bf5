package runs

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/runs"
)

const hostile = `<script>alert(1)</script>"><img src=x onerror=alert(1)>` + "\u202e"

func bad(status runs.Status) *runs.Run {
	return &runs.Run{ID: "run_01", Name: hostile, Kind: runs.Split, ShardCount: 3, Status: status, Error: hostile,
		Spec:  runs.Spec{Tool: "ansible", Playbook: hostile, Controls: runs.Controls{Limit: hostile}},
		Actor: actor.Actor{Name: hostile}, CreatedAt: now().Add(-time.Hour), StartedAt: now().Add(-time.Hour),
		EndedAt: now().Add(-50 * time.Minute), Warnings: []runs.Warning{{Message: hostile}},
		Decision: &runs.Decision{By: actor.Actor{Name: hostile}, Reason: hostile},
		Canceled: &runs.Cancellation{By: actor.Actor{Name: hostile}},
		Hosts:    runs.HostCounts{runs.HostOK: 10, runs.HostFailed: 2, runs.HostUnreachable: 1}}
}

func render(t *testing.T, c templ.Component) string {
	t.Helper()
	var b bytes.Buffer
	if err := c.Render(viewing(), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestHostileRows(t *testing.T) {
	t.Parallel()
	for _, s := range runs.Statuses() {
		r := bad(s)
		list := &runs.List{Runs: []*runs.Run{r}, Total: 1}
		v := &listView{Query: query{Q: hostile, Since: hostile}, Echo: hostile, Problem: hostile, List: list, Shown: 1,
			Views: []view{{Name: hostile, Q: hostile, stored: true, current: true,
				team: identity.Team{ID: hostile, Name: hostile}}},
			Teams: []shell.Choice{{Value: hostile, Label: hostile}}, Tick: true,
			Days: []day{{Name: "Today", Rows: []row{rowOf(r)}}}}
		for _, c := range []templ.Component{
			listPage(v), swapRows([]row{rowOf(r)}, true), childRows(r, []row{rowOf(r)}, 2),
			cancelQuestion(&cancelView{Runs: []row{rowOf(r)}}, v.Query),
			cancelOutcome(&cancelView{Runs: []row{rowOf(r)}, Outcomes: []string{hostile}}),
		} {
			html := render(t, c)
			for _, no := range []string{"<script>", "<img", " style=", " onerror=x", " onclick"} {
				if strings.Contains(html, no) {
					t.Errorf("%s: the page has %q", s, no)
				}
			}
		}
	}
}

func TestWhyNot(t *testing.T) {
	t.Parallel()
	code := 3
	for _, c := range []struct {
		run       runs.Run
		hue, text string
	}{
		{runs.Run{Status: runs.Succeeded}, "", ""},
		{runs.Run{Status: runs.Succeeded, Warnings: []runs.Warning{{Message: "touched no host"}}}, "chg", "Touched no host"},
		{runs.Run{Status: runs.Failed, ExitCode: &code}, "fail", "Exit code 3"},
		{runs.Run{Status: runs.Failed, Error: "x", Hosts: runs.HostCounts{runs.HostFailed: 1200, runs.HostUnreachable: 5}},
			"fail", "1,200 hosts failed, 5 out of reach"},
		{runs.Run{Status: runs.Interrupted}, "lost", "Its executor stopped answering"},
		{runs.Run{Status: runs.Rejected, Decision: &runs.Decision{By: actor.Actor{Name: "Mara Lind"}, Reason: "not now"}},
			"fail", "Rejected by Mara Lind: not now"},
		{runs.Run{Status: runs.Canceled, Canceled: &runs.Cancellation{By: actor.Actor{Name: "Tomas Ek"}}}, "idle",
			"Canceled by Tomas Ek"},
		{runs.Run{Status: runs.Running, CancelRequested: true}, "hold", "Is being canceled"},
		{runs.Run{Status: runs.PendingApproval, Approvals: &runs.Approvals{Holds: []runs.Hold{{Name: "prod"}}}}, "hold",
			"Held by prod"},
	} {
		if hue, text := whyNot(&c.run); hue != c.hue || text != c.text {
			t.Errorf("%s: %q %q, want %q %q", c.run.Status, hue, text, c.hue, c.text)
		}
	}
}

func TestExports(t *testing.T) {
	t.Parallel()
	r := bad(runs.Failed)
	r.Name = "=cmd()\n\"x\""
	for _, format := range formats() {
		var b bytes.Buffer
		e, _ := exporterOf(format, &b)
		for _, err := range []error{e.begin(), e.run(r, now()), e.run(r, now()), e.end()} {
			if err != nil {
				t.Fatal(err)
			}
		}
		switch format {
		case asJSON:
			var list []map[string]any
			if err := json.Unmarshal(b.Bytes(), &list); err != nil || len(list) != 2 || list[1]["name"] != r.Name {
				t.Errorf("JSON: %v %v", err, list)
			}
		case asCSV:
			rows, err := csv.NewReader(&b).ReadAll()
			if err != nil || len(rows) != 3 || len(rows[0]) != len(rows[1]) || rows[1][1] != "'"+r.Name {
				t.Errorf("CSV: %v %q", err, rows)
			}
		case asYAML:
			if !strings.HasPrefix(b.String(), `- id: "run_01"`+"\n"+`  name: "=cmd()\n\"x\""`+"\n") ||
				strings.Count(b.String(), "\n- id: ") != 1 {
				t.Errorf("YAML:\n%s", b.String())
			}
		}
	}
	if e, _ := exporterOf("XML", nil); e != nil {
		t.Error("XML is a format")
	}
}

func TestLastWord(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "status:fa": "status:fa", "web host:a": "host:a", `actor:"Ada R`: `actor:"Ada R`, "web ": "",
	} {
		if got := lastWord(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := states("failed,ca"); len(got) != 1 || got[0] != "failed,canceled" {
		t.Errorf("states: %q", got)
	}
	if got := keyOffers("st"); len(got) != 1 || got[0].Text != "status:" {
		t.Errorf("keys: %v", got)
	}
}
