package schedules

import (
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/scheduling"
)

// planner fires each expression at the times that the test gives.
type planner map[string][]time.Time

func (p planner) Preview(cron, _ string, count int) (scheduling.Preview, error) {
	return scheduling.Preview{Next: p[cron][:min(count, len(p[cron]))]}, nil
}

func schedule(name, cron string, enabled bool) scheduling.Schedule {
	return scheduling.Schedule{Record: scheduling.Record{Record: object.Record{ID: "sch_" + name, Name: name}}, Cron: cron,
		Enabled: enabled}
}

// TestCalendarCountsByLocalHour counts over a change of the clock in the viewer's zone.
func TestCalendarCountsByLocalHour(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 10, 24, 10, 0, 0, 0, time.UTC) // the clock goes back on the 25th
	at := func(day, hour, minute int) time.Time { return time.Date(2026, 10, day, hour, minute, 0, 0, zone) }
	many := make([]time.Time, 0, scheduling.MaxPreview)
	for i := range scheduling.MaxPreview {
		many = append(many, now.Add(time.Duration(i)*time.Minute))
	}
	h := &handlers{Params: Params{Planner: planner{
		"a": {at(25, 2, 0), at(26, 2, 0)}, "b": {at(26, 2, 30)}, "off": {at(26, 2, 0)},
		"late": {now.AddDate(0, 0, 40)}, "many": many,
	}}}
	c := h.calendarOf([]scheduling.Schedule{schedule("nightly", "a", true), schedule("backup", "b", true),
		schedule("off", "off", false), schedule("late", "late", true), schedule("often", "many", true)}, now, zone)
	if c.Hours[1][2] != 1 || c.Hours[2][2] != 2 {
		t.Errorf("%v %v", c.Hours[1], c.Hours[2])
	}
	if len(c.Cut) != 1 || c.Cut[0] != "often" {
		t.Errorf("cut: %v", c.Cut)
	}
	if c.shade(0) != "h0" || c.shade(c.Most) != "h4" && c.shade(c.Most) != "h3" {
		t.Error(c.shade(c.Most))
	}
}

func TestListEscapesAndSaysWhatWasMissed(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 8, 5, 12, 0, 0, 0, time.UTC)
	s := schedule(`"><script>alert(1)</script>`, "0 2 * * *", true)
	s.LastError = "its template asks for a credential that was deleted"
	h := &handlers{Params: Params{Planner: planner{}}}
	list := []scheduling.Schedule{s}
	v := listView{Schedules: list, Total: 1, Calendar: h.calendarOf(list, now, time.UTC)}
	var b strings.Builder
	if err := listPage(v).Render(shell.WithViewer(t.Context(), shell.Viewer{}, now), &b); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, want := range []string{"1 did not start a run", s.LastError, "No two start within one hour.", "0 2 * * *"} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is missing", want)
		}
	}
	for _, bad := range []string{"<script", " style=", newScheduleText} {
		if strings.Contains(page, bad) {
			t.Errorf("the page for a viewer has %q", bad)
		}
	}
}

// TestTemplateWithoutName shows the id of a template that is gone, and no link to it.
func TestTemplateWithoutName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"": "<code>tpl_1</code>", "Patch & restart": `<a href="/ui/launch/tpl_1">Patch &amp; restart</a>`,
	} {
		var b strings.Builder
		if err := templateLink("tpl_1", name).Render(t.Context(), &b); err != nil || b.String() != want {
			t.Errorf("%q: %s, %v", name, b.String(), err)
		}
	}
}
