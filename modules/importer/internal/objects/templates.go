package objects

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/importer"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/scheduling"
)

type templates struct{ port catalog.Templates }

func (k templates) Named(ctx context.Context, names ...string) (map[string][]Stored, error) {
	return named(names, func(some []string, w page.Window) ([]catalog.Template, int, error) {
		return k.port.List(ctx, catalog.Filter{Names: some}, w)
	}, func(t catalog.Template) object.Record { return t.Record }, func(t catalog.Template) (Members, error) {
		// A request repeats a stored target by its masks alone.
		t.Notifications = slices.Clone(t.Notifications)
		for i, n := range t.Notifications {
			t.Notifications[i] = n.Masked()
		}
		return MembersOf(t.TemplateSpec)
	})
}

// Create stores a template. Members that are missing have the defaults of the API.
func (k templates) Create(ctx context.Context, name string, m Members) (string, error) {
	defaults := Members{"max_concurrent": json.Number("1")}
	t, err := templateOf(object.Record{Name: name}, Merged(Stored{Members: defaults}, m))
	if err == nil {
		t, err = k.port.Create(ctx, t)
	}
	return t.ID, err
}

func (k templates) Update(ctx context.Context, s Stored, m Members) error {
	t, err := templateOf(s.Record, m)
	if err == nil {
		_, err = k.port.Update(ctx, s.ID, s.Revision, t)
	}
	return err
}

// Differs decides about the members with secrets, which are masked in what is read.
func (k templates) Differs(ctx context.Context, s Stored, m Members) (changed, known []string, err error) {
	t, err := templateOf(s.Record, m)
	if err == nil {
		changed, err = k.port.Compare(ctx, s.ID, t)
	}
	return changed, []string{"notifications", "extra_vars", "steps"}, err
}

func templateOf(r object.Record, m Members) (catalog.Template, error) {
	t := catalog.Template{Record: r}
	m = maps.Clone(m)
	command := takeCommand(m)
	steps, _ := m["steps"].([]any)
	steps = slices.Clone(steps)
	commands := make([]string, len(steps))
	for i := range steps {
		if step, ok := steps[i].(map[string]any); ok {
			step = maps.Clone(step)
			commands[i], steps[i] = takeCommand(step), step
		}
	}
	if len(steps) > 0 {
		m["steps"] = steps
	}
	if err := into(m, &t.TemplateSpec); err != nil {
		return t, err
	}
	t.Command = command
	for i := range t.Steps {
		t.Steps[i].Command = commands[i]
	}
	return t, nil
}

// takeCommand removes the command of a template or a step and returns it. Most of an export are commands, and JSON
// would read and write all of their characters.
func takeCommand(m map[string]any) string {
	command, ok := m["command"].(string)
	if ok {
		delete(m, "command")
	}
	return command
}

// TemplateMembers returns the members of a template. Its commands take no way through JSON.
func TemplateMembers(spec importer.TemplateSpec) (Members, error) {
	whole := spec
	spec.Command, spec.Steps = "", slices.Clone(spec.Steps)
	for i := range spec.Steps {
		spec.Steps[i].Command = ""
	}
	m, err := MembersOf(spec)
	if err != nil {
		return nil, err
	}
	put := func(m map[string]any, command string) {
		if command != "" {
			m["command"] = strings.ToValidUTF8(command, "\ufffd")
		}
	}
	put(m, whole.Command)
	steps, _ := m["steps"].([]any)
	for i, step := range steps {
		if step, ok := step.(map[string]any); ok {
			put(step, whole.Steps[i].Command)
		}
	}
	return m, nil
}

type schedules struct{ port scheduling.Schedules }

// schedule has the members of a schedule that imports set.
type schedule struct {
	Cron       string             `json:"cron"`
	Timezone   string             `json:"timezone"`
	Enabled    bool               `json:"enabled"`
	Overlap    scheduling.Overlap `json:"overlap"`
	TemplateID string             `json:"template_id"`
	Answers    map[string]any     `json:"answers"`
}

func (k schedules) Named(ctx context.Context, names ...string) (map[string][]Stored, error) {
	return named(names, func(some []string, w page.Window) ([]scheduling.Schedule, int, error) {
		return k.port.List(ctx, scheduling.Filter{Names: some}, w)
	}, func(s scheduling.Schedule) object.Record { return s.Record.Record },
		func(s scheduling.Schedule) (Members, error) {
			return MembersOf(schedule{
				s.Cron, s.Timezone, s.Enabled, s.Overlap, s.Target.TemplateID, s.Target.Answers,
			})
		})
}

func (k schedules) Create(ctx context.Context, name string, m Members) (string, error) {
	var v schedule
	if err := into(m, &v); err != nil {
		return "", err
	}
	s, err := k.port.Create(ctx, v.onto(scheduling.Schedule{Record: scheduling.Record{
		Record: object.Record{Name: name},
	}}))
	return s.ID, err
}

func (k schedules) Update(ctx context.Context, s Stored, m Members) error {
	v, err := k.merged(ctx, s, m)
	if err == nil {
		_, err = k.port.Update(ctx, s.ID, s.Revision, v)
	}
	return err
}

// Differs decides about the answers, which are masked in what is read.
func (k schedules) Differs(ctx context.Context, s Stored, m Members) (changed, known []string, err error) {
	v, err := k.merged(ctx, s, m)
	if err == nil {
		changed, err = k.port.Compare(ctx, s.ID, v)
	}
	return changed, []string{"answers"}, err
}

func (k schedules) merged(ctx context.Context, s Stored, m Members) (scheduling.Schedule, error) {
	var v schedule
	if err := into(m, &v); err != nil {
		return scheduling.Schedule{}, err
	}
	stored, err := k.port.Get(ctx, s.ID)
	return v.onto(stored), err
}

func (v schedule) onto(s scheduling.Schedule) scheduling.Schedule {
	s.Cron, s.Timezone, s.Enabled, s.Overlap = v.Cron, v.Timezone, v.Enabled, v.Overlap
	s.Target.TemplateID, s.Target.Answers = v.TemplateID, v.Answers
	return s
}
