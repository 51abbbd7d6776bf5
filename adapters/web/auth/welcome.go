package auth

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
)

const (
	welcomePath = "/ui/welcome"
	// reachForm names the form that reaches hosts. It makes several requests, and is no operation.
	reachForm = "reach-hosts"
	// hiddenWelcome is the preference of an account that has hidden the page.
	hiddenWelcome = "welcome_hidden"
	// recent is how many of the newest runs are searched for one that reached hosts.
	recent = 20
)

// welcomeView says which of the three lines are done.
type welcomeView struct {
	ran, reached, brought bool
	hideable              bool // the install keeps preferences
	hidden                bool
}

func (v welcomeView) done() (n int) {
	for _, ok := range []bool{v.ran, v.reached, v.brought} {
		if ok {
			n++
		}
	}
	return n
}

func (h *handlers) welcome(r *shell.Request) (*shell.Page, error) {
	v, err := h.lines(r.Context())
	if err != nil {
		return nil, err
	}
	prefer, err := r.ReadPreferences()
	if err != nil {
		return nil, err //nolint:wrapcheck // a problem
	}
	v.hideable, v.hidden = r.Viewer.SignedIn(), string(prefer[hiddenWelcome]) == "true"
	return &shell.Page{Title: welcomeTitle, Class: "welcome", Body: welcomePage(v)}, nil
}

// lines reads what is done. A line is ticked by what there is, and not by what was clicked.
func (h *handlers) lines(ctx context.Context) (v welcomeView, err error) {
	all, err := h.Runs.List(ctx, runs.Filter{Limit: recent})
	if err != nil {
		return v, err //nolint:wrapcheck // a fault
	}
	plays, err := h.Runs.List(ctx, runs.Filter{Tool: runs.Ansible, Limit: recent})
	if err != nil {
		return v, err //nolint:wrapcheck // a fault
	}
	_, templates, err := h.Templates.List(ctx, catalog.Filter{}, page.Window{Limit: 1})
	v.ran, v.brought = len(all.Runs) > 0, templates > 0
	for _, run := range plays.Runs {
		v.reached = v.reached || run.Hosts[runs.HostOK]+run.Hosts[runs.HostChanged] > 0
	}
	return v, err //nolint:wrapcheck // a fault
}

func (h *handlers) hide(r *shell.Request) (*shell.Page, error) {
	if err := r.SavePreference(hiddenWelcome, true); err != nil {
		return nil, err //nolint:wrapcheck // a problem
	}
	return nil, shell.Redirect(start)
}

// reach stores a credential and an inventory, and pings the hosts with a run. If a step fails, it is named, and what
// the steps before it made stays, since each has a name that can be found.
func (h *handlers) reach(r *shell.Request) (*shell.Page, error) {
	form, err := r.Form()
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	hosts := strings.ReplaceAll(form.Get("hosts"), "\r\n", "\n")
	if strings.TrimSpace(hosts) == "" {
		return nil, r.Again(reachForm, shell.Invalid("hosts", "names no host"))
	}
	suffix := " " + r.Now.In(r.Viewer.Zone).Format("2006-01-02 15:04:05")
	steps := reaching{r: r}
	credential := steps.make("the credential", "/v1/credentials", credentialOf(form, "First hosts"+suffix))
	inventory := steps.make("the inventory", "/v1/inventories", map[string]any{
		"name": "First hosts" + suffix, "content": hosts + "\n", "credential_ids": []string{credential},
	})
	run := steps.make("the run", "/v1/runs", map[string]any{
		"name": pingName, "tool": runs.Ansible, "playbook": execution.PingPlaybook, "inventory_id": inventory,
	})
	if steps.failed != nil {
		return nil, r.Again(reachForm, steps.failed)
	}
	return nil, shell.Redirect("/ui/runs/" + url.PathEscape(run))
}

func credentialOf(form url.Values, name string) map[string]any {
	kind, member, value := "ssh_key", "private_key", form.Get("key")
	if form.Get("way") == "password" {
		kind, member, value = "ssh_password", "password", form.Get("host_password")
	}
	body := map[string]any{"name": name, "kind": kind,
		"secret": map[string]string{member: strings.ReplaceAll(value, "\r\n", "\n")}}
	if user := strings.TrimSpace(form.Get("login")); user != "" {
		body["settings"] = map[string]string{"username": user}
	}
	return body
}

// reaching makes one object after the other, until one of them fails.
type reaching struct {
	r      *shell.Request
	made   []string
	failed *httpapi.Problem
}

// make creates an object and returns its id.
func (s *reaching) make(step, path string, body map[string]any) string {
	if s.failed != nil {
		return ""
	}
	raw, err := json.Marshal(body)
	if err != nil {
		s.failed = shell.Invalid("hosts", "cannot be sent")
		return ""
	}
	a := s.r.Call(httpapi.Call{Method: http.MethodPost, Path: path, Body: raw})
	var made struct{ ID string }
	if a.OK() && json.Unmarshal(a.Body, &made) == nil {
		s.made = append(s.made, step)
		return made.ID
	}
	s.failed = shell.Problem(a)
	s.failed.Text = createdNote(s.made) + stepFailed("Creating "+step, s.failed.Text)
	for i, e := range s.failed.Errors {
		s.failed.Errors[i].Location = fieldFor(e.Location)
	}
	return ""
}

// fieldFor returns the field of the form for a member of a request.
func fieldFor(member string) string {
	switch {
	case strings.HasPrefix(member, "secret.private_key"), strings.HasPrefix(member, "secret.passphrase"):
		return "key"
	case strings.HasPrefix(member, "secret"):
		return "host_password"
	case strings.HasPrefix(member, "settings"):
		return "login"
	}
	return "hosts"
}
