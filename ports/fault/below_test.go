package fault_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/fault"
)

// TestBelow puts a path before the fields of a fault, and leaves other errors as they are.
func TestBelow(t *testing.T) {
	t.Parallel()
	other := errors.New("other")
	if fault.Below("run", nil) != nil || fault.Below("run", other) != other { //nolint:errorlint // the same value
		t.Error("another error changed")
	}
	was := fault.BadField("name", "is empty")
	var got *fault.Error
	if !errors.As(fault.Below("run", was), &got) || got.Fields[0].Location != "run.name" ||
		got.Message != "run."+was.Message || was.Fields[0].Location != "name" {
		t.Errorf("%+v of %+v", got, was)
	}
}

// TestNoChoice checks that a value which is no plain word is not repeated.
func TestNoChoice(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"": "expected one of a, b", "c": `"c" is none of a, b`, "dry_run-x": `"dry_run-x" is none of a, b`,
		"s3cret": "the value is none of a, b", "c\nd": "the value is none of a, b",
		strings.Repeat("c", 21):  "the value is none of a, b",
		"nfmzMFEUBnAHroJoMhMBxZ": "the value is none of a, b", "Dry": "the value is none of a, b",
	} {
		f := fault.NoneOf("at", value, "a", "b")
		if f.Message != "at: "+want || f.Fields[0] != (fault.Field{Location: "at", Message: want}) {
			t.Errorf("%q: %+v", value, f)
		}
	}
}
