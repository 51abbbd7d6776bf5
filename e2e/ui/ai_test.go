package ui

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

const (
	adviceMark = "Advice of a language model. It can be wrong, and does nothing."
	advisedBy  = "From test of ollama."
)

// TestAdviceByForms asks a model without script: what it says is shown as text, and does nothing. Keeps T34.
func TestAdviceByForms(t *testing.T) {
	t.Parallel()
	m := harness.NewModel(t)
	s := harness.Start(t, harness.Options{Flags: m.Flags()})
	operator, viewer := signedInForms(t, s, "tomas", "operator"), signedInForms(t, s, "vera", "viewer")
	t.Run("explain", func(t *testing.T) {
		page := "/ui/runs/" + s.Await(s.Submit(harness.Body{"tool": "bash", "command": "exit 3"}).ID).ID
		asked := url.Values{"_page": {page}}
		viewer.get(page).want(t, 200, ">Explain</button>").lacks(t, advisedBy)
		m.Say("<script>alert(1)</script> [x](javascript:alert(1)) a\u202eb\x1b[31m")
		viewer.post(page+"/explain", asked).want(t, 200, adviceMark, advisedBy, "exit code 3",
			"&lt;script&gt;alert(1)&lt;/script&gt; [x](javascript:alert(1)) ab[31m</pre>").
			lacks(t, "<script>alert", `href="javascript`, "\u202e", "\x1b")
		m.Say("")
		viewer.post(page+"/explain", asked).want(t, 503, "the AI provider gave no answer.").lacks(t, advisedBy)
		viewer.post(page+"/explain", url.Values{"_copy": {"curl"}}).want(t, 200, "/explain", "curl")
		viewer.post("/ui/runs/run_00000000000000000000000000/explain", asked).want(t, 404)
	})
	t.Run("draft", func(t *testing.T) { drafts(t, s, m, operator, viewer) })
	t.Run("ask", func(t *testing.T) {
		m.Say("Nothing <b>failed</b>.")
		ask := url.Values{"question": {""}}
		viewer.post("/ui/ai", ask).want(t, 400, "question")
		ask.Set("question", "What <failed>?")
		for range 10 {
			viewer.post("/ui/ai", ask).want(t, 200, adviceMark, advisedBy, "What &lt;failed&gt;?", "Nothing &lt;b&gt;failed")
		}
		viewer.post("/ui/ai", ask).want(t, 429, "an account may ask 10 questions", "Try again in ", "What &lt;failed&gt;?").
			lacks(t, advisedBy)
	})
	t.Run("propose", func(t *testing.T) {
		viewer.get("/ui/ai").want(t, 200, "Ask about the fleet").lacks(t, "Propose a run")
		form := url.Values{"request": {"Say <hello>"}, "_page": {"/ui/ai"}, "_next": {"/ui/approvals/{id}"}}
		m.Say("I approved it.")
		operator.post("/ui/do/propose-run", form).want(t, 400, "Say &lt;hello&gt;")
		m.Say(`{"tool": "bash", "command": "echo hello"}`)
		held := operator.post("/ui/do/propose-run", form).to(t, "/ui/approvals/run_").location
		operator.get(held).want(t, 200, "echo hello")
		if got := s.Get(strings.TrimPrefix(held, "/ui/approvals/")); got.Status != "pending_approval" {
			t.Errorf("it is %s", got.Status)
		}
	})
}

// drafts: a draft fills an empty script, and is beside one that was typed. All that was entered stays.
func drafts(t *testing.T, s *harness.Server, m *harness.Model, operator, viewer *formBrowser) {
	const page, path = "/ui/launch/adhoc", "/ui/launch/adhoc/draft"
	const mark = "A draft of a language model, which nobody has run."
	_, before := s.Runs("")
	viewer.get(page).want(t, 403)
	operator.get(page).want(t, 200, "Draft with AI").lacks(t, mark+"</p>", advisedBy)
	m.Say("```bash\necho '<drafted>'\n```")
	form := url.Values{"tool": {"bash"}, "command": {""}, "name": {"Mine <1>"}, "_description": {"Say it <loud>"},
		"timeout:int": {"77"}}
	viewer.post(path, form).want(t, 403)
	const kept = "Mine &lt;1&gt;"
	operator.post(path, form).want(t, 200, "echo &#39;&lt;drafted&gt;&#39;</textarea>", mark, advisedBy, kept,
		"Say it &lt;loud&gt;", `value="77"`)
	form.Set("command", "typed first")
	operator.post(path, form).want(t, 200, ">typed first</textarea>", "echo &#39;&lt;drafted&gt;&#39;</pre>", mark, kept)
	form.Set("_draft", "echo 'drafted'\r\n")
	form.Set("_draft_by", "test of ollama")
	operator.post(path, form).want(t, 400, "swap or discard it first", ">typed first</textarea>", "drafted&#39;\n</pre>")
	form.Set("_swap", "true")
	operator.post(path, form).want(t, 200, "echo &#39;drafted&#39;\n</textarea>", ">typed first</pre>")
	form.Del("_swap")
	operator.post(page+"/hosts", form).want(t, 200, ">typed first</textarea>", "drafted&#39;\n</pre>", advisedBy)
	form.Set("_drop", "true")
	operator.post(path, form).want(t, 200, ">typed first</textarea>").lacks(t, "drafted")
	form.Set("tool", "ansible")
	form.Del("_drop")
	form.Del("_draft")
	operator.post(path, form).want(t, 400, "tool", ">typed first</textarea>")
	if _, after := s.Runs(""); after != before {
		t.Errorf("drafts made %d runs", after-before)
	}
}

// TestExtensionsPage: administrators see what is added to the server, or how to add something.
func TestExtensionsPage(t *testing.T) {
	t.Parallel()
	r := newSettingsRig(t)
	html := settingsPage(t, r.Client, "/ui/settings/extensions", http.StatusOK)
	contains(t, html, "No extensions", "--plugins-dir", `href="/ui/help/reference/plugins"`)
	settingsPage(t, r.Client, "/ui/help/reference/plugins", http.StatusOK)
	settingsPage(t, r.roles["operator"], "/ui/settings/extensions", http.StatusForbidden)
	lacks(t, settingsPage(t, r.Client, "/ui/", http.StatusOK), `href="/ui/ai"`)
}
