package extensions

import (
	"net/http"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// TestAIProvider: a provider of an extension gets the settings of the server, refuses wrong ones at the start, and
// answers like a built-in one.
func TestAIProvider(t *testing.T) {
	t.Parallel()
	flags := []string{"--ai-provider", "parrot", "--ai-model", "grey", "--ai-url", "box:1"}
	s := harness.Start(t, harness.Options{Main: custom, Flags: flags, Env: []string{"WRIT_AI_KEY=c4nary"}})
	a := s.Do(http.MethodPost, "/v1/ai/draft", harness.Body{"tool": "bash", "description": "list files"})
	var got struct{ Text, Model, Provider string }
	if a.JSON(t, &got); a.Status != http.StatusOK || got.Model != "grey" || got.Provider != "parrot" ||
		got.Text != "grey at box:1: Write a script for bash: list files" {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	p, err := harness.Launch(t, harness.Options{Main: custom, Flags: flags})
	if err == nil || !strings.Contains(p.Output(), "ai-provider: parrot: key: is required") {
		t.Errorf("a start without a key: %v %s", err, p.Output())
	}
}
