package shell

import (
	"net/url"
	"strings"
	"testing"

	"github.com/writ-automation/writ/adapters/httpapi"
)

func TestOnceShowsOnlyWhatTheFormNames(t *testing.T) {
	t.Parallel()
	r := &Request{}
	answer := httpapi.Answer{Body: []byte(`{"id":"a/b","token":"<b>s3cret","hook_path":"/hooks/x","n":1}`)}
	for _, form := range []url.Values{{}, {"_secret": {"absent"}}, {"_secret": {"n"}}} {
		if p := r.once(form, answer); p != nil {
			t.Errorf("%v shows a page", form)
		}
	}
	p := r.once(url.Values{"_secret": {"token,absent"}, "_next": {"/ui/settings/tokens/{id}"}}, answer)
	if p == nil {
		t.Fatal("there is no page")
	}
	var b strings.Builder
	if err := p.Body.Render(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	html := b.String()
	for _, part := range []string{"&lt;b&gt;s3cret", `href="/ui/settings/tokens/a%2Fb"`, onceDone} {
		if !strings.Contains(html, part) {
			t.Errorf("the page lacks %q: %s", part, html)
		}
	}
	if strings.Contains(html, "/hooks/x") {
		t.Error("the page shows a member that the form does not name")
	}
	outside := r.once(url.Values{"_secret": {"token"}, "_next": {"https://evil.example/"}}, answer)
	b.Reset()
	if err := outside.Body.Render(t.Context(), &b); err != nil || strings.Contains(b.String(), "evil") {
		t.Errorf("the page leads outside: %v", err)
	}
}
