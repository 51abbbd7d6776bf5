package panes

import (
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/e2e/ui/browser"
)

// TestPolicyEditor: while a policy is edited in sentences, its words and its JSON follow, and it is tried in place.
func TestPolicyEditor(t *testing.T) {
	w := newRunRig(t)
	w.Do("POST", "/v1/inventories", harness.Body{"name": "production", "content": "h\n"})
	p := browser.Start(t).Page(w.URL, w.Token)
	p.Open("/ui/objects/policies/new")
	p.Wait("the editor is there", "document.documentElement.dataset.ready !== undefined")
	p.Wait("it holds at first", "document.querySelector('#summary').textContent.includes('Holds every run.')")
	p.Click(".prose details summary")
	p.Click(".prose details .tick input[type=checkbox]")
	p.Wait("the field names what is ticked", "document.querySelector('.prose [data-chosen]').textContent === 'production'")
	p.Type("#f-match-hosts_over-int", "100")
	p.Wait("the words follow", "document.querySelector('#summary').textContent.includes("+
		"'with the inventory production, on more than 100 hosts')")
	p.Wait("the JSON follows", `document.querySelector('#summary pre').textContent.includes('"hosts_over": 100')`)
	p.Click(".decide button[hx-post]")
	p.Wait("it is tried in place", "document.querySelector('#trial').textContent.includes('In the last 30 days') && "+
		"document.querySelector('#f-match-hosts_over-int').value === '100'")
	p.Check()
}
