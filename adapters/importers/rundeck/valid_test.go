package rundeck_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/importer"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/reserved"
	"github.com/writ-automation/writ/ports/runs"
)

// valid checks what every draft has to be: names and classes, and templates in a form that the server accepts. It can
// have bash read the scripts.
func valid(t *testing.T, d importer.Draft, scripts bool) {
	t.Helper()
	seen := map[string]bool{}
	for _, o := range d.Objects {
		key := string(o.Kind) + " " + o.Name
		if o.Spec != nil && seen[key] || o.Name == "" || !utf8.ValidString(o.Name) || utf8.RuneCountInString(o.Name) > 200 {
			t.Errorf("the name %q", key)
		}
		seen[key] = seen[key] || o.Spec != nil
		if !slices.Contains(importer.Classes(), o.Class) || (o.Class == importer.NoHome) != (o.Spec == nil) {
			t.Errorf("%s has the class %s", key, o.Class)
		}
		if (o.Reason == "") != (o.Spec != nil) || o.Class == importer.Same && len(o.Warnings) > 0 {
			t.Errorf("%s: the reason %q, %v", key, o.Reason, o.Warnings)
		}
		for _, w := range o.Warnings {
			if w.Object != o.Name || w.Field == "" || w.Message == "" {
				t.Errorf("%s: %+v", key, w)
			}
		}
		switch spec := o.Spec.(type) {
		case nil, *importer.CredentialSpec:
		case *importer.TemplateSpec:
			validTemplate(t, key, spec, scripts)
		case *importer.ScheduleSpec:
			if len(strings.Fields(spec.Cron)) != 5 || !seen["template "+spec.Template] || len(o.Fires) > importer.MaxFires {
				t.Errorf("%s: %+v", key, spec)
			}
		default:
			t.Errorf("%s has a %T", key, spec)
		}
	}
}

func validTemplate(t *testing.T, key string, spec *importer.TemplateSpec, scripts bool) {
	t.Helper()
	for _, n := range spec.Notifications {
		if bad := notify.Check(runs.Notification{Kind: n.Kind, URL: n.URL, To: n.To}); len(bad) > 0 {
			t.Errorf("%s: notification %v", key, bad)
		}
	}
	vars := map[string]bool{}
	for _, q := range spec.Survey {
		if vars[q.Var] || reserved.Variable(q.Var) || (q.Type == "choice") != (len(q.Choices) > 0) {
			t.Errorf("%s: question %+v", key, q)
		}
		vars[q.Var] = true
	}
	executed := []importer.Step{{Name: "x", Tool: spec.Tool, Command: spec.Command, Playbook: spec.Playbook,
		Limit: spec.Limit}}
	if len(spec.Steps) > 0 {
		if spec.Tool != "" || spec.Command != "" || spec.Playbook != "" || spec.Limit != "" || spec.Forks != 0 {
			t.Errorf("%s: a workflow has %+v", key, spec)
		}
		executed = spec.Steps
	}
	before := map[string]bool{}
	for _, s := range executed {
		if before[s.Name] || s.Name == "" || utf8.RuneCountInString(s.Name) > 200 {
			t.Errorf("%s: the step %q", key, s.Name)
		}
		for _, name := range s.DependsOn {
			if !before[name] {
				t.Errorf("%s: %q depends on %q", key, s.Name, name)
			}
		}
		before[s.Name] = true
		if s.On == "failure" && len(s.DependsOn) == 0 || runs.LimitNamesFile(s.Limit) || strings.HasPrefix(s.Limit, "-") {
			t.Errorf("%s: %+v", key, s)
		}
		if (s.Template == "") == (s.Tool == "") || s.Tool == "ansible" && s.Playbook == "" ||
			s.Tool != "" && s.Tool != "ansible" && strings.TrimSpace(s.Command) == "" {
			t.Errorf("%s: the step %q executes nothing", key, s.Name)
		}
		if scripts && s.Tool == "bash" {
			c := exec.CommandContext(t.Context(), "bash", "-n")
			c.Stdin = strings.NewReader(s.Command)
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("%s: %s\n%s", key, out, s.Command)
			}
		}
	}
}
