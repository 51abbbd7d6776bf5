package probes

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/system"
)

type extensions []system.Extension

func (e extensions) Extensions(context.Context) []system.Extension { return e }

func TestExtensions(t *testing.T) {
	t.Parallel()
	kinds := []system.ExtensionKind{system.ToolExtension}
	c, err := NewExtensions(extensions{
		{Name: "a", Kinds: kinds, State: system.ExtensionRunning}, {Name: "b", State: system.ExtensionFailed, Error: "no."},
		{Name: "c", Kinds: kinds, State: system.ExtensionFailed, Restarts: 8, Error: "it ended"},
		{Name: "d", Kinds: kinds, State: system.ExtensionRestarting, Restarts: 2, Error: "it ended"},
		{Name: "e", Kinds: kinds, State: system.ExtensionCompiled},
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Examine(t.Context())
	if err != nil || got.Examined != 5 {
		t.Fatal(got, err)
	}
	if d := cmp.Diff([]string{
		"warning | b | the plugin was skipped: no. | " +
			"mend the plugin or remove it from the directory of --plugins-dir, and start the server again",
		"error | c | the plugin is not started again after 8 restarts: it ended | " +
			"look at its lines in the server's log, mend the plugin, and start the server again",
		"warning | d | the plugin was started again 2 times since the start of the server | " +
			"look at its lines in the server's log for why it ends",
	}, brief(got.Findings)); d != "" {
		t.Error(d)
	}
	if _, err := NewExtensions(nil); err == nil {
		t.Error("a check without a list")
	}
}
