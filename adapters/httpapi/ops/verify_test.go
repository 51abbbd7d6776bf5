package ops

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestVerifyPageStatesItsPolicy compares the hashes of the policy with the page's scripts and style: with another
// hash the browser would not run them.
func TestVerifyPageStatesItsPolicy(t *testing.T) {
	t.Parallel()
	p, err := newVerifyPage()
	if err != nil {
		t.Fatal(err)
	}
	hashes := func(tag string) string {
		var out []string
		for _, m := range regexp.MustCompile(`(?s)<`+tag+`(?: id="[a-z]+")?>(.*?)</`+tag+`>`).FindAllSubmatch(p.text, -1) {
			sum := sha256.Sum256(m[1])
			out = append(out, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
		}
		return strings.Join(out, " ")
	}
	want := "default-src 'none'; script-src " + hashes("script") + "; style-src " + hashes("style") +
		"; worker-src blob:; connect-src 'none'; " +
		"base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types writ; frame-ancestors 'none'"
	if p.policy != want {
		t.Errorf("the page states\n%s\nand needs\n%s", p.policy, want)
	}
	w := httptest.NewRecorder()
	p.serve(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/verify", nil))
	if h := w.Header(); h.Get("Content-Security-Policy") != want || h.Get("Content-Type") != "text/html; charset=utf-8" ||
		!bytes.Equal(w.Body.Bytes(), p.text) {
		t.Errorf("served with %v", h)
	}
}

var update = flag.Bool("update", false, "write the digest of the page that verifies into what publishes it")

// TestVerifyPageIsPublished compares the page with the published digest, by which a reader recognizes an altered
// page.
func TestVerifyPageIsPublished(t *testing.T) {
	t.Parallel()
	p, err := newVerifyPage()
	if err != nil {
		t.Fatal(err)
	}
	published := regexp.MustCompile("(SHA-256 of the page `/verify`: `)[0-9a-f]{64}`")
	for _, name := range []string{"docs/guides/auditor.md", "CHANGELOG.md"} {
		path := filepath.Join("..", "..", "..", filepath.FromSlash(name))
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want := published.ReplaceAll(text, fmt.Appendf(nil, "${1}%x`", sha256.Sum256(p.text)))
		if *update {
			if err := os.WriteFile(path, want, 0o644); err != nil { //nolint:gosec // a page for everybody
				t.Fatal(err)
			}
			continue
		}
		if len(published.FindAll(text, -1)) != 1 || !bytes.Equal(text, want) {
			t.Errorf("%s publishes another digest of the page (write it with -update), or none", name)
		}
	}
}

// TestVerifyPageLoadsNothing looks for whatever could load or run something beside the page itself.
func TestVerifyPageLoadsNothing(t *testing.T) {
	t.Parallel()
	p, err := newVerifyPage()
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{
		" src=", " href=", "@import", "url(", "<link", "<iframe", "<img", " style=", "innerHTML", "outerHTML",
		"insertAdjacent", "document.write", "eval(",
		"new Function", "fetch(", "XMLHttpRequest", "WebSocket", "EventSource", "sendBeacon", "importScripts", "localStorage",
		"sessionStorage", "document.cookie",
	} {
		if bytes.Contains(p.text, []byte(bad)) {
			t.Errorf("the page holds %q", bad)
		}
	}
	if m := regexp.MustCompile(` on[a-z]+=`).Find(p.text); m != nil {
		t.Errorf("the page has a handler in its markup: %s", m)
	}
}
