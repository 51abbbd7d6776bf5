package cli

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// TestSurveyOnATerminal launches a template and answers its survey, with a wrong answer first.
func TestSurveyOnATerminal(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	if a := s.Do(http.MethodPost, "/v1/templates", map[string]any{"name": "deploy", "tool": "bash",
		"command": `echo "port $WRIT_VAR_PORT size $WRIT_VAR_SIZE sure $WRIT_VAR_SURE"`, "survey": []map[string]any{
			{"var": "port", "type": "int", "required": true, "min": 1, "max": 1023},
			{"var": "size", "type": "choice", "choices": []string{"small", "large"}, "default": "small"},
			{"var": "sure", "type": "bool", "required": true},
		}}); a.Status != http.StatusCreated {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	u := userOf(t, s)
	p := u.onTerminal(100, "launch", "deploy")
	for _, x := range [][2]string{{"from 1 to 1023", "1024"}, {"That is more than 1023.", "80"}, {"2  large", "2"},
		{"y or n", "y"}} {
		p.shows(p.out, x[0])
		p.types(x[1] + "\n")
	}
	if code := p.end(); code != 0 ||
		!regexp.MustCompile(`port 80 size large sure (true|True)`).MatchString(p.out.String()) {
		t.Errorf("exit %d, %s", code, p.out)
	}
	if code, _, errs := u.do("launch", "deploy", "-a", "port=0"); code != 2 ||
		errs != "writ: the answer port is less than 1\n  the survey requires sure: give it with --answer k=v\n" {
		t.Errorf("without a terminal: exit %d, %q", code, errs)
	}
}

// TestDay fails a run on one host, asks why, relaunches, compares, and proves it with evidence.
func TestDay(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	u := userOf(t, s)
	dir := harness.Shared(t)
	playbook := filepath.Join(dir, "play.yml")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(playbook, "- hosts: all\n  gather_facts: false\n  tasks:\n    - name: odd\n      fail: {msg: no space}\n"+
		"      when: inventory_hostname == 'h1' and bad | bool\n    - debug: {msg: fine}\n")
	write(filepath.Join(dir, "hosts.ini"), "h1\nh2\n[all:vars]\nansible_connection=local\n")
	run := func(want int, args ...string) string {
		t.Helper()
		code, out, errs := u.do(args...)
		if code != want {
			t.Fatalf("%v: exit %d, %s%s", args, code, out, errs)
		}
		return out
	}
	run(0, "run", playbook, "-i", filepath.Join(dir, "hosts.ini"), "-e", "bad=false", "-f", "--change", "CHG-7")
	run(1, "run", playbook, "-i", filepath.Join(dir, "hosts.ini"), "-e", "bad=true", "-f", "--change", "CHG-7")
	first := firstRun(t, s)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"failures", "latest"}, `✗ odd\n  failed on 1 host: h1\n    no space\n`},
		{[]string{"compare", "latest"}, `(?s)changed: extra_vars.*broke +h1 +ok +failed\n\n1 host with the same result`},
		{[]string{"runs", "latest"},
			`(?s)  change     CHG-7\n.*  hosts      1 ok, 1 failed\n.*next  writ failures run_\w+\n`},
		{[]string{"logs", "latest", "--find", "no space"}, `^\d+: .*no space`},
	} {
		if out := run(0, c.args...); !regexp.MustCompile(c.want).MatchString(out) {
			t.Errorf("%v:\n%s", c.args, out)
		}
	}
	if out := run(1, "relaunch", "latest", "-f"); !strings.Contains(out, "✗ run_") ||
		regexp.MustCompile(`\bh2\b`).MatchString(out) {
		t.Errorf("relaunch:\n%s", out)
	}
	if out := run(0, "runs", "latest"); !strings.Contains(out, "relaunch of "+first) {
		t.Errorf("%s", out)
	}
	run(1, "rerun", first, "-f")
	run(1, "retry", first)
	for _, format := range []string{"json", "html"} {
		a := s.Do(http.MethodGet, "/v1/runs/"+first+"/evidence?format="+format, nil)
		if a.Status != http.StatusOK {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		evidence := filepath.Join(dir, "evidence."+format)
		write(evidence, string(a.Body))
		if out := run(3, "audit", "verify", evidence); !strings.Contains(out, "so are the results of its hosts") ||
			!strings.Contains(out, "no receipt covers") {
			t.Errorf("%s: %s", format, out)
		}
		write(evidence, strings.Replace(string(a.Body), `"exit_code":2`, `"exit_code":0`, 1))
		if out := run(1, "audit", "verify", evidence); !strings.Contains(out,
			`run.exit_code is "0" in the document and "2" in the receipt`) {
			t.Errorf("changed %s: %s", format, out)
		}
		write(evidence, strings.Replace(string(a.Body), `"host":"h2"`, `"host":"h3"`, 1))
		if out := run(1, "audit", "verify", evidence); !strings.Contains(out, "hosts: the results of the hosts do not have") {
			t.Errorf("changed hosts of %s: %s", format, out)
		}
	}
	report := filepath.Join(dir, "report.html")
	run(0, "change", "CHG-7", "--html", report)
	if out := run(3, "audit", "verify", report); strings.Count(out, "the receipt is of the run that the report") < 2 {
		t.Errorf("%s", out)
	}
}
