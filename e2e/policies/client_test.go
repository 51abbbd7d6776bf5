package policies

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"

	"github.com/writ-automation/writ/e2e/harness"
)

// writ runs a command as an account and returns its exit code and what it prints.
func (w *fixture) writ(who string, arg ...string) (code int, out string) {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), harness.Binary(w.t), arg...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "WRIT_SERVER=" + w.URL, "WRIT_TOKEN=" + w.accounts[who].Token}
	var both bytes.Buffer
	cmd.Stdout, cmd.Stderr = &both, &both
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		w.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), strings.Join(strings.Fields(both.String()), " ")
}

// client decides on the command line.
func (w *fixture) client() {
	says := func(code int, want []string, who string, arg ...string) {
		w.t.Helper()
		got, out := w.writ(who, arg...)
		for _, text := range want {
			if !strings.Contains(out, text) {
				w.t.Errorf("writ %v: no %q in %q", arg, text, out)
			}
		}
		if got != code {
			w.t.Errorf("writ %v: exit %d, want %d: %q", arg, got, code, out)
		}
	}
	deny := w.policy("cli", "deny", harness.Body{"message": "until Monday"})
	run := []string{"run", "--tool", "bash", "--command", "true", "--label", "case=cli", "--queue", parked}
	says(1, []string{`writ: the policy "cli deny" denies the run: until Monday`, "ask who manages policies"}, "oto",
		run...)
	waits := w.Submit(harness.Body{"tool": "bash", "command": "true", "queue": "nobody"}).ID
	says(0, []string{`no executor serves the queue "nobody" start a worker that serves the queue`}, "vic", "runs", waits)
	says(0, nil, "bob", "cancel", waits)
	says(0, []string{"bob canceled the run"}, "vic", "runs", waits)
	says(1, []string{"the run is canceled already a rerun makes a new run"}, "bob", "cancel", waits)
	w.want(204, w.Client, "DELETE", "/v1/policies/"+deny, nil)

	w.policy("cli", "require_approval", harness.Body{"name": "release", "message": "ask first", "approvals_needed": 2,
		"distinct_approver": true})
	w.policy("cli", "require_approval", harness.Body{"name": "cables", "approver_teams": []string{w.ids["network"]}})
	inventory := w.inventory("cli")
	_, out := w.writ("ann", append(run, "--inventory-id", inventory)...)
	warned := regexp.MustCompile(`^writ: warning: No executor serves the queue "parked"\. .* (run_\w+)$`)
	printed := warned.FindStringSubmatch(out)
	if printed == nil {
		w.t.Fatalf("writ run prints %q", out)
	}
	id := printed[1]
	h, _ := w.look(id)
	says(0, []string{h.Digest, "risk " + h.Risk.Level, `the policy "release" holds the run for approval: ask first`,
		"2 administrators, but not ann, approve the run, or one rejects it; 0 of 2 have approved",
		"a member of the team network approves or rejects the run"}, "vic", "runs", id)
	says(1, []string{"you asked for this run", "somebody else decides: "}, "ann", "approve", id)
	says(1, []string{"you may not decide about this run: "}, "oto", "reject", id)
	says(0, []string{"1 of 2 have approved"}, "bob", "approve", id, "--reason", "fine", "--match", h.Digest)
	says(0, []string{"approved bob: fine"}, "vic", "runs", id)

	w.edit(inventory, "cli", "a\n")
	now, _ := w.look(id)
	says(0, []string{"what the run would execute has changed since it was held: hosts, inventory", now.Digest,
		"0 of 2 have approved"}, "vic", "runs", id)
	stale := "what the run would execute has changed since it was held (hosts, inventory)"
	says(1, []string{stale}, "bob", "approve", id)
	says(1, []string{stale}, "bob", "approve", id, "--match", h.Digest)
	says(0, []string{"1 of 2 have approved"}, "bob", "approve", id, "--match", now.Digest)
	says(0, []string{id + " rejected"}, "eve", "reject", id, "--reason", "not now", "--match", now.Digest)
	says(0, []string{"eve rejected the run: not now"}, "vic", "runs", id)
}
