package schedules

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/scheduling"
)

type handlers struct{ Params }

// maxShown bounds the schedules and triggers of a page, and those of the calendar.
const maxShown = 500

// New returns the section.
func New(p Params) shell.Section {
	h := &handlers{Params: p}
	read := identity.Need{Kind: "catalog", Act: "read"}
	return shell.Section{Name: "schedules", Register: func(s *shell.Shell) {
		s.Get("/ui/schedules", read, h.list)
		s.Get("/ui/schedules/{id}", read, h.one)
		s.Post("/ui/schedules/{id}/enabled", read, h.enable)
		s.Post("/ui/schedules/{id}/fire", read, h.fire)
		s.Get("/ui/triggers", read, h.triggers)
		s.Get("/ui/triggers/{id}", read, h.trigger)
	}}
}

// listView is the list of schedules with their calendar.
type listView struct {
	Schedules []scheduling.Schedule
	Total     int
	Calendar  calendar
}

func (h *handlers) list(r *shell.Request) (*shell.Page, error) {
	list, total, err := h.Schedules.List(r.Context(), scheduling.Filter{}, page.Window{Limit: maxShown})
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	v := listView{Schedules: list, Total: total, Calendar: h.calendarOf(list, r.Now, r.Viewer.Zone)}
	return &shell.Page{Title: schedulesText, Nav: shell.Launch, Body: listPage(v)}, nil
}

// oneView is one schedule.
type oneView struct {
	Schedule scheduling.Schedule
	Template string // its name
	Next     []time.Time
	Notes    []string
	Target   string // a JSON document
}

func (h *handlers) one(r *shell.Request) (*shell.Page, error) {
	s, err := h.Schedules.Get(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	v := oneView{Schedule: s}
	if v.Template, err = h.nameOf(r, s.Target.TemplateID); err != nil {
		return nil, err
	}
	if preview, err := h.Planner.Preview(s.Cron, s.Timezone, scheduling.DefaultPreview); err == nil {
		v.Next, v.Notes = preview.Next, preview.Notes
	}
	var shown map[string]any
	if err := r.Get("/v1/schedules/"+s.ID, &shown); err != nil {
		return nil, err
	}
	for _, name := range []string{"run", "pipeline", "answers"} {
		if shown[name] != nil {
			b, _ := json.MarshalIndent(shown[name], "", "  ") // it was JSON
			v.Target = string(b)
			break
		}
	}
	return &shell.Page{Title: s.Name, Nav: shell.Launch, Glyph: "clock", Body: onePage(v)}, nil
}

// enable switches a schedule on or off.
func (h *handlers) enable(r *shell.Request) (*shell.Page, error) {
	form, err := r.Form()
	if err != nil {
		return nil, err
	}
	on := form.Get("enabled") == "true"
	if err := r.Change("/v1/schedules/"+r.PathValue("id"), func(s map[string]any) { s["enabled"] = on }); err != nil {
		return nil, err
	}
	r.Notice(switchedText(on))
	return nil, shell.Redirect("/ui/schedules/" + r.PathValue("id"))
}

// fire starts what the schedule starts, now and as the viewer.
func (h *handlers) fire(r *shell.Request) (*shell.Page, error) {
	s, err := h.Schedules.Get(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	var shown map[string]any
	if err := r.Get("/v1/schedules/"+s.ID, &shown); err != nil {
		return nil, err
	}
	path, body := "", any(nil)
	switch {
	case s.Target.TemplateID != "":
		launch := map[string]any{}
		if shown["answers"] != nil {
			launch["answers"] = shown["answers"]
		}
		if s.Target.DryRun {
			launch["dry_run"] = true
		}
		path, body = "/v1/templates/"+s.Target.TemplateID+"/launch", launch
	case shown["run"] != nil:
		path, body = "/v1/runs", shown["run"]
	case shown["pipeline"] != nil:
		path, body = "/v1/pipelines", shown["pipeline"]
	default:
		return nil, &fault.Error{Kind: fault.Conflict, Message: "the schedule starts nothing"}
	}
	a, err := r.Send(http.MethodPost, path, body, "Idempotency-Key", r.PostFormValue("_key"))
	if err != nil {
		return nil, err
	}
	return nil, shell.Redirect("/ui/runs/" + madeIn(a))
}

func madeIn(a httpapi.Answer) string {
	var run struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(a.Body, &run) // an answer of the API
	return run.ID
}

// triggersView is the list of triggers.
type triggersView struct {
	Triggers []scheduling.Trigger
	Total    int
	Names    map[string]string // of the templates, by id
}

func (h *handlers) triggers(r *shell.Request) (*shell.Page, error) {
	list, total, err := h.Triggers.List(r.Context(), scheduling.Filter{}, page.Window{Limit: maxShown})
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	v := triggersView{Triggers: list, Total: total, Names: map[string]string{}}
	templates, _, err := h.Templates.List(r.Context(), catalog.Filter{}, page.Window{})
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	for i := range templates {
		v.Names[templates[i].ID] = templates[i].Name
	}
	return &shell.Page{Title: triggersText, Nav: shell.Launch, Body: triggersPage(v)}, nil
}

func (h *handlers) trigger(r *shell.Request) (*shell.Page, error) {
	t, err := h.Triggers.Get(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	template, err := h.nameOf(r, t.TemplateID)
	if err != nil {
		return nil, err
	}
	log, _, err := h.Triggers.Deliveries(r.Context(), t.ID, page.Window{Limit: scheduling.DeliveryLog})
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	return &shell.Page{Title: t.Name, Nav: shell.Launch, Body: triggerPage(t, template, log)}, nil
}

// nameOf returns the name of a template, or nothing if the viewer cannot read it or it is gone.
func (h *handlers) nameOf(r *shell.Request, template string) (string, error) {
	if template == "" {
		return "", nil
	}
	t, err := h.Templates.Get(r.Context(), template)
	if fault.Is(err, fault.NotFound) {
		return "", nil
	}
	return t.Name, err //nolint:wrapcheck // a fault
}
