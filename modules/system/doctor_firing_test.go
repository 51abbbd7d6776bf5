package system_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	module "github.com/writ-automation/writ/modules/system"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/scheduling"
	"github.com/writ-automation/writ/ports/system"
)

// clockwork holds schedules and triggers with their owners, a launcher and a sealer.
type clockwork struct {
	scheduling.ScheduleStore
	scheduling.TriggerStore
	catalog.Launcher

	schedules []scheduling.Schedule
	triggers  []scheduling.Trigger
	listing   error
	// launch is the result of launching a template, by "<template>/<owner>", or by the template alone.
	launch map[string]error
	open   map[string]error // by record
	read   map[string]error // by the trigger's id
}

type ownerKey struct{}

func (c *clockwork) As(ctx context.Context, userID string) (context.Context, error) {
	switch userID {
	case "usr_gone":
		return nil, fault.Missing("user", userID)
	case "usr_odd":
		return nil, errors.New("odd")
	case "usr_away":
		return nil, &fault.Error{Kind: fault.Unavailable, Message: "away"}
	}
	return context.WithValue(ctx, ownerKey{}, userID), nil
}

func (c *clockwork) ListSchedules(
	_ context.Context, s access.Scope, _ scheduling.Filter, w page.Window,
) ([]scheduling.Schedule, int, error) {
	if c.listing != nil {
		return nil, 0, c.listing
	}
	return slice(s, w, c.schedules)
}

func (c *clockwork) ListTriggers(
	_ context.Context, s access.Scope, _ scheduling.Filter, w page.Window,
) ([]scheduling.Trigger, int, error) {
	if c.listing != nil {
		return nil, 0, c.listing
	}
	return slice(s, w, c.triggers)
}

func (c *clockwork) TriggerByID(_ context.Context, id string) (scheduling.StoredTrigger, error) {
	return scheduling.StoredTrigger{Sealed: []byte("sealed")}, c.read[id]
}

func (c *clockwork) Unattended(ctx context.Context, template string, answers map[string]any) error {
	if template == "asks" && answers["size"] != "large" {
		return fault.BadField("answers.size", "nobody answers it")
	}
	owner, _ := ctx.Value(ownerKey{}).(string)
	if err, ok := c.launch[template+"/"+owner]; ok {
		return err
	}
	return c.launch[template]
}

func (*clockwork) Seal(context.Context, string, []byte) ([]byte, error) {
	return nil, errors.New("a check seals nothing")
}

func (c *clockwork) Open(_ context.Context, record string, sealed []byte) ([]byte, error) {
	if string(sealed) != "sealed" {
		return nil, fmt.Errorf("not what was sealed: %q", sealed)
	}
	return []byte("secret"), c.open[record]
}

func (c *clockwork) ofSchedules(t *testing.T) system.Check {
	t.Helper()
	return module.NewScheduleCheck(module.ScheduleParams{Schedules: c, Owners: c, Launcher: c})
}

func (c *clockwork) ofTriggers(t *testing.T) system.Check {
	t.Helper()
	return module.NewTriggerCheck(module.TriggerParams{Triggers: c, Owners: c, Launcher: c, Sealer: c})
}

func schedule(n int, name, owner, template string) scheduling.Schedule {
	return scheduling.Schedule{
		Record: scheduling.Record{Record: object.Record{ID: id(ids.Schedule, n), Name: name}, Owner: owner}, Enabled: true,
		NextRunAt: noon,
		Target:    scheduling.Target{TemplateID: template},
	}
}

func trigger(n int, name, owner, template string) scheduling.Trigger {
	return scheduling.Trigger{
		Record:           scheduling.Record{Record: object.Record{ID: id(ids.Trigger, n), Name: name}, Owner: owner},
		RequireSignature: true,
		TemplateID:       template,
	}
}

// launches returns the launch results of the templates.
func launches() map[string]error {
	return map[string]error{
		"hidden/usr_ada": fault.Missing("template", "hidden"),
		"unused/usr_ada": runs.UseRequired.New("this takes use of a queue"),
		"taken":          &fault.Error{Kind: fault.Conflict, Message: "taken."},
	}
}

func TestSchedules(t *testing.T) {
	t.Parallel()
	answered := schedule(1, "answered", "usr_ada", "asks")
	answered.Target.Answers = map[string]any{"size": "large"}
	over := schedule(2, "over", "", "fine")
	over.NextRunAt = time.Time{}
	failed := schedule(3, "failed", "", "")
	failed.Target, failed.LastError = scheduling.Target{Run: &runs.Submission{}}, "the queue is full"
	off := schedule(4, "off", "usr_gone", "asks")
	off.Enabled, off.LastError = false, "old"
	c := &clockwork{launch: launches(), schedules: []scheduling.Schedule{
		answered, over, failed, off,
		schedule(5, "plain", "usr_ada", "fine"), schedule(6, "orphan", "usr_gone", "fine"),
		schedule(7, "unanswered", "usr_ada", "asks"),
		schedule(8, "hidden", "usr_ada", "hidden"), schedule(9, "shown", "usr_bob", "hidden"),
		schedule(10, "unused", "usr_ada", "unused"),
		schedule(11, "own", "", "hidden"),
	}}
	const nothing = ": nothing can be launched when it fires: "
	looks(t, c.ofSchedules(t), 11,
		"error schedule hidden"+nothing+`no template "hidden" /v1/schedules/{id}`,
		"error schedule orphan: it fires with the rights of the account usr_gone, which no longer exists /v1/schedules/{id}",
		"error schedule unanswered"+nothing+"answers.size: nobody answers it /v1/schedules/{id}",
		"error schedule unused"+nothing+"this takes use of a queue /v1/schedules/{id}",
		"warning schedule failed: its last slot made no run: the queue is full /v1/schedules/{id}",
		"info schedule over: the schedule is enabled and never fires again /v1/schedules/{id}")
}

func TestTriggers(t *testing.T) {
	t.Parallel()
	open := trigger(2, "unsigned", "", "fine")
	open.RequireSignature = false
	failed := trigger(3, "failed", "usr_ada", "fine")
	failed.LastError = "the queue is full"
	c := &clockwork{
		launch: launches(),
		triggers: []scheduling.Trigger{
			trigger(1, "plain", "usr_ada", "fine"), open, failed, trigger(4, "orphan", "usr_gone", "fine"),
			trigger(5, "unanswered", "usr_ada", "asks"),
			trigger(6, "keyless", "", "fine"), trigger(7, "altered", "", "fine"), trigger(8, "deleted", "", "taken"),
		},
		open: map[string]error{
			id(ids.Trigger, 6): &fault.Error{Kind: fault.Conflict, Code: "key_lost", Message: "the key is gone"},
			id(ids.Trigger, 7): &fault.Error{Kind: fault.Internal, Message: "altered"},
			id(ids.Trigger, 8): errors.New("nobody opens what is gone"),
		},
		read: map[string]error{id(ids.Trigger, 8): fault.Missing("trigger", "trg_8")},
	}
	looks(t, c.ofTriggers(t), 8,
		"error trigger altered: the signing secret of the trigger was altered, or belongs to another object "+
			"/v1/triggers/{id}",
		"error trigger deleted: nothing can be launched when it fires: taken /v1/triggers/{id}",
		"error trigger keyless: the key that sealed the signing secret of the trigger is missing /v1/triggers/{id}",
		"error trigger orphan: it fires with the rights of the account usr_gone, which no longer exists /v1/triggers/{id}",
		"error trigger unanswered: nothing can be launched when it fires: answers.size: nobody answers it /v1/triggers/{id}",
		"warning trigger failed: its last delivery started nothing: the queue is full /v1/triggers/{id}",
		"warning trigger unsigned: the trigger takes deliveries without a signature, so anyone who knows its address can "+
			"fire it /v1/triggers/{id}")
}

// TestFiringThatCannotBeExamined: the checks skip faulty records, and stop if the store fails.
func TestFiringThatCannotBeExamined(t *testing.T) {
	t.Parallel()
	odd, away := errors.New("odd"), &fault.Error{Kind: fault.Unavailable, Message: "away"}
	orphan := schedule(9, "orphan", "usr_gone", "fine")
	lost := trigger(9, "orphan", "usr_gone", "fine")
	for _, test := range []struct {
		name     string
		broken   scheduling.Schedule
		with     clockwork
		goesOn   bool
		triggers bool
	}{
		{"the owner is odd", schedule(1, "a", "usr_odd", "fine"), clockwork{}, true, false},
		{"the owner is away", schedule(1, "a", "usr_away", "fine"), clockwork{}, false, false},
		{"the launcher is odd", schedule(1, "a", "", "x"), clockwork{launch: map[string]error{"x": odd}}, true, false},
		{"the launcher is broken", schedule(1, "a", "", "x"),
			clockwork{launch: map[string]error{"x": &fault.Error{Message: "odd"}}}, true, false},
		{"the launcher is away", schedule(1, "a", "", "x"), clockwork{launch: map[string]error{"x": away}}, false, false},
		{"the trigger is odd", schedule(1, "a", "", "x"), clockwork{read: map[string]error{id(ids.Trigger, 1): odd}},
			true, true},
		{"the trigger is away", schedule(1, "a", "", "x"), clockwork{read: map[string]error{id(ids.Trigger, 1): away}},
			false, true},
		{"the sealer is away", schedule(1, "a", "", "x"), clockwork{open: map[string]error{id(ids.Trigger, 1): away}},
			false, true},
		{"the list is away", schedule(1, "a", "", "x"), clockwork{listing: away}, false, true},
		{"the list is odd", schedule(1, "a", "", "x"), clockwork{listing: odd}, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := &test.with
			c.schedules = []scheduling.Schedule{test.broken, orphan}
			c.triggers = []scheduling.Trigger{trigger(1, "a", "", "fine"), lost}
			check := c.ofSchedules(t)
			if test.triggers {
				check = c.ofTriggers(t)
			}
			got, err := check.Examine(t.Context())
			if err == nil || (len(got.Findings) == 1) != test.goesOn {
				t.Errorf("%+v %v", got, err)
			}
		})
	}
}
