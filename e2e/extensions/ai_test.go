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

// TestAIProviderOfAPlugin: a provider of a plugin gives advice, and checks its settings when the server starts.
func TestAIProviderOfAPlugin(t *testing.T) {
	t.Parallel()
	dir, _, _ := plugins(t)
	flags := []string{"--plugins-dir", dir, "--ai-provider", "muse", "--ai-model", "m", "--ai-url", "box:1"}
	s := harness.Start(t, harness.Options{Flags: flags, Env: []string{"WRIT_AI_KEY=c4nary"}})
	a := s.Do(http.MethodPost, "/v1/ai/draft", harness.Body{"tool": "bash", "description": "list files"})
	var got struct{ Text, Model, Provider string }
	if a.JSON(t, &got); a.Status != http.StatusOK || got.Model != "m" || got.Provider != "muse" ||
		got.Text != "m at box:1: Write a script for bash: list files" {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	for want, over := range map[string]harness.Options{
		"ai-provider: muse: key: is required": {Flags: flags},
		`ai-provider: "muse" is none of`:      {Flags: flags[2:], Env: []string{"WRIT_AI_KEY=c4nary"}},
	} {
		p, err := harness.Launch(t, over)
		if err == nil || !strings.Contains(strings.ReplaceAll(p.Output(), `\"`, `"`), want) ||
			strings.Contains(p.Output(), "c4nary") {
			t.Errorf("%s: %v %s", want, err, p.Output())
		}
	}
}
