package panes

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/e2e/ui/browser"
)

const importPage = "/ui/settings/import"

// exportOfAWX is the path of an export.
func exportOfAWX(t *testing.T) string {
	t.Helper()
	file, err := filepath.Abs("../../../adapters/importers/awx/testdata/export.yml")
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// shownObjects counts the objects that the page shows.
const shownObjects = "[...document.querySelectorAll('.imp-list > li')].filter(e => e.checkVisibility()).length"

// watchSending notes what the page says while the file is sent and read.
const watchSending = `(() => {
	new MutationObserver(() => {
		const of = name => document.querySelector(name)?.checkVisibility();
		window.shownSending ||= of('[data-sending] progress') && of('[data-step]');
		window.shownReading ||= of('[data-next]');
	}).observe(document.querySelector('#import'), {attributes: true, subtree: true});
	return true;
})()`

// TestImportWizard imports an export of AWX. With script the file is chosen once, without it for each step.
func TestImportWizard(t *testing.T) {
	for _, script := range []bool{true, false} {
		t.Run(fmt.Sprintf("script=%v", script), func(t *testing.T) {
			s := harness.Start(t, harness.Options{Env: []string{harness.WithoutPrograms}})
			p := browser.Start(t).Page(s.URL, s.Token)
			if !script {
				p.Scriptless()
			}
			p.Open(importPage)
			if script {
				p.Wait("the script is there", "document.querySelector('#import').dataset.ready !== undefined")
			}
			p.Shot(fmt.Sprintf("import-1-%v", script))
			p.Choose("#f-file", exportOfAWX(t))
			if script {
				browser.Eval[bool](p, watchSending)
			}
			p.Click("#import .btn.first")
			p.Wait("the report", "document.querySelector('#look-title')")
			if script && !browser.Eval[bool](p, "window.shownSending && window.shownReading") {
				t.Error("nothing said that the file was sent and read")
			}
			p.Shot(fmt.Sprintf("import-2-%v", script))
			all := browser.Eval[int](p, shownObjects)
			p.Click(".imp-filter label:has([value=no_home])")
			few := browser.Eval[int](p, shownObjects)
			counted := p.Text(".imp-filter label:has([value=no_home]) .q")
			if few == 0 || few >= all || counted != fmt.Sprint(few) {
				t.Errorf("%d of %d objects are shown, and %s are counted", few, all, counted)
			}
			p.Click(".imp-filter label:has([value=all])")
			if fresh := browser.Eval[bool](p, "document.querySelector('[data-fresh]').checkVisibility()"); fresh == script {
				t.Errorf("with script %v the file is asked for again: %v", script, fresh)
			}
			again := func(button string) {
				if !script {
					p.Choose("#f-file-again", exportOfAWX(t))
				}
				p.Click(button)
			}
			again("#import [value=apply]")
			p.Wait("it is imported", "document.querySelector('.note.done')?.innerText.includes('Imported: ')")
			p.Shot(fmt.Sprintf("import-3-%v", script))
			again("#apply-title + form .btn")
			p.Wait("nothing is left", "document.querySelector('.note.idle')?.innerText.includes('changes nothing')")
			p.Shot(fmt.Sprintf("import-4-%v", script))
			p.Click(`.imp-list a[href^="/ui/launch/"]`)
			p.Wait("the page of a template", "location.pathname.startsWith('/ui/launch/tpl_')")
			p.Check()
		})
	}
}

// TestImportRefusedInPlace: a refused step says why, and loses neither the file nor the report.
func TestImportRefusedInPlace(t *testing.T) {
	s := harness.Start(t, harness.Options{Env: []string{harness.WithoutPrograms}})
	p := browser.Start(t).Page(s.URL, s.Token)
	p.Allow("400")
	p.Open(importPage + "?format=chef")
	p.Wait("the script is there", "document.querySelector('#import').dataset.ready !== undefined")
	p.Click("#import .btn.first")
	p.Wait("a file is missing",
		"document.querySelector('#f-file-error') && document.activeElement.matches('[role=alert]')")
	broken := filepath.Join(t.TempDir(), "nodes.json")
	if err := os.WriteFile(broken, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.Choose("#f-file", broken)
	p.Click("#import .btn.first")
	p.Wait("it is no export", "document.querySelector('#f-file-error')?.innerText.includes('line 1')")
	p.Shot("import-refused")
	if kept := browser.Eval[string](p, "document.querySelector('#f-file').files[0]?.name ?? ''"); kept != "nodes.json" {
		t.Errorf("the field has the file %q", kept)
	}
	// A file that is too large is not sent.
	large := filepath.Join(t.TempDir(), "large.json")
	if err := os.WriteFile(large, make([]byte, 26<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	p.Choose("#f-file", large)
	p.Click("#import .btn.first")
	p.Wait("it is too large", "document.querySelector('[data-large]').innerText.includes('writ import')")

	p.Choose("#f-file", exportOfAWX(t))
	p.Click("#import [value=awx]")
	p.Click("#import .btn.first")
	p.Wait("the report", "document.querySelector('#look-title') && document.activeElement.id === 'look-title'")
	s.Kill()
	p.Allow("net::ERR")
	p.Click("#import [value=apply]")
	p.Wait("the server is away", "[...document.querySelectorAll('[data-lost]')].some(e => e.checkVisibility())")
	if n := browser.Eval[int](p, shownObjects); n == 0 {
		t.Error("the report is gone")
	}
}
