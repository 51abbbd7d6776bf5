package ops

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// verifyPage is the page that checks files of the audit trail in a browser. It is one file that works from disk as
// well, so it states its policy itself; as a header the same policy also covers directives that a page cannot set
// itself.
type verifyPage struct {
	text   []byte
	engine []byte
	policy string
}

func newVerifyPage() (verifyPage, error) {
	text, err := assets.ReadFile("assets/verify/verify.html")
	if err != nil {
		return verifyPage{}, fmt.Errorf("read the page that verifies: %w", err)
	}
	_, rest, ok := strings.Cut(string(text), `<meta http-equiv="Content-Security-Policy" content="`)
	policy, _, closed := strings.Cut(rest, `">`)
	if !ok || !closed || strings.ContainsAny(policy, "\r\n") {
		return verifyPage{}, errors.New("the page that verifies states no policy")
	}
	engine, err := newEngine(text)
	return verifyPage{text: text, engine: engine, policy: policy + "; frame-ancestors 'none'"}, err
}

func (p verifyPage) serve(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", p.policy)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=(), usb=(), clipboard-read=()")
	h.Set("Cache-Control", "no-cache")
	_, _ = w.Write(p.text)
}
