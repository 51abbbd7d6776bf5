package records

import "testing"

func TestBelow(t *testing.T) {
	t.Parallel()
	if Below("run", nil) != nil {
		t.Error("no error became a fault")
	}
}
