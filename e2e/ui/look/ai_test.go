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

// TestWalkAdvice asks a model by the keyboard alone: on a run, on the page of questions, and for a draft.
func TestWalkAdvice(t *testing.T) {
	m := harness.NewModel(t)
	s := own(t, m.Flags()...)
	failed := s.made("/v1/runs", harness.Body{"tool": "bash", "command": "exit 3"})
	s.Await(failed)
	const ready = "document.querySelector('[data-mod=advice][data-ready]')"
	const answered = "document.querySelector('[data-by]').textContent !== ''"
	w := s.walks(t, 1280, "runs/"+failed)
	w.Wait("the script is there", ready)
	w.to("Explain")
	w.key("\r")
	w.Wait("the answer is there", answered)
	w.check()
	w.to("The answer")
	w.palette()
	w.key("Ask a lang")
	w.Wait("the page is found", "document.querySelector('.pal [role=option]')?.innerText.includes('Ask a language model')")
	w.opens("/ui/ai")
	w.Wait("the script is there", ready)
	w.to("Question")
	w.key("Why?")
	w.to("Ask")
	w.key("\r")
	w.Wait("the answer is there", answered)
	w.Open("/ui/launch/adhoc?tool=bash")
	w.Wait("the script is there", ready)
	w.to("Draft with AI")
	w.key("\r")
	w.to("What the script")
	w.key("Say it")
	w.to("Draft a script")
	m.Say("echo drafted")
	w.key("\r")
	w.Wait("the draft is the script", "document.querySelector('#f-command').value === 'echo drafted'")
	w.check()
}
