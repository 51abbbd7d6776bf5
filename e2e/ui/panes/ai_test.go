package panes

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/e2e/ui/browser"
)

// TestAdviceInPlace asks a model with script: the answer of a stream is text, a draft never replaces what was typed,
// and nothing is made. Keeps T34.
func TestAdviceInPlace(t *testing.T) {
	m := harness.NewModel(t)
	s := harness.Start(t, harness.Options{Flags: m.Flags()})
	failed := s.Await(s.Submit(harness.Body{"tool": "bash", "command": "exit 3"}).ID).ID
	p := browser.Start(t).Page(s.URL, s.Token)
	explain(p, m, failed)
	draft(p, m)
	ask(t, p, m, s.Client)
	if _, total := s.Runs(""); total != 1 {
		t.Errorf("there are %d runs", total)
	}
	p.Check()
}

func explain(p *browser.Page, m *harness.Model, id string) {
	m.Say("<script>window.hit = 1</script> <img src=x onerror=\"window.hit = 1\"> [x](javascript:alert(1)) " +
		"a\u202eb\x07 end")
	p.Open("/ui/runs/" + id)
	p.Wait("the script is there", "document.querySelector('#explain [data-ready]')")
	p.Click("#explain [data-ask]")
	p.Wait("the answer is there", "document.querySelector('#explain [data-by]').innerText === 'From test of ollama.'")
	p.Wait("it is text", `(e => e.children.length === 0 && e.checkVisibility() && e.textContent ===
		'<script>window.hit = 1</script> <img src=x onerror="window.hit = 1"> [x](javascript:alert(1)) ab end'
		)(document.querySelector('#explain pre')) && window.hit === undefined`)
	p.Wait("it is marked", "document.querySelector('#explain .answer').innerText.includes('and does nothing.')")
	p.Shot("advice-explain")
	m.Say(" ")
	p.Click("#explain [data-ask]")
	p.Wait("the reason is in place", "document.querySelector('#explain [role=alert]').textContent.includes("+
		"'the AI provider gave no answer.') && !document.querySelector('#explain .answer').checkVisibility()")
}

func draft(p *browser.Page, m *harness.Model) {
	const script, beside = "document.querySelector('#f-command').value", "document.querySelector('.draft pre')"
	p.Open("/ui/launch/adhoc?tool=bash")
	p.Wait("the script is there", "document.querySelector('.draft[data-ready]')")
	p.Wait("the key Enter does not draft", "document.querySelector('#adhoc button').textContent === 'Run'")
	p.Click(".draft summary")
	p.Type("#f-_description", "Say it")
	m.Say("echo one")
	p.Click(".draft [data-ask]")
	p.Wait("the draft is the script", script+" === 'echo one' && !"+beside+".checkVisibility() && "+
		"document.querySelector('.draft .answer').innerText.includes('nobody has run')")
	p.Type("#f-command", " # mine")
	m.Say("echo two")
	p.Click(".draft [data-ask]")
	p.Wait("the draft is beside what was typed", script+" === 'echo one # mine' && "+beside+".innerText === 'echo two'"+
		" && document.querySelector('.draft [data-swap]').checkVisibility()")
	p.Shot("advice-draft")
	p.Click(".draft [data-ask]")
	p.Wait("it is not replaced", "document.querySelector('.draft [role=alert]').textContent.includes("+
		"'swap or discard it first')")
	p.Click(".draft [data-swap]")
	p.Wait("they are swapped", script+" === 'echo two' && "+beside+".innerText === 'echo one # mine'")
	p.Click(".draft [data-drop]")
	p.Wait("it is discarded", script+" === 'echo two' && !"+beside+".checkVisibility()")
	browser.Eval[bool](p, `(() => { const e = document.querySelector('select[name=tool]'); e.value = 'ansible';
		e.dispatchEvent(new Event('change', {bubbles: true})); return true; })()`)
	p.Wait("there is no draft for it", "!document.querySelector('.draft').checkVisibility()")
}

func ask(t *testing.T, p *browser.Page, m *harness.Model, c harness.Client) {
	t.Helper()
	m.Say("web01 failed most often.")
	p.Open("/ui/")
	p.Click(".nav a[href='/ui/ai']")
	p.Wait("the script is there", "document.querySelector('#ask [data-ready]')")
	p.Type("#f-question", "Which host fails?")
	p.Click("#ask [data-ask]")
	p.Wait("the answer is there", "document.querySelector('#ask pre').innerText === 'web01 failed most often.' && "+
		"document.querySelector('#ask [data-by]').innerText === 'From test of ollama.'")
	p.Shot("advice-ask")
	// What was stopped leaves what arrived, and frees the place of the call.
	for _, text := range []string{"It is web", " "} {
		m.Hang(text)
		before := m.Heard()
		p.Click("#ask [data-ask]")
		harness.Eventually(t, time.Minute, "the model is asked", func() bool { return m.Heard() != before })
		p.Wait("a part of the answer is there", "document.querySelector('#ask [data-stop]').checkVisibility() && "+
			"document.querySelector('#ask pre').textContent.trim() === '"+strings.TrimSpace(text)+"'")
		p.Click("#ask [data-stop]")
		p.Wait("it is stopped", "!document.querySelector('#ask [data-stop]').checkVisibility() && "+
			"document.querySelector('#ask [data-stopped]').checkVisibility() === "+strconv.FormatBool(text != " ")+
			" && document.activeElement === document.querySelector('#ask [data-ask]') && "+
			"!document.querySelector('#ask [data-problem]').checkVisibility()")
	}
	// The server notices later than the page, and an account has two places.
	harness.Eventually(t, time.Minute, "the places are free", func() bool {
		return strings.Contains(string(c.Do(http.MethodGet, "/metrics", nil).Body),
			`writ_ai_calls_total{action="ai.ask",result="canceled"} 2`)
	})
	m.Say("web02")
	p.Click("#ask [data-ask]")
	p.Wait("the next answer is whole", "document.querySelector('#ask pre').innerText === 'web02' && "+
		"!document.querySelector('#ask [data-stopped]').checkVisibility()")
}
