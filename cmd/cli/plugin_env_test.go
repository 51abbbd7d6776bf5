package cli

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/writ-automation/writ/cmd/compose"
	"github.com/writ-automation/writ/ports/secret"
)

func TestPluginEnv(t *testing.T) {
	t.Parallel()
	env := func(name string) string { return map[string]string{"A": "c4nary", "B": "b", "WRIT_X": "x"}[name] }
	got, err := pluginEnv([]string{"siem=A", "siem=B", "vault.v2=A"}, "/plugins", env)
	if err != nil || len(got) != 2 || got["siem"]["A"].Reveal() != "c4nary" || got["siem"]["B"].Reveal() != "b" ||
		len(got["vault.v2"]) != 1 || strings.Contains(fmt.Sprintf("%v %#v", got, got), "c4nary") {
		t.Errorf("%v %v", got, err)
	}
	if got, err := pluginEnv(nil, "", env); err != nil || len(got) != 0 {
		t.Errorf("none: %v %v", got, err)
	}
	for text, want := range map[string]string{
		"siem": "is not PLUGIN=VARIABLE", "=A": "is not PLUGIN=VARIABLE", "siem=": "is not PLUGIN=VARIABLE",
		"siem=A=c4nary": "is not PLUGIN=VARIABLE", "siem=1A": "is not PLUGIN=VARIABLE",
		"siem=PATH": "PATH is not for plugins", "siem=WRIT_X": "WRIT_X is not for plugins",
		"siem=PLUGIN_CLIENT_CERT": "is not for plugins",
		"siem=GONE":               "the variable GONE of the plugin siem is empty or not set",
	} {
		if _, err := pluginEnv([]string{text}, "/plugins", env); err == nil ||
			!strings.HasPrefix(err.Error(), "plugin-env: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := pluginEnv([]string{"siem=A"}, "", env); err == nil || !strings.Contains(err.Error(), "plugins-dir") {
		t.Errorf("without a directory: %v", err)
	}
}

// TestPluginEnvIsForgotten: children inherit no variable of a plugin, and the others stay.
func TestPluginEnvIsForgotten(t *testing.T) {
	t.Setenv("C4NARY_PLUGIN", "secret")
	t.Setenv("C4NARY_OTHER", "kept")
	x := &compose.Executor{PluginEnv: map[string]map[string]secret.Text{"siem": {"C4NARY_PLUGIN": "secret"}}}
	if err := forgetEnvironment(x); err != nil {
		t.Fatal(err)
	}
	if _, is := os.LookupEnv("C4NARY_PLUGIN"); is || os.Getenv("C4NARY_OTHER") != "kept" {
		t.Errorf("the environment is %v", os.Environ())
	}
}
