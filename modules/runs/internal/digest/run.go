package digest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/writ-automation/writ/modules/runs/internal/view"
	"github.com/writ-automation/writ/ports/runs"
)

// Of returns the digest of what a record tells by itself: all but its events, its hosts and its inputs.
func Of(r *runs.Run) *runs.RunDigest {
	d := &runs.RunDigest{
		ID: r.ID, Kind: r.Kind, Tool: r.Spec.Tool, Status: r.Status, Commit: r.Commit, StartedAt: r.StartedAt, EndedAt: r.EndedAt,
		ExitCode: r.ExitCode, Inventory: inventory(&r.Spec),
	}
	if v := r.Decision; v != nil && v.Verdict == runs.Approved && v.By.ID != "" {
		d.Approvers = []string{v.By.ID}
	}
	if !r.Kind.Parent() {
		d.Log = &runs.LogDigest{Bytes: r.LogBytes, Omitted: r.LogOmitted, SHA256: r.LogSHA256}
		if r.LogBytes == 0 {
			d.Log.SHA256 = NoLog()
		}
	}
	return d
}

// NoLog is the digest of no output.
func NoLog() string {
	sum := sha256.Sum256(nil)
	return hex.EncodeToString(sum[:])
}

func inventory(s *runs.Spec) string {
	switch {
	case s.InventoryID != "":
		return ofBytes([]byte(s.InventoryID))
	case s.Inventory != "":
		return ofBytes([]byte(s.Inventory))
	default:
		return ""
	}
}

// Hosts returns the digest of a host table, which is sorted by host. See runs.RunDigest.
func Hosts(table []runs.HostSummary) (string, error) {
	list := make([]any, len(table))
	for i, h := range table {
		list[i] = map[string]any{
			"host": h.Host, "ok": h.OK, "changed": h.Changed, "failed": h.Failed, "unreachable": h.Unreachable, "skipped": h.Skipped,
			"rescued": h.Rescued, "ignored": h.Ignored, "worst": string(h.Worst), "duration_ms": h.Duration.Milliseconds(),
		}
	}
	return Sum(list)
}

// Inputs returns the digest of what a run was asked to do: its spec as the API spells it, extra_vars and the steps of
// a pipeline. Secrets are redacted before anything is hashed: those that the API redacts, values of the environment
// whose name looks secret, and the addresses and keys of notifications.
func Inputs(r *runs.Run) (string, error) {
	redacted := view.Show(r)
	spec := redacted.Spec
	spec.Env = redactEnv(spec.Env)
	spec.Notifications = nil
	for _, n := range redacted.Spec.Notifications {
		spec.Notifications = append(spec.Notifications, runs.Notification{Kind: n.Kind, To: n.To, OnFailure: n.OnFailure})
	}
	doc, err := object(spec)
	if err != nil {
		return "", err
	}
	if len(redacted.Vars) > 0 {
		if doc["extra_vars"], err = generic(redacted.Vars); err != nil {
			return "", err
		}
	}
	if redacted.ShardHosts != nil {
		if doc["shard_hosts"], err = generic(redacted.ShardHosts); err != nil {
			return "", err
		}
	}
	if redacted.Graph != nil {
		steps := make([]runs.StepSpec, len(redacted.Graph.Steps))
		for i := range redacted.Graph.Steps {
			steps[i] = redacted.Graph.Steps[i].StepSpec
		}
		if doc["steps"], err = generic(steps); err != nil {
			return "", err
		}
	}
	return Sum(doc)
}

func redactEnv(env map[string]string) map[string]string {
	out := make(map[string]string, len(env))
	for k, v := range env {
		if runs.LooksSecret(k) {
			v = runs.Redacted
		}
		out[k] = v
	}
	return out
}

func generic(v any) (any, error) {
	b, err := json.Marshal(v)
	if err == nil {
		v, err = decode(b)
	}
	if err != nil {
		return nil, fmt.Errorf("digest the inputs: %w", err)
	}
	return v, nil
}

func object(v any) (map[string]any, error) {
	g, err := generic(v)
	if err != nil {
		return nil, err
	}
	m, ok := g.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("digest the inputs: %T is no object", v)
	}
	return m, nil
}
