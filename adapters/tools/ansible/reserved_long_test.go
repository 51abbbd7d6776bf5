//go:build long

package ansible_test

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/reserved"
)

// documented are the parts of ansible-doc's answer that name variables.
type documented struct {
	Doc struct {
		Options map[string]struct {
			Vars []struct{ Name string }
		}
	}
}

// TestDocumentedVariablesAreReserved reads the documentation of every plugin of the installed Ansible: each variable by
// which one is configured is reserved.
func TestDocumentedVariablesAreReserved(t *testing.T) {
	t.Parallel()
	ask := func(into any, args ...string) {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), "ansible-doc", append([]string{"--json"}, args...)...).Output()
		if err != nil || json.Unmarshal(out, into) != nil {
			t.Fatalf("ansible-doc %v, which `make setup` installs: %v", args[:min(len(args), 3)], err)
		}
	}
	var names []string
	for _, kind := range []string{"become", "cliconf", "connection", "httpapi", "netconf", "shell"} {
		var list map[string]string
		ask(&list, "-t", kind, "-l")
		args := []string{"-t", kind}
		for name := range list {
			args = append(args, name)
		}
		if len(list) == 0 {
			continue
		}
		var docs map[string]documented
		ask(&docs, args...)
		for _, d := range docs {
			for _, o := range d.Doc.Options {
				for _, v := range o.Vars {
					name, _, _ := strings.Cut(v.Name, "[")
					names = append(names, name)
				}
			}
		}
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) < 60 {
		t.Errorf("%d variables are documented", len(names))
	}
	for _, name := range names {
		if !reserved.Variable(name) {
			t.Errorf("%s is not reserved", name)
		}
	}
}
