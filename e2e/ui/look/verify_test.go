//go:build ui

package look

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/e2e/ui/browser"
)

// TestVerifyPage checks the page that verifies, with a bundle by a trusted key, by an unknown key, and an altered one.
func TestVerifyPage(t *testing.T) {
	s := own(t, "--executors", "0")
	s.made("/v1/teams", harness.Body{"name": "Payments"})
	bundle := s.Do(http.MethodGet, "/v1/audit/bundle", nil).Body
	var seal struct {
		Keys []struct {
			VKey string `json:"vkey"` // only that of checkpoints has one
		}
	}
	s.Do(http.MethodGet, "/.well-known/seal.json", nil).JSON(t, &seal)
	broken := bytes.Replace(bundle, []byte("team.create"), []byte("team.delete"), 1)
	if len(seal.Keys) == 0 || seal.Keys[0].VKey == "" || bytes.Equal(broken, bundle) {
		t.Fatalf("keys %v; nothing to alter in %.200s", seal.Keys, bundle)
	}
	given := func(file []byte, key, verdict string) func(p *browser.Page) {
		text, err := json.Marshal(string(file))
		if err != nil {
			t.Fatal(err)
		}
		return func(p *browser.Page) {
			browser.Eval[any](p, fmt.Sprintf(`void (() => {
				const files = new DataTransfer(), input = document.getElementById('file');
				files.items.add(new File([%s], 'bundle.json'));
				document.getElementById('keys').value = %q;
				input.files = files.files;
				input.dispatchEvent(new Event('change'));
			})()`, text, key))
			p.Wait("the verdict "+verdict, fmt.Sprintf("document.querySelector('#verdict.%s')?.innerText", verdict))
			browser.Eval[any](p, "document.getElementById('verdict').scrollIntoView()")
		}
	}
	for _, a := range []act{
		{page{"verify-nothing", "../verify"}, func(*browser.Page) {}},
		{page{"verify-intact", "../verify"}, given(bundle, seal.Keys[0].VKey, "good")},
		{page{"verify-unpinned", "../verify"}, given(bundle, "", "open")},
		{page{"verify-broken", "../verify"}, given(broken, seal.Keys[0].VKey, "bad")},
	} {
		s.check(t, a)
	}
}
