package launch

import (
	"encoding/json"
	"testing"

	"github.com/writ-automation/writ/ports/runs"
)

// TestQuestionFields checks the field of each type of question, and that a constraint is stated before it is broken.
func TestQuestionFields(t *testing.T) {
	t.Parallel()
	list, err := questions(json.RawMessage(`[
		{"var":"a","type":"text","help":"A tag","max_length":20,"pattern":"v.*","required":true},
		{"var":"b","type":"int","min":1,"max":64,"default":9007199254740993},
		{"var":"c","type":"choice","choices":["x","y"],"required":true},
		{"var":"d","type":"choice","choices":["1","2","3","4","5","6"]},
		{"var":"e","type":"multiline","min_length":3},
		{"var":"f","type":"bool","required":true,"default":false},
		{"var":"db_password","type":"text","default":"x"},
		{"var":"g","type":"int","max":3}]`))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		name, kind, value, help string
		choices                 int
	}{
		{"answers.a:text", "", "", "A tag. At most 20 characters. It matches v.* as a whole.", 0},
		{"answers.b:int", "", "9007199254740993", "A whole number, 1 to 64.", 0},
		{"answers.c", "radio", "", "", 2},
		{"answers.d", "select", "", "", 7},
		{"answers.e", "area", "", "At least 3 characters.", 0},
		{"answers.f:bool", "check", "false", "", 0},
		{"answers.db_password:text", "password", "x", "", 0},
		{"answers.g:int", "", "", "A whole number, at most 3.", 0},
	} {
		f := list[i].field(nil)
		if f.Name != want.name || f.Kind != want.kind || f.Value != want.value || f.Help != want.help ||
			len(f.Choices) != want.choices {
			t.Errorf("%+v, want %+v", f, want)
		}
	}
	for raw, want := range map[string]string{`"v9"`: "v9", `12`: "12", `"` + runs.Redacted + `"`: ""} {
		if f := list[0].field(json.RawMessage(raw)); f.Value != want {
			t.Errorf("the answer %s is filled in as %q", raw, f.Value)
		}
	}
	if _, err := questions(json.RawMessage(`{"a":1}`)); err == nil {
		t.Error("what is no list is a survey")
	}
	if list, err := questions(nil); err != nil || list != nil {
		t.Errorf("no survey: %v %v", list, err)
	}
}
