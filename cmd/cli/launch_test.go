package cli

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func surveyed() obj {
	return obj{"name": "deploy", "playbook": "x.yml", "survey": []any{
		obj{"var": "count", "type": "int", "required": true, "label": "How many?", "help": "Of them all."},
		obj{"var": "version", "type": "text", "required": true},
		obj{"var": "sure", "type": "bool", "required": true, "default": true},
		obj{"var": "size", "type": "choice", "choices": []any{"small", "2", "large"}},
		obj{"var": "notes", "type": "multiline"},
	}}
}

func TestLaunch(t *testing.T) {
	t.Parallel()
	s := newCatalogServer(t)
	id := s.put("templates", surveyed())
	s.put("templates", obj{"name": "deploy2", "playbook": "y.yml"})
	web := s.put("inventories", obj{"name": "web", "format": "ini"})
	key := s.put("credentials", obj{"name": "deploy key"})
	file := tree(t, map[string]string{"a.yaml": "version: 007\ncount: 1\nnotes: |\n  one\n  two\nsure:\n"}) + "/a.yaml"
	out := s.mustWrit(t, "launch", "deploy", "--answers-file", file, "--answer", "count=9007199254740992", "-a",
		"sure=false", "-e", "x=1", "-e", "y:=2", "--credential", "deploy key",
		"--limit", "", "--inventory", "web", "--tags", "a,b", "--dry-run=false", "--forks", "0", "-vv", "--diff",
		"--label", "a=b", "--change", "c", "--idempotency-key", "k1")
	if out != "run_1\n" {
		t.Errorf("%q", out)
	}
	raw, err := json.Marshal(s.bodies[0])
	want := `{"answers":{"count":9007199254740992,"notes":"one\ntwo\n","sure":false,"version":"007"},"change":"c","credential_ids":["` + key + `"],"diff_mode":true,"dry_run":false,` +
		`"extra_vars":{"x":"1","y":2},"forks":0,"inventory_id":"` + web +
		`","labels":{"a":"b"},"limit":"","tags":["a","b"],"verbosity":2}`
	if diff := cmp.Diff(want, string(raw)); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if out := s.mustWrit(t, "launch", id, "-a", "count=1", "-a", "version=1.10", "--json"); !json.Valid([]byte(out)) {
		t.Errorf("%q", out)
	}
	if raw, _ := json.Marshal(s.bodies[1]); string(raw) != `{"answers":{"count":1,"version":"1.10"}}` {
		t.Errorf("sent %s", raw)
	}
	if diff := cmp.Diff([]string{"launch " + id + " k1", "launch " + id + " "}, s.changed()); diff != "" {
		t.Error(diff)
	}
}

func TestLaunchRefuses(t *testing.T) {
	t.Parallel()
	s := newCatalogServer(t)
	id := s.put("templates", surveyed())
	s.put("inventories", obj{"name": "web"})
	s.put("credentials", obj{"name": "deploy-key"})
	org := s.put("orgs", obj{"name": "retail"})
	a, b := s.put("templates", obj{"name": "twice"}), s.put("templates", obj{"name": "twice", "org_id": org})
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"deploy"}, exitUsage, "the survey requires count, version: give it with --answer k=v"},
		{[]string{id, "-a", "count=1.5", "-a", "version=1"}, exitUsage, "the answer count is not a whole number"},
		{[]string{"deploy", "-a", "count=1", "-a", "sure=yes"}, exitUsage,
			"the answer sure is neither true nor false\n  the survey requires version: give it with --answer k=v"},
		{[]string{"deploy", "-a", "size=huge", "-a", "count=9007199254740993", "-a", "version="}, exitUsage,
			"the answer count is not between -2^53 and 2^53\n  the answer size is not one of small, 2, large\n" +
				"  the answer version is empty, and an answer is required"},
		{[]string{"deploy", "-a", "Count=1"}, exitUsage,
			`the survey has no question "Count", only count, version, sure, size, notes` +
				"\n  the survey requires count, version: give it with --answer k=v"},
		{[]string{a, "-a", "x=1"}, exitUsage, `the survey has no questions`},
		{[]string{"gone"}, exitFailed, `there is no template "gone"; there are deploy, twice, twice`},
		{[]string{"deplyo"}, exitFailed, `there is no template "deplyo"; did you mean deploy?`},
		{[]string{a, "-i", "gone"}, exitFailed, `there is no inventory "gone"; there are web`},
		{[]string{a, "--credential", "deploy-kye"}, exitFailed,
			`there is no credential "deploy-kye"; did you mean deploy-key?`},
		{[]string{"twice"}, exitFailed, `several are named "twice"; give one of the ids: ` + a + " (no organization), " + b +
			" (organization retail, " + org + ")"},
		{[]string{"tpl_" + strings.Repeat("9", 26)}, exitFailed, "there is no such object"},
	} {
		if code, out, errs := s.writ(t, append([]string{"launch"}, c.args...)...); code != c.code || out != "" ||
			errs != "writ: "+c.want+"\n" {
			t.Errorf("%v: exit %d, %q, %q", c.args, code, out, errs)
		}
	}
	if w := s.changed(); w != nil {
		t.Errorf("launched %q", w)
	}
}

// TestLaunchFollows prints the same as run --follow, and exits with the result of the run.
func TestLaunchFollows(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t, obj{"id": "run_1", "status": "failed", "tool": "ansible", "exit_code": 2}, playbook, rest)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/templates", func(w http.ResponseWriter, _ *http.Request) {
		f.answer(w, 200, obj{"templates": []obj{{"id": "tpl_1", "name": "deploy"}}, "total": 1})
	})
	mux.HandleFunc("GET /v1/templates/{id}", func(w http.ResponseWriter, _ *http.Request) {
		f.answer(w, 200, obj{"id": "tpl_1"})
	})
	mux.HandleFunc("POST /v1/templates/{id}/launch", func(w http.ResponseWriter, _ *http.Request) {
		f.answer(w, 201, f.record)
	})
	mux.Handle("/", f.Config.Handler)
	f.Config.Handler = f.capture(mux)
	code, out, _ := call(t, f, "launch", "deploy", "-f")
	if code != exitFailed || !strings.Contains(out, "PLAY web") || !strings.Contains(out, "run_1 failed") {
		t.Errorf("exit %d, %s", code, out)
	}
	f.asked(t, "GET /v1/templates?limit=1000&name=deploy&offset=0 ")
	f.asked(t, "GET /v1/runs/run_1/stream?"+url.Values{"after": {"0"}}.Encode())
}

func TestAsking(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(surveyed()["survey"])
	var survey []question
	if err := json.Unmarshal(raw, &survey); err != nil {
		t.Fatal(err)
	}
	survey[3].Required, survey[4].Required = true, true
	ask := func(input string, answers map[string]any) (string, error) {
		var out strings.Builder
		err := (&asker{in: bufio.NewReader(strings.NewReader(input)), out: &out}).ask(survey, answers)
		return out.String(), err
	}
	answers := map[string]any{"version": "7"}
	out, err2 := ask("\nmany\n12\n\n3\none\ntwo\n.\n", answers)
	if diff := cmp.Diff(map[string]any{"version": "7", "count": json.Number("12"), "size": "large", "notes": "one\ntwo"},
		answers); diff != "" || err != nil || err2 != nil {
		t.Error(diff, err, err2)
	}
	want := `How many?
  Of them all.
  a whole number
>   An answer is needed.
>   That is not a whole number.
> sure [true]
  y or n
> size
  1  small
  2  2
  3  large
> notes
  several lines; a line with a single dot ends them
> `
	if diff := cmp.Diff(want, out); diff != "" {
		t.Error(diff)
	}
	answers = map[string]any{"version": "7", "count": 1, "sure": true, "notes": ""}
	if _, err := ask("2\n", answers); err != nil || answers["size"] != "2" {
		t.Errorf("a choice that is a number: %v %v", answers, err)
	}
	if _, err := ask("", map[string]any{}); err == nil ||
		err.Error() != "the survey requires count, and the input ended" {
		t.Errorf("%v", err)
	}
	if _, err := ask("a\nb\nc\nd\ne\nf\n", map[string]any{}); err == nil ||
		err.Error() != "no answer to count was valid; nothing was launched" {
		t.Errorf("%v", err)
	}
	if _, err := ask(strings.Repeat("x", 2<<20), map[string]any{}); err == nil {
		t.Error("a line without an end is taken")
	}
}

// TestConstraints asks again until an answer keeps every constraint, and says what was wrong.
func TestConstraints(t *testing.T) {
	t.Parallel()
	n := func(i int64) *int64 { return &i }
	survey := []question{
		{Var: "port", Type: "int", Required: true, Min: n(1), Max: n(1023)},
		{Var: "name", Type: "text", MinLength: n(2), MaxLength: n(4), Pattern: "[a-z]+"},
		{Var: "sure", Type: "bool", Default: json.RawMessage("false")},
		{Var: "size", Type: "choice", Choices: []string{"small", "large"}, Default: json.RawMessage(`"small"`)},
		{Var: "text", Type: "multiline", MaxLength: n(5)},
		{Var: "other", Type: "text"},
	}
	answers := map[string]any{}
	var out strings.Builder
	input := "0\n1024\n80\na\nabcde\nab1\nabc\nmaybe\nY\nhuge\nlarge\nlong\nlines\n.\na\nb\n.\n\n"
	err := (&asker{in: bufio.NewReader(strings.NewReader(input)), out: &out}).ask(survey, answers)
	want := map[string]any{"port": json.Number("80"), "name": "abc", "sure": true, "size": "large", "text": "a\nb"}
	if diff := cmp.Diff(want, answers); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if diff := cmp.Diff(`port
  a whole number, from 1 to 1023
>   That is less than 1.
>   That is more than 1023.
> name (optional)
  2 to 4 characters, matches [a-z]+
>   That has 1 character, and at least 2 are needed.
>   That has 5 characters, and at most 4 are allowed.
>   That does not match [a-z]+.
> sure [false]
  y or n
>   That is neither true nor false.
> size [small]
  1  small
  2  large
>   That is not one of small, large.
> text (optional)
  several lines; a line with a single dot ends them, at most 5 characters
>   That has 10 characters, and at most 5 are allowed.
> other (optional)
> `, out.String()); diff != "" {
		t.Error(diff)
	}
	_, err = answer(survey, map[string]string{"port": "0", "name": "é", "none": "x"}, false)
	if err == nil || err.Error() != `the answer name has 1 character, and at least 2 are needed
  the survey has no question "none", only port, name, sure, size, text, other
  the answer port is less than 1` {
		t.Errorf("%v", err)
	}
}
