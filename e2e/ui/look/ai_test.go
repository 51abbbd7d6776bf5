//go:build ui

package look

import (
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/e2e/ui/browser"
)

// TestAdvised checks the pages that offer advice of a language model, and their answers of extreme content.
func TestAdvised(t *testing.T) {
	m := harness.NewModel(t)
	s := own(t, m.Flags()...)
	failed := s.made("/v1/runs", harness.Body{"tool": "bash", "command": "exit 3"})
	s.Await(failed)
	about := []page{{"ask", "ai"}, {"run", "runs/" + failed}, {"adhoc", "launch/adhoc?tool=bash"},
		{"overview", ""}, {"extensions", "settings/extensions"}}
	s.checkStates(t, "advised", about)
	m.Say(strings.Repeat("verylongname", 60) + " <b> שרת 🚀\n" + strings.Repeat("a line\n", 60))
	answered := func(then func(*testing.T, *browser.Page, string)) func(*testing.T, *browser.Page, string) {
		return func(t *testing.T, p *browser.Page, name string) {
			p.Wait("the script is there", "document.querySelector('[data-mod=advice][data-ready]')")
			browser.Eval[bool](p, `(() => { for (const e of document.querySelectorAll('.draft')) e.open = true;
				for (const e of document.querySelectorAll('#f-question, #f-_description')) e.value = 'Why?';
				document.querySelector('[data-ask]').click(); return true; })()`)
			p.Wait("the answer is there", "document.querySelector('[data-by]').textContent !== ''")
			then(t, p, name)
		}
	}
	for i := range about[:3] {
		about[i].name += "-answered"
	}
	s.each(t, about[:3], []int64{1280, 360}, answered(accessible))
	s.each(t, about[:3], []int64{320}, answered(reflows))
}
