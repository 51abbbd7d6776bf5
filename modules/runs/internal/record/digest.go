package record

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/writ-automation/writ/ports/runs"
)

// Digest returns the part of a run's digest that its record determines: all but events, hosts and inputs.
func Digest(r *runs.Run) *runs.RunDigest {
	d := &runs.RunDigest{
		ID: r.ID, Kind: r.Kind, Tool: r.Spec.Tool, Status: r.Status, Commit: r.Commit, StartedAt: r.StartedAt,
		EndedAt:  r.EndedAt,
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

// NoLog returns the digest of an empty output.
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

// HostsDigest returns the digest of a host table, which is sorted by host. See runs.RunDigest.
func HostsDigest(table []runs.HostSummary) (string, error) {
	list := make([]any, len(table))
	for i, h := range table {
		list[i] = map[string]any{
			"host": h.Host, "ok": h.OK, "changed": h.Changed, "failed": h.Failed, "unreachable": h.Unreachable,
			"skipped": h.Skipped,
			"rescued": h.Rescued, "ignored": h.Ignored, "worst": string(h.Worst), "duration_ms": h.Duration.Milliseconds(),
		}
	}
	return sum(list)
}

// InputsDigest returns the digest of a run's inputs: its spec in the form of the API, extra_vars and the steps of a
// pipeline. Secrets are redacted before anything is hashed: those that the API redacts, values of the environment
// whose name looks secret, and the addresses and keys of notifications.
// Texts that are hidden later do not change the digest.
func InputsDigest(r *runs.Run) (string, error) {
	submitted := *r
	submitted.Hidden.Later = nil
	r = Redact(&submitted)
	r.Spec.Env = redactEnv(r.Spec.Env)
	targets := make([]runs.Notification, len(r.Spec.Notifications))
	for i, n := range r.Spec.Notifications {
		targets[i] = runs.Notification{Kind: n.Kind, To: n.To, OnFailure: n.OnFailure}
	}
	r.Spec.Notifications = targets
	doc, err := inputs(r)
	if err != nil {
		return "", err
	}
	return sum(doc)
}

// PlanTarget returns the digest of what a plan of a run is about: the settings that choose what the tool works on.
func PlanTarget(r *runs.Run) (string, error) {
	s := &r.Spec
	return InputsDigest(&runs.Run{Vars: r.Vars, Hidden: r.Hidden, Spec: runs.Spec{
		Tool: s.Tool, Playbook: s.Playbook, Command: s.Command, InventoryID: s.InventoryID, Inventory: s.Inventory,
		ProjectID: s.ProjectID, TemplateID: s.TemplateID, Controls: runs.Controls{Limit: s.Limit},
		InventoryQuery: s.InventoryQuery, LimitHosts: s.LimitHosts, Env: s.Env,
	}})
}

// inputs returns the inputs of a redacted run as the members of its record.
func inputs(r *runs.Run) (map[string]any, error) {
	doc := map[string]any{}
	members := map[string]any{"": r.Spec}
	if len(r.Vars) > 0 {
		members["extra_vars"] = r.Vars
	}
	if r.ShardHosts != nil {
		members["shard_hosts"] = r.ShardHosts
	}
	if r.Graph != nil {
		steps := make([]runs.StepSpec, len(r.Graph.Steps))
		for i := range steps {
			steps[i] = r.Graph.Steps[i].StepSpec
		}
		members["steps"] = steps
	}
	for name, v := range members {
		b, err := json.Marshal(v)
		if err == nil {
			v, err = decode(b)
		}
		if err != nil {
			return nil, fmt.Errorf("encode the inputs of a run: %w", err)
		}
		if spec, ok := v.(map[string]any); ok && name == "" {
			maps.Copy(doc, spec)
		} else {
			doc[name] = v
		}
	}
	return doc, nil
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
