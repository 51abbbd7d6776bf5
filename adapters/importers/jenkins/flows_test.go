package jenkins_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/importer"
)

func downstream(jobs, threshold string) string {
	return "<publishers><hudson.tasks.BuildTrigger><childProjects>" + jobs + "</childProjects><threshold><name>" +
		threshold +
		"</name></threshold></hudson.tasks.BuildTrigger></publishers>"
}

// jobs reads a zip of jobs by name.
func jobs(t *testing.T, all map[string]string) importer.Draft {
	t.Helper()
	files := map[string]string{}
	for name, body := range all {
		files["jobs/"+strings.ReplaceAll(name, "/", "/jobs/")+"/config.xml"] = "<project>" + body + "</project>"
	}
	d, err := read(t, importer.Export{Body: pack(t, files)})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func steps(o importer.Object) string {
	var out []string
	for _, s := range o.Spec.(*importer.TemplateSpec).Steps {
		what := s.Template
		if what == "" {
			what = s.Tool + "!"
		}
		out = append(out, fmt.Sprintf("%s=%s%v%s", s.Name, what, s.DependsOn, s.On))
	}
	return strings.Join(out, ", ")
}

func TestJobsThatStartOthers(t *testing.T) {
	build := shell("make")
	d := jobs(t, map[string]string{
		"a": build + downstream("b, f/c, gone", "SUCCESS"),
		"b": build + downstream("always", "FAILURE"),
		"f/c": build + "<publishers><x.BuildTrigger><configs><y><projects>../undo</projects><condition>FAILED" +
			"</condition></y><y><projects>d" +
			"</projects><condition>UNSTABLE_OR_BETTER</condition></y></configs></x.BuildTrigger></publishers>",
		"f/d": build, "undo": build, "always": build, "alone": build,
		"late": build + "<triggers><x.ReverseBuildTrigger><upstreamProjects>b, nowhere</upstreamProjects><threshold>" +
			"<name>SUCCESS" +
			"</name></threshold></x.ReverseBuildTrigger></triggers>",
	})
	o := find(t, d, importer.Template, "a and the jobs after it")
	want := "a=a[], b=b[a]success, f/c=f/c[a]success, always=always[b]always, late=late[b]success, " +
		"undo=undo[f/c]failure, " +
		"f/d=f/d[f/c]success"
	if got := steps(o); got != want {
		t.Errorf("steps %s", got)
	}
	wants(t, o, importer.Adapted, "unstable results")
	wants(t, find(t, d, importer.Template, "a"), importer.NeedsYou, "gone", "starts no other job")
	wants(t, find(t, d, importer.Template, "late"), importer.NeedsYou, "nowhere")
	wants(t, find(t, d, importer.Template, "alone"), importer.Same)
	if n := len(d.Objects); n != 9 {
		t.Errorf("%d objects", n)
	}
}

func TestTimersStartTheJobsAfter(t *testing.T) {
	d := jobs(t, map[string]string{
		"a": shell("x") + downstream("b", "SUCCESS"),
		"b": shell("y") + downstream("c", "SUCCESS") + "<triggers><x.TimerTrigger><spec>0 1 * * *</spec>" +
			"</x.TimerTrigger></triggers>",
		"c": shell("z"),
	})
	if s := find(t, d, importer.Schedule, "b").Spec.(*importer.ScheduleSpec); s.Template != "b and the jobs after it" {
		t.Errorf("the schedule is %+v", s)
	}
	if got := steps(find(t, d, importer.Template, "b and the jobs after it")); got != "b=b[], c=c[b]success" {
		t.Errorf("steps %s", got)
	}
	if got := steps(find(t, d, importer.Template, "a and the jobs after it")); got != "a=a[], b=b[a]success, "+
		"c=c[b]success" {
		t.Errorf("steps %s", got)
	}
}

// A step launches no workflow, so the steps of a job with several are those of the workflow of its chain.
func TestChainsOfWorkflows(t *testing.T) {
	two := "<builders><x.Shell><command>a</command></x.Shell><x.Shell><command>b</command></x.Shell></builders>"
	ask := parameters(parameter("String", "V", "<defaultValue>1</defaultValue>"))
	d := jobs(t, map[string]string{
		"a": ask + shell("x") + downstream("b", "SUCCESS"), "b": ask + two + downstream("c", "FAILURE"), "c": shell("z"),
	})
	o := find(t, d, importer.Template, "a and the jobs after it")
	if got := steps(o); got != "a=bash![], b: Shell=bash![a]success, b: Shell 2=bash![b: Shell], c=c[b: Shell b: "+
		"Shell 2]always" {
		t.Errorf("steps %s", got)
	}
	s := o.Spec.(*importer.TemplateSpec)
	if len(s.Survey) != 1 || s.Steps[0].ExtraVars != nil || fmt.Sprint(s.Steps[1].ExtraVars) != "map[V:1]" {
		t.Errorf("the workflow is %s", asJSON(s))
	}
}

func TestCirclesAndJoins(t *testing.T) {
	d := jobs(t, map[string]string{
		"a": shell("x") + downstream("b,c", "SUCCESS"), "b": shell("x") + downstream("d", "SUCCESS"),
		"c": shell("x") + downstream("d,e", "SUCCESS"), "d": shell("x") + downstream("b", "SUCCESS") +
			"<triggers/>", "e": shell("x") + downstream("d", "FAILURE"),
	})
	o := find(t, d, importer.Template, "a and the jobs after it")
	wants(t, o, importer.NeedsYou, "starts once", "start of b after d is left out", "start of d after e is left out")
	if got := steps(o); got != "a=a[], b=b[a]success, c=c[a]success, d=d[b c]success, e=e[c]success" {
		t.Errorf("steps %s", got)
	}
	d = jobs(t, map[string]string{"a": shell("x") + downstream("a", "SUCCESS")})
	if len(d.Objects) != 1 {
		t.Errorf("a job that starts itself: %s", asJSON(d))
	}
}

func TestPhases(t *testing.T) {
	phase := func(condition string, names ...string) string {
		s := "<x.MultiJobBuilder><phaseName>p</phaseName><phaseJobs>"
		for _, n := range names {
			s += "<x.PhaseJobsConfig><jobName>" + n + "</jobName><killPhaseOnJobResultCondition>FAILURE" +
				"</killPhaseOnJobResultCondition></x.PhaseJobsConfig>"
		}
		return s + "</phaseJobs><continuationCondition>" + condition + "</continuationCondition></x.MultiJobBuilder>"
	}
	files := map[string]string{"jobs/m/config.xml": "<com.x.MultiJobProject><builders>" + phase("SUCCESSFUL", "a", "b") +
		phase("ALWAYS", "gone") + phase("SUCCESSFUL", "two") + "</builders></com.x.MultiJobProject>"}
	for _, n := range []string{"a", "b"} {
		files["jobs/"+n+"/config.xml"] = "<project>" + shell(n) + "</project>"
	}
	files["jobs/two/config.xml"] = "<project><builders><x.Shell/><x.Shell/></builders></project>"
	d, err := read(t, importer.Export{Body: pack(t, files)})
	if err != nil {
		t.Fatal(err)
	}
	o := find(t, d, importer.Template, "m")
	wants(t, o, importer.NeedsYou, "job gone", "after success alone", "a step starts no workflow")
	want := "Start=bash![], a=a[Start], b=b[Start], gone=bash![a b], two=bash![gone]"
	if got := steps(o); got != want {
		t.Errorf("steps %s", got)
	}
}

// An export in which every job starts every other one is read in bounded work.
func TestManyEdges(t *testing.T) {
	all := map[string]string{}
	var names []string
	for i := range 150 {
		names = append(names, fmt.Sprintf("j%d", i))
	}
	list := strings.Join(names, ",")
	for i, n := range names {
		timers := "<triggers><x.TimerTrigger><spec>0 1 * * *</spec></x.TimerTrigger></triggers>"
		all[n] = shell("x") + downstream(list, []string{"SUCCESS", "FAILURE"}[i%2]) + timers
	}
	start := time.Now()
	d := jobs(t, all)
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
	if !slices.ContainsFunc(d.Objects, func(o importer.Object) bool { return warned(o, "", "workflow is too large") }) {
		t.Error("nothing was left out")
	}
}
