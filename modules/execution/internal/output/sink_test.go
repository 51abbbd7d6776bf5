package output_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/writ-automation/writ/modules/execution/internal/output"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret/mask"
)

// TestMaskOfCutTexts masks texts that a tool cut inside of a secret.
func TestMaskOfCutTexts(t *testing.T) {
	t.Parallel()
	m := mask.New([]string{"hunter22"})
	const whole = 16 << 10
	cut := strings.Repeat(".", whole-7) + "hunter2"
	doc, err := json.Marshal([]string{cut, "hunter2", "hunter22"})
	if err != nil {
		t.Fatal(err)
	}
	e := runs.Event{Message: cut, Stdout: "hunter2", Host: "hunter22", Diff: doc}
	output.Mask(m, &e)
	var list []string
	if err := json.Unmarshal(e.Diff, &list); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(e.Message+list[0], "h") || e.Stdout != "hunter2" || e.Host != "***" || list[1] != "hunter2" ||
		list[2] != "***" {
		t.Errorf("%q %q %q, and %q", e.Message[whole-10:], e.Stdout, e.Host, list)
	}
}
