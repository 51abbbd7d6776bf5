package extensions

import (
	"bytes"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/writ-automation/writ/docs"
	"github.com/writ-automation/writ/e2e/harness"
)

// example is the binary that the guide on swapping adapters builds.
const example = "github.com/writ-automation/writ/docs/examples/custom-adapter"

// TestCustomAdapter checks that a server with a log store of its own serves the output of runs, and that the standard
// server over the same database cannot read it.
func TestCustomAdapter(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, db string) {
		const printed = "what the run printed"
		mine := harness.Start(t, harness.Options{DB: db, Main: example, Env: []string{"LOG_KEY=correct horse battery"}})
		run := mine.Await(mine.Submit(harness.Body{"tool": "bash", "command": "echo " + printed}).ID)
		if log := mine.Log(run.ID); run.Status != "succeeded" || log != printed+"\n" {
			t.Errorf("%s: %q", run.Status, log)
		}
		mine.Stop()

		o := mine.Options
		o.Main, o.Admin = "", mine.Token
		plain := harness.Start(t, o)
		if log := plain.Log(run.ID); len(log) != len(printed)+1 || strings.Contains(log, "run") {
			t.Errorf("the plain server reads %q", log)
		}
		plain.Stop()

		o.Main, o.Admin = example, mine.Token
		mine = harness.Start(t, o)
		if log := mine.Log(run.ID); log != printed+"\n" {
			t.Errorf("after a restart: %q", log)
		}
	})
}

// TestCustomAdapterIsShort checks that the main is short, and that the guide shows it unchanged.
func TestCustomAdapterIsShort(t *testing.T) {
	t.Parallel()
	main, err := os.ReadFile("../../docs/examples/custom-adapter/main.go")
	if err != nil {
		t.Fatal(err)
	}
	guide, err := fs.ReadFile(docs.Pages, "guides/swap-an-adapter.md")
	if err != nil || !bytes.Contains(guide, main) {
		t.Errorf("the guide shows another main, %v", err)
	}
	if n := bytes.Count(main, []byte("\n")); n >= 30 {
		t.Errorf("it has %d lines", n)
	}
}
