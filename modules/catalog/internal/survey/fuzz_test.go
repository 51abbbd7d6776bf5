package survey_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/writ-automation/writ/modules/catalog/internal/survey"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
)

// FuzzAnswers decodes a survey and answers it. A refusal names a field. Accepted answers set the variables of questions
// and no others, and are accepted again.
func FuzzAnswers(f *testing.F) {
	for _, c := range [][2]string{
		{`[{"var":"a","type":"text","pattern":"[a-z]*"}]`, `{"a":"b"}`},
		{`[{"var":"a","type":"int","min":1,"max":5},{"var":"b","type":"bool"}]`, `{"a":1e0,"b":true}`},
		{`[{"var":"a","type":"choice","choices":["x","y"],"required":true}]`, `{"a":"z","c":1}`},
		{`[{"var":"a","type":"multiline","default":"x\ny"}]`, `{"a":null}`},
		{`[{"var":"ansible_connection","type":"text"}]`, `{"ansible_connection":"local"}`},
		{`[{"var":"a","type":"text","pattern":"(","min_length":9}]`, `{"a":[]}`},
		{`[{"var":"a"},{"var":"a"}]`, `{"a":1e400}`}, {`{}`, `[]`}, {`[null]`, `{"a":"\u0000"}`},
	} {
		f.Add([]byte(c[0]), []byte(c[1]))
	}
	f.Fuzz(func(t *testing.T, questions, text []byte) {
		fields, err := survey.Decode(questions)
		if err == nil {
			err = survey.Check(fields)
		}
		if err != nil {
			named(t, err)
			return
		}
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.UseNumber()
		var answers map[string]any
		if dec.Decode(&answers) != nil {
			return
		}
		vars, err := survey.Answer(fields, answers)
		if err != nil {
			named(t, err)
			return
		}
		for name := range vars {
			if !slices.ContainsFunc(fields, func(q catalog.SurveyField) bool { return q.Var == name }) {
				t.Errorf("%q is no question", name)
			}
		}
		if _, err := survey.Answer(fields, vars); err != nil {
			t.Errorf("%v is refused the second time: %v", vars, err)
		}
	})
}

func named(t *testing.T, err error) {
	t.Helper()
	if f := (*fault.Error)(nil); !errors.As(err, &f) || f.Kind != fault.Invalid || len(f.Fields) == 0 {
		t.Errorf("the refusal names no field: %v", err)
	}
}
