package shell

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
)

func TestBodyOfLists(t *testing.T) {
	t.Parallel()
	body, problem := bodyOf(url.Values{
		"a:many": {""}, "b:some": {""}, "c:some": {"", "x", "y"}, "d:set": {""}, "e:set": {" \r\nx\r\ny\n"}, "f:pairs": {""},
		"g.h:pairs": {"K=v=w\r\n\r\nL= z"}, "i:json": {"{\"n\":1.50}"}, "j:empty": {"true"}, "k:empty": {"false"},
		"_secret": {"token"},
	})
	if problem != nil {
		t.Fatal(problem)
	}
	got, _ := json.Marshal(body)
	want := `{"a":[],"c":["x","y"],"d":[],"e":["x","y"],"g":{"h":{"K":"v=w","L":" z"}},"i":{"n":1.50},"j":""}`
	if string(got) != want {
		t.Errorf("the body is %s, expected %s", got, want)
	}
}

func TestBodyOfRefusesWithTheLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"[1,\n2,\n]": "line 3", "{\n\"a\": 1\n} x": "line 3", "{\n\"a\":": "it ends too early", "nil": "line 1",
		"1 2": "there is more after the value",
	} {
		_, problem := bodyOf(url.Values{"steps:json": {text}})
		if problem == nil || len(problem.Errors) != 1 || problem.Errors[0].Location != "steps" ||
			!strings.Contains(problem.Errors[0].Message, want) {
			t.Errorf("%q is refused with %+v, expected %q", text, problem, want)
		}
	}
	if _, problem := bodyOf(url.Values{"env:pairs": {"A=1\nB"}}); problem == nil ||
		!strings.Contains(problem.Text, "env: line 2 is not name=value") {
		t.Errorf("a line without a value is refused with %+v", problem)
	}
}

func TestAnchorIsTheField(t *testing.T) {
	t.Parallel()
	s := &FormState{Values: url.Values{"timeout:int": {"x"}, "steps:json": {""}, "match.labels:pairs": {""}}}
	for location, want := range map[string]string{"timeout": "f-timeout-int", "steps[1].name": "f-steps-json",
		"match.labels.env": "f-match-labels-pairs", "other": "f-other"} {
		if got := s.anchor(location); got != want {
			t.Errorf("the anchor of %s is %s, expected %s", location, got, want)
		}
	}
}
