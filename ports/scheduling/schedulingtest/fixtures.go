package schedulingtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/scheduling"
)

// env holds the stores of a case and creates records for them.
type env struct {
	Stores
	n atomic.Int64
}

// epoch is the creation time of a case's records.
var epoch = time.Date(2025, 3, 4, 5, 6, 7, 891011000, time.UTC)

// gone is a lease that ended before it began: it expires without waiting.
const (
	gone      = -time.Minute
	leaseTime = time.Hour
)

// hard is a text that is easily corrupted by escaping.
const hard = "Größe 'quoted' \"twice\" ? $1 \\ %s 京 \U0001F642"

// do runs fn in a unit of work and returns its error.
func (e *env) do(t *testing.T, fn func(ctx context.Context) error) error {
	t.Helper()
	return e.Unit.Do(t.Context(), fn)
}

// must runs fn in a unit of work and fails the test on an error.
func (e *env) must(t *testing.T, fn func(ctx context.Context) error) {
	t.Helper()
	if err := e.do(t, fn); err != nil {
		t.Fatalf("unit of work: %v", err)
	}
}

// schedule returns an enabled schedule that was due a year ago.
func (e *env) schedule(edit ...func(*scheduling.Schedule)) scheduling.Schedule {
	n := e.n.Add(1)
	s := scheduling.Schedule{
		Record: scheduling.Record{Record: object.Record{ID: fmt.Sprintf("sch_%026d", n),
			Name: fmt.Sprintf("schedule %03d", n), CreatedBy: "usr_1",
			CreatedAt: epoch, UpdatedAt: epoch, Revision: 1}, Owner: "usr_1"},
		Cron: "* * * * *", Enabled: true, Overlap: scheduling.OverlapSkip, Target: scheduling.Target{TemplateID: "tpl_1"},
		NextRunAt: epoch.Truncate(time.Second),
	}
	for _, fn := range edit {
		fn(&s)
	}
	return s
}

// add stores a schedule.
func (e *env) add(t *testing.T, edit ...func(*scheduling.Schedule)) scheduling.Schedule {
	t.Helper()
	s := e.schedule(edit...)
	e.must(t, func(ctx context.Context) error { return e.Schedules.InsertSchedule(ctx, s) })
	return s
}

// get reads an existing schedule.
func (e *env) get(t *testing.T, id string) scheduling.Schedule {
	t.Helper()
	s, err := e.Schedules.ScheduleByID(t.Context(), id)
	if err != nil {
		t.Fatalf("read %s: %v", id, err)
	}
	return s
}

func (e *env) list(t *testing.T, scope access.Scope, f scheduling.Filter, w page.Window) (found []string, total int) {
	t.Helper()
	list, total, err := e.Schedules.ListSchedules(t.Context(), scope, f, w)
	if err != nil {
		t.Fatalf("list schedules: %v", err)
	}
	found = []string{}
	for _, s := range list {
		found = append(found, s.Name)
	}
	return found, total
}

// trigger returns a new trigger.
func (e *env) trigger(edit ...func(*scheduling.StoredTrigger)) scheduling.StoredTrigger {
	n := e.n.Add(1)
	t := scheduling.StoredTrigger{
		Trigger: scheduling.Trigger{
			Record: scheduling.Record{Record: object.Record{ID: fmt.Sprintf("trg_%026d", n),
				Name: fmt.Sprintf("trigger %03d", n), CreatedBy: "usr_1",
				CreatedAt: epoch, UpdatedAt: epoch, Revision: 1}, Owner: "usr_1"},
			TemplateID: "tpl_1", RequireSignature: true,
		},
		TokenHash: [32]byte{byte(n), 0, 255, '\'', '?'}, Sealed: []byte{0, 255, '\'', '?', '\\'},
	}
	for _, fn := range edit {
		fn(&t)
	}
	return t
}

// hook stores a trigger.
func (e *env) hook(t *testing.T, edit ...func(*scheduling.StoredTrigger)) scheduling.StoredTrigger {
	t.Helper()
	made := e.trigger(edit...)
	e.must(t, func(ctx context.Context) error { return e.Triggers.InsertTrigger(ctx, made) })
	return made
}

func (e *env) stored(t *testing.T, id string) scheduling.StoredTrigger {
	t.Helper()
	got, err := e.Triggers.TriggerByID(t.Context(), id)
	if err != nil {
		t.Fatalf("read %s: %v", id, err)
	}
	return got
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// run returns a target with values of every type.
func run() scheduling.Target {
	return scheduling.Target{Run: &runs.Submission{
		Spec: runs.Spec{
			Tool: "ansible", Playbook: "site.yml", InventoryID: "inv_1", ProjectID: "prj_1", Queue: "gpu", Shards: 3,
			Priority: -4,
			Controls: runs.Controls{Limit: "web:&'eu'", Tags: []string{"a", "b"}, Forks: 5, DiffMode: true},
			Env:      map[string]string{"A": hard}, CredentialIDs: []string{"crd_2", "crd_1"}, DryRun: true,
			RequireApproval: true, FailOn: []string{"warnings"},
			Notifications: []runs.Notification{{Kind: "webhook", URL: "https://example.org/?a=b&c=<d>", OnFailure: true}},
		},
		Name: hard, Labels: map[string]string{"a": hard}, Change: "CHG-1",
		ExtraVars: runs.Vars{"big": raw("123456789012345678901234567890"), "text": raw(`"<&>\u0000 ä"`),
			"deep": raw(`{"a":[1.10,null,{"b":1e400}]}`)},
	}}
}

func pipeline() scheduling.Target {
	return scheduling.Target{RequireApproval: true, DryRun: true, Pipeline: &runs.PipelineSubmission{
		Name: "release", InventoryID: "inv_1", ProjectID: "prj_1", Queue: "gpu", CredentialIDs: []string{"crd_1"},
		ExtraVars: runs.Vars{"n": raw("0.10")}, TimeoutSeconds: 60, FailOn: []string{"no_hosts"},
		Steps: []runs.StepSpec{
			{Name: "build", Tool: "bash", Command: "make", Retries: 2, CredentialIDs: []string{"crd_2"}, FailOn: []string{},
				RequireApproval: true},
			{Name: "ship", Playbook: "ship.yml", DependsOn: []string{"build"}, InventoryID: "inv_2", Queue: "edge",
				ExtraVars: runs.Vars{"x": raw("[]")}},
		},
	}}
}

func answers() scheduling.Target {
	return scheduling.Target{TemplateID: "tpl_2", Answers: map[string]any{
		"n": json.Number("9007199254740993"), "text": hard, "flag": true, "none": nil, "nul": "a\x00b",
	}}
}

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	// Equal values need no diff, which takes long for large values.
	if reflect.DeepEqual(want, got) {
		return
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func refused(t *testing.T, what string, err error, want fault.Code) {
	t.Helper()
	if !want.Is(err) || !fault.Is(err, want.Kind) {
		t.Errorf("%s: %v, want %s", what, err, want.Name)
	}
}

// field returns the field in the detail of a fault.
func field(err error) string {
	var f *fault.Error
	if errors.As(err, &f) && len(f.Fields) > 0 {
		return f.Fields[0].Location
	}
	return ""
}

// update changes a schedule at any revision.
func (e *env) update(t *testing.T, s scheduling.Schedule) {
	t.Helper()
	e.must(t, func(ctx context.Context) error {
		_, err := e.Schedules.UpdateSchedule(ctx, s, 0)
		return err
	})
}
