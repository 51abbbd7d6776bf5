//go:build ui

package look

import (
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/writ-automation/writ/e2e/ui/browser"
)

// exportFile is the path of an export.
func exportFile(t *testing.T) string {
	t.Helper()
	file, err := filepath.Abs("../../../adapters/importers/awx/testdata/export.yml")
	if err != nil {
		t.Fatal(err)
	}
	return file
}

const (
	mounted  = "document.querySelector('#import')?.dataset.ready !== undefined"
	reported = "document.activeElement?.id === 'look-title'"
)

// TestImportReport checks the report of an import as the other pages are checked.
func TestImportReport(t *testing.T) {
	s := own(t)
	preview := func(p *browser.Page) {
		p.Wait("the script is there", mounted)
		p.Choose("#f-file", exportFile(t))
		p.Click("#import .btn.first")
		p.Wait("the report", reported)
	}
	pages := []page{{"import-report", "settings/import"}}
	s.each(t, pages, []int64{1280, 390}, func(t *testing.T, p *browser.Page, name string) {
		preview(p)
		accessible(t, p, name)
	})
	s.each(t, pages, []int64{320}, func(t *testing.T, p *browser.Page, name string) {
		preview(p)
		reflows(t, p, name)
	})
}

// TestWalkImport previews an export, looks at one class of it, and imports it.
func TestWalkImport(t *testing.T) {
	s := own(t)
	w := s.walks(t, 1280, "settings/import")
	w.Wait("the script is there", mounted)
	w.to("AWX")
	w.key(kb.ArrowDown)
	w.key(kb.ArrowUp)
	w.to("File")
	w.Choose("#f-file", exportFile(t)) // the dialog is the browser's
	w.to("Preview")
	w.Press("\r")
	w.Wait("the report", reported)
	w.check()
	w.to("To the import")
	w.to("All")
	w.key(kb.ArrowRight)
	w.Wait("one class is shown",
		"[...document.querySelectorAll('.imp-part')].filter(e => e.checkVisibility()).length === 1")
	w.to("Import ")
	w.Press("\r")
	w.Wait("it is imported", "document.querySelector('.note.done')?.innerText.includes('Imported: ') && "+reported)
	w.check()
	w.to("Ticket desk")
	w.opens("/ui/settings/credential-types/")
}
