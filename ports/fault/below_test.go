package fault_test

import (
	"errors"
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
