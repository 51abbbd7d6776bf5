package web_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/writ-automation/writ/adapters/web/approvals"
	"github.com/writ-automation/writ/adapters/web/ask"
	"github.com/writ-automation/writ/adapters/web/auth"
	"github.com/writ-automation/writ/adapters/web/estate"
	"github.com/writ-automation/writ/adapters/web/fleet"
	"github.com/writ-automation/writ/adapters/web/help"
	"github.com/writ-automation/writ/adapters/web/imports"
	"github.com/writ-automation/writ/adapters/web/launch"
	"github.com/writ-automation/writ/adapters/web/objects"
	"github.com/writ-automation/writ/adapters/web/overview"
	"github.com/writ-automation/writ/adapters/web/policies"
	"github.com/writ-automation/writ/adapters/web/projects"
	"github.com/writ-automation/writ/adapters/web/run"
	"github.com/writ-automation/writ/adapters/web/runs"
	"github.com/writ-automation/writ/adapters/web/schedules"
	"github.com/writ-automation/writ/adapters/web/settings"
	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/adapters/web/trust"
	"github.com/writ-automation/writ/adapters/web/workflows"
)

var update = flag.Bool("update", false, "write the list of pages")

func sections() []shell.Section {
	return []shell.Section{
		overview.New(overview.Params{}), auth.New(auth.Params{}), runs.New(runs.Params{}), run.New(run.Params{}),
		approvals.New(approvals.Params{}), launch.New(launch.Params{}), workflows.New(workflows.Params{}),
		schedules.New(schedules.Params{}), projects.New(projects.Params{}), fleet.New(fleet.Params{}),
		estate.New(estate.Params{}), trust.New(trust.Params{}), policies.New(policies.Params{}),
		settings.New(settings.Params{}), imports.New(), objects.New(objects.Params{}), ask.New(),
		help.New(help.Params{Pages: help.Pages{FS: os.DirFS("../../docs")}}),
	}
}

// TestListOfPagesGolden keeps docs/reference/pages.md current, from which e2e/ui takes the pages that it visits.
func TestListOfPagesGolden(t *testing.T) {
	t.Parallel()
	const file = "../../docs/reference/pages.md"
	s := shell.New(shell.Config{})
	for _, section := range sections() {
		section.Register(s)
	}
	rows := make([]string, 0, len(s.Routes()))
	for _, r := range s.Routes() {
		method, path, _ := strings.Cut(r.Pattern, " ")
		need := "everybody"
		if r.Need.Kind != "" {
			need = "`" + r.Need.Kind + ":" + r.Need.Act + "`"
		}
		rows = append(rows, fmt.Sprintf("| `%s` | %s | %s |\n", path, method, need))
	}
	slices.Sort(rows)
	var b bytes.Buffer
	b.WriteString("# Pages\n\nThe pages of the web interface, and the right that each needs " +
		"(see [permissions](permissions.md)). Written by `make golden`.\n\n| Path | Method | Right |\n|---|---|---|\n")
	for _, row := range slices.Compact(rows) {
		b.WriteString(row)
	}
	if *update {
		if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(got, b.Bytes()) {
		t.Errorf("%s is not current; run: make golden (%v)", file, err)
	}
}
