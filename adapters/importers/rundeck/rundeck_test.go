package rundeck_test

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/adapters/importers/rundeck"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/importer"
)

// now is a Friday.
func now() time.Time { return time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC) }

func read(t *testing.T, body []byte) importer.Draft {
	t.Helper()
	d, err := rundeck.New().Read(t.Context(), importer.Export{Body: body, Inventory: "fleet", Now: now()})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func fixture(t *testing.T, name string) []byte {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// object returns the only object of a kind and a name.
func object(t *testing.T, d importer.Draft, kind importer.Kind, name string) importer.Object {
	t.Helper()
	var found []importer.Object
	for _, o := range d.Objects {
		if o.Kind == kind && o.Name == name {
			found = append(found, o)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d objects %s %q in %v", len(found), kind, name, names(d))
	}
	return found[0]
}

func template(t *testing.T, d importer.Draft, name string) (*importer.TemplateSpec, importer.Object) {
	t.Helper()
	o := object(t, d, importer.Template, name)
	return o.Spec.(*importer.TemplateSpec), o
}

func names(d importer.Draft) []string {
	out := make([]string, len(d.Objects))
	for i, o := range d.Objects {
		out[i] = string(o.Kind) + " " + o.Name + " " + string(o.Class)
	}
	return out
}

func warned(o importer.Object, field string) bool {
	return slices.ContainsFunc(o.Warnings, func(w importer.Warning) bool { return w.Field == field })
}

// TestOneModel: XML and YAML are read alike, and so is JSON.
func TestOneModel(t *testing.T) {
	t.Parallel()
	one, two := read(t, fixture(t, "jobs.xml")), read(t, fixture(t, "jobs.yaml"))
	if d := cmp.Diff(one, two); d != "" {
		t.Errorf("XML and YAML differ:\n%s", d)
	}
	json := `{"name": "greet", "sequence": {"commands": [{"exec": "uptime"}]}}`
	if spec, o := template(t, read(t, []byte(json)), "greet"); spec.Command != "uptime" || o.Class != importer.Same {
		t.Errorf("JSON: %+v, %v", spec, o)
	}
}

func TestTemplate(t *testing.T) {
	t.Parallel()
	d := read(t, fixture(t, "jobs.xml"))
	three := 3
	want := &importer.TemplateSpec{
		Tool: "bash", Inventory: "fleet", Timeout: 5400, MaxConcurrent: &three, WhenBusy: "skip",
		Command: "set -- \"${WRIT_VAR_WHO}\"\necho \"hello ${WRIT_VAR_WHO}, $WRIT_VAR_TONE, $1\"\n",
		Notifications: []importer.Notification{
			{Kind: "webhook", URL: "https://hooks.example.com/a?x=1"},
			{Kind: "email", To: "ops@example.com,dev@example.com", OnFailure: true},
		},
		Survey: []importer.Question{
			{Var: "who", Type: "text", Label: "Whom", Required: true, Default: "world", Pattern: "[a-z]+"},
			{Var: "tone", Type: "choice", Choices: []string{"low", "high"}, Default: "low"},
		},
	}
	spec, o := template(t, d, "tools/small/greet")
	if diff := cmp.Diff(want, spec); diff != "" {
		t.Error(diff)
	}
	if o.Ref != "jobs[0]" || o.Class != importer.Adapted {
		t.Errorf("%s %s", o.Ref, o.Class)
	}
	s := object(t, d, importer.Schedule, "tools/small/greet")
	if diff := cmp.Diff(&importer.ScheduleSpec{Cron: "*/15 5 * * 1-5", Timezone: "Europe/Berlin", Overlap: "allow",
		Template: "tools/small/greet"}, s.Spec); diff != "" {
		t.Error(diff)
	}
	if first := time.Date(2026, 11, 30, 4, 0, 0, 0, time.UTC); len(s.Fires) != 5 || !s.Fires[0].Equal(first) {
		t.Errorf("fires %v", s.Fires)
	}
}

// TestWorkflow: steps run in order, a handler after a failure, and references are launched or replaced.
func TestWorkflow(t *testing.T) {
	t.Parallel()
	d := read(t, fixture(t, "chain.yaml"))
	spec, o := template(t, d, "chain")
	type step struct{ name, template, on, after string }
	var got []step
	for _, s := range spec.Steps {
		got = append(got, step{s.Name, s.Template, s.On, strings.Join(s.DependsOn, "|")})
	}
	want := []step{
		{"Build", "", "", ""},
		{"Step 1 error handler", "", "failure", "Build"},
		{"tools/notify", "tools/notify", "", "Build"},
		{"tools/notify / Step 1", "", "", "tools/notify"},
		{"pair / Step 1", "", "", "tools/notify / Step 1"},
		{"pair / Step 2", "", "", "tools/notify / Step 1"},
		{"chain", "", "", "pair / Step 1|pair / Step 2"},
		{"Job absent", "", "", "chain"},
		{"Step 7", "", "", "Job absent"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(step{})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]any{"level": "high"}, spec.Steps[2].Answers); diff != "" {
		t.Error(diff)
	}
	if c := spec.Steps[3].Command; c != "export WRIT_VAR_LEVEL=\"${WRIT_VAR_TARGET}\"\necho \"level ${WRIT_VAR_LEVEL}\"" {
		t.Error(c)
	}
	for _, i := range []int{6, 7, 8} {
		if !strings.HasSuffix(spec.Steps[i].Command, "exit 1\n") {
			t.Errorf("step %d is %q", i, spec.Steps[i].Command)
		}
	}
	for _, field := range []string{"retry", "sequence.commands[4]", "sequence.commands[5]", "sequence.commands[6]",
		"options.password"} {
		if !warned(o, field) {
			t.Errorf("no warning of %s in %v", field, o.Warnings)
		}
	}
	credential := object(t, d, importer.Credential, "keys/chain")
	token := &importer.CredentialSpec{Kind: "token", Settings: map[string]any{"env_name": "RD_OPTION_PASSWORD"}}
	if diff := cmp.Diff(token, credential.Spec); diff != "" || !slices.Contains(spec.Credentials, "keys/chain") ||
		o.Class != importer.NeedsYou {
		t.Error(diff, spec.Credentials, o.Class)
	}
	pair, _ := template(t, d, "pair")
	if len(pair.Steps) != 3 || pair.Steps[0].Name != "Start" || !slices.Equal(pair.Steps[2].DependsOn, []string{"Start"}) {
		t.Errorf("the parallel steps are %v", pair.Steps)
	}
	if slices.Index(names(d), "template tools/notify same") > slices.Index(names(d), "template chain needs_you") {
		t.Errorf("a template is after one that launches it: %v", names(d))
	}
}

// TestKeepGoing: steps go on after a failure, and wait for the handler of the one before.
func TestKeepGoing(t *testing.T) {
	t.Parallel()
	d := read(t, []byte(`[{"name": "j", "sequence": {"keepgoing": true, "commands": [
		{"exec": "a", "errorhandler": {"exec": "b", "keepgoingOnSuccess": true}}, {"exec": "c"}]}},
		{"name": "r", "retry": {"retry": "3", "delay": "5"}, "multipleExecutions": true,
		"sequence": {"commands": [{"exec": "a"}]}}]`))
	spec, _ := template(t, d, "j")
	before := []string{"Step 1", "Step 1 error handler"}
	if last := spec.Steps[2]; last.On != "always" || !slices.Equal(last.DependsOn, before) {
		t.Errorf("%+v", last)
	}
	retried, o := template(t, d, "r")
	if len(retried.Steps) != 1 || retried.Steps[0].Retries != 3 || *retried.MaxConcurrent != 0 ||
		!warned(o, "retry.delay") {
		t.Errorf("%+v", retried)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body string
		code fault.Code
	}{
		"empty":             {"", importer.NothingFound},
		"blank":             {" \n", importer.NothingFound},
		"no jobs in JSON":   {"[]", importer.NothingFound},
		"no jobs in XML":    {"<joblist/>", importer.NothingFound},
		"other XML":         {"<project/>", importer.Malformed},
		"other element":     {"<joblist><node/></joblist>", importer.Malformed},
		"other JSON":        {`{"templates": []}`, importer.Malformed},
		"list of others":    {`[{"a": 1}, 2]`, importer.Malformed},
		"text":              {"hello", importer.Malformed},
		"broken XML":        {"<joblist><job></joblist>", importer.Malformed},
		"broken YAML":       {"- name: [", importer.Malformed},
		"document type":     {"<!DOCTYPE a []><joblist/>", importer.Malformed},
		"empty archive":     {string(archived(t, nil)), importer.NothingFound},
		"archive of others": {string(archived(t, map[string]string{"a/b.txt": "x"})), importer.NothingFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := rundeck.New().Read(t.Context(), importer.Export{Body: []byte(c.body), Now: now()})
			if !c.code.Is(err) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestOneBadJob: what cannot be read is told, and the rest is kept.
func TestOneBadJob(t *testing.T) {
	t.Parallel()
	d := read(t, []byte(`[{"name": "a"}, {"sequence": {"commands": [{"exec": "x"}]}}, 7, {"name": "p", "sequence":
		{"commands": [{"type": "special", "nodeStep": true}]}}, {"name": "off", "sequence": {"commands":
		[{"exec": "x", "enabled": false}]}}, {"name": "b", "sequence": {"commands": [{"exec": "x"}]}}]`))
	want := []string{"job a no_home", "job jobs[1] no_home", "job jobs[2] no_home", "template b same", "job p no_home",
		"job off no_home"}
	if diff := cmp.Diff(want, names(d)); diff != "" {
		t.Error(diff)
	}
	for _, o := range d.Objects {
		if (o.Spec == nil) != (o.Reason != "") {
			t.Errorf("%s: %q", o.Name, o.Reason)
		}
	}
}

// TestDocuments: all documents of a YAML file are read.
func TestDocuments(t *testing.T) {
	t.Parallel()
	d := read(t, []byte("---\n- name: a\n  sequence: {commands: [{exec: x}]}\n"+
		"---\nname: b\nsequence: {commands: [{exec: x}]}\n"))
	if diff := cmp.Diff([]string{"template a same", "template b same"}, names(d)); diff != "" {
		t.Error(diff)
	}
}

func TestArchive(t *testing.T) {
	t.Parallel()
	body := archived(t, map[string]string{
		"META-INF/MANIFEST.MF":                "x",
		"rundeck-shop/jobs/job-1.xml":         string(fixture(t, "jobs.xml")),
		"rundeck-shop/jobs/sub/job-2.yaml":    "- name: two\n  sequence: {commands: [{exec: 'echo ${job.project}'}]}\n",
		"rundeck-shop/jobs/job-3.xml":         "<joblist>",
		"rundeck-shop/executions/e.xml":       "<executions/>",
		"rundeck-shop/webhooks.yaml":          "webhooks: [{name: push, authToken: canary}]",
		"rundeck-shop/calendars.yaml":         "calendars: []",
		"rundeck-shop/files/acls/a.aclpolicy": "by: x",
		"rundeck-shop/files/readme.md":        "hello",
		"rundeck-shop/files/etc/project.properties": "#x\nproject.name=shop\nresources.source.1.type=file\n" +
			"project.password=canary\n",
	})
	d := read(t, body)
	want := []string{
		"access policy a.aclpolicy no_home", "project configuration shop no_home", "job job-3.xml no_home",
		"webhook push no_home", "file rundeck-shop/files no_home", "template tools/small/greet adapted",
		"schedule tools/small/greet same", "template two same",
	}
	if diff := cmp.Diff(want, names(d)); diff != "" {
		t.Error(diff)
	}
	spec, o := template(t, d, "two")
	if spec.Command != `echo "shop"` || o.Ref != "rundeck-shop/jobs/sub/job-2.yaml" {
		t.Errorf("%q from %s", spec.Command, o.Ref)
	}
	loose := read(t, archived(t, map[string]string{"x.yaml": "- name: two\n  sequence: {commands: [{exec: x}]}\n"}))
	if diff := cmp.Diff([]string{"template two same"}, names(loose)); diff != "" {
		t.Error(diff)
	}
}

// archived returns a zip file.
func archived(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range files {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
