package scheduling_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/scheduling"
)

// masking masks targets, and has one stored target of each kind and address.
type masking struct{}

var _ notify.Targets = masking{}

func (masking) Seal(_ context.Context, list []runs.Notification) (notify.SealedTargets, error) {
	out := notify.SealedTargets{List: slices.Clone(list)}
	for i, n := range list {
		if n.Ref == "" && n.URL+n.Key != "" {
			out.List[i] = n.Masked()
			out.Fresh = append(out.Fresh, notify.SealedTarget{At: i, Ref: "ntg_1"})
		}
	}
	return out, nil
}

func (masking) Save(_ context.Context, t notify.SealedTargets) ([]runs.Notification, error) {
	out := slices.Clone(t.List)
	for _, f := range t.Fresh {
		out[f.At].Ref = f.Ref
	}
	return out, nil
}

func (masking) Same(_ context.Context, input, stored []runs.Notification) (bool, error) {
	masked := func(a, b runs.Notification) bool { return a.Masked() == b.Masked() }
	return slices.EqualFunc(input, stored, masked), nil
}

func (masking) Echoed(_ context.Context, input, stored []runs.Notification) ([]runs.Notification, error) {
	var out []runs.Notification
	for _, n := range input {
		if address, key := notify.IsMask(n); address || key {
			at := slices.IndexFunc(stored, func(s runs.Notification) bool { return s.Kind == n.Kind && s.URL == n.URL })
			if at < 0 {
				return nil, fault.BadField("notifications[0].url", "is a mask")
			}
			n.Ref = stored[at].Ref
		}
		out = append(out, n)
	}
	return out, nil
}

// TestScheduledTargetsAreKept: a schedule of any kind stores masks of its notifications with references, and an update
// with the same masks keeps them.
func TestScheduledTargetsAreKept(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		input := []runs.Notification{{Kind: "slack", URL: "https://hooks.example.com/a", OnFailure: true}}
		held := []runs.Notification{{Kind: "slack", URL: "https://hooks.example.com/***", OnFailure: true, Ref: "ntg_1"}}
		echo := []runs.Notification{{Kind: "slack", URL: "https://hooks.example.com/***", OnFailure: true}}
		for _, c := range []struct {
			name   string
			target func(list []runs.Notification) scheduling.Target
			list   func(scheduling.Target) []runs.Notification
		}{
			{"run", func(list []runs.Notification) scheduling.Target {
				return scheduling.Target{Run: &runs.Submission{Spec: runs.Spec{Tool: "bash", Command: "true", Notifications: list}}}
			}, func(t scheduling.Target) []runs.Notification { return t.Run.Notifications }},
			{"pipeline", func(list []runs.Notification) scheduling.Target {
				return scheduling.Target{Pipeline: &runs.PipelineSubmission{
					Steps: []runs.StepSpec{{Name: "one", Tool: "bash", Command: "true"}}, Notifications: list,
				}}
			}, func(t scheduling.Target) []runs.Notification { return t.Pipeline.Notifications }},
		} {
			x := scheduling.Schedule{Cron: "0 7 * * *", Enabled: true, Target: c.target(input)}
			x.Name = c.name
			made, err := b.Schedules.Create(t.Context(), x)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(held, c.list(made.Target)); d != "" {
				t.Errorf("%s: %s", c.name, d)
			}
			x.Target = c.target(echo)
			now, err := b.Schedules.Update(t.Context(), made.ID, 0, x)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(held, c.list(now.Target)); d != "" {
				t.Errorf("%s: %s", c.name, d)
			}
			x.Name = c.name + " anew"
			if _, err := b.Schedules.Create(t.Context(), x); fields(err) != c.name+".notifications[0].url" {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	})
}

// TestCompareSecrets: Compare returns which secret field an update would change.
func TestCompareSecrets(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		run := func(password, path string) scheduling.Schedule {
			x := scheduling.Schedule{Cron: "0 7 * * *", Enabled: true, Target: scheduling.Target{Run: &runs.Submission{
				Spec: runs.Spec{
					Tool: "bash", Command: "true", Notifications: []runs.Notification{{Kind: "slack", URL: "https://" + path}},
				},
				ExtraVars: runs.Vars{"password": json.RawMessage(password)},
			}}}
			x.Name = "nightly"
			return x
		}
		made, err := b.Schedules.Create(t.Context(), run(`"a"`, "hooks.example.com/a"))
		if err != nil {
			t.Fatal(err)
		}
		for want, x := range map[string][]scheduling.Schedule{
			"":    {run(`"a"`, "hooks.example.com/a"), run(`"a"`, "hooks.example.com/***")},
			"run": {run(`"b"`, "hooks.example.com/a"), run(`"a"`, "other.example.com/a")},
		} {
			for _, x := range x {
				if list, err := b.Schedules.Compare(t.Context(), made.ID, x); strings.Join(list, " ") != want || err != nil {
					t.Errorf("%+v: %q %v", x.Target.Run, list, err)
				}
			}
		}
	})
}
