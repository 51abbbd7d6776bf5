package cli

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// addressForm finds the address that a sign-in prints.
var addressForm = regexp.MustCompile(`http://\S+`)

// browsing is a sign-in that waits for a browser.
type browsing struct {
	address *url.URL
	ended   chan int
	errs    *output
	cancel  func()
}

// browse begins a sign-in, and returns when it has printed the address.
func (u home) browse(args ...string) browsing {
	u.t.Helper()
	ctx, cancel := context.WithCancel(u.t.Context())
	u.t.Cleanup(cancel)
	b := browsing{ended: make(chan int, 1), errs: &output{}, cancel: cancel}
	r, to := io.Pipe()
	w := environment{out: io.Discard, err: io.MultiWriter(b.errs, to), in: strings.NewReader(""),
		environ: []string{"XDG_CONFIG_HOME=" + u.dir, "HOME=" + u.dir}}
	go func() {
		b.ended <- execute(ctx, w, append([]string{"login", "--no-browser"}, args...))
		_ = to.Close()
	}()
	text := ""
	for buf := make([]byte, 4<<10); !strings.HasSuffix(text, "\n") || !addressForm.MatchString(text); {
		n, err := r.Read(buf)
		if text += string(buf[:n]); err != nil {
			u.t.Fatalf("no address: %q", text)
		}
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	b.address, _ = url.Parse(addressForm.FindString(text))
	return b
}

func get(t *testing.T, address, host string) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	if host != "" {
		req.Host = host
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	raw, _ := io.ReadAll(resp.Body)
	if csp := resp.Header.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'") {
		t.Errorf("%s: %q", address, csp)
	}
	return resp.StatusCode, string(raw)
}

// TestLoginInTheBrowser signs in by an address that a browser opens, and ignores what is not of this sign-in.
func TestLoginInTheBrowser(t *testing.T) {
	t.Parallel()
	s, u := newSignInServer(t, httptest.NewServer), newHome(t)
	s.oidc = true
	b := u.browse(s.URL)
	q := b.address.Query()
	if b.address.Path != "/auth/oidc/login" || len(q.Get("challenge")) != 43 || len(q.Get("state")) != 43 {
		t.Fatalf("%s", b.address)
	}
	back := "http://127.0.0.1:" + q.Get("cli")
	for what, c := range map[string]struct {
		address, host string
		status        int
	}{
		"no state":     {back + "/?code=c0de", "", 400},
		"wrong state":  {back + "/?code=c0de&state=" + strings.Repeat("x", 43), "", 400},
		"no code":      {back + "/?state=" + q.Get("state"), "", 400},
		"another path": {back + "/favicon.ico", "", 404},
		"rebound name": {back + "/?code=c0de&state=" + q.Get("state"), "evil.test", 404},
	} {
		if status, _ := get(t, c.address, c.host); status != c.status {
			t.Errorf("%s: %d", what, status)
		}
	}
	if s.exchanged != 0 {
		t.Error("a code of somebody else was exchanged")
	}
	if status, body := get(t, b.address.String(), ""); status != 200 || !strings.Contains(body, "Signed in") ||
		strings.Contains(body, givenToken) {
		t.Errorf("%d %s", status, body)
	}
	if code := <-b.ended; code != exitDone || strings.Contains(b.errs.String(), givenToken) {
		t.Errorf("exit %d, %q", code, b.errs)
	}
	if out := u.must("", "whoami", "-o", "json"); !strings.Contains(out, `"signed_in_by": "oidc"`) {
		t.Errorf("%s", out)
	}
}

// TestLoginInTheBrowserEnds without a sign-in: after a refusal, a time, an interrupt.
func TestLoginInTheBrowserEnds(t *testing.T) {
	t.Parallel()
	s, u := newSignInServer(t, httptest.NewServer), newHome(t)
	s.oidc = true
	b := u.browse(s.URL, "--browser", "oidc")
	q := b.address.Query()
	status, body := get(t, "http://127.0.0.1:"+q.Get("cli")+"/?code=other&state="+q.Get("state"), "")
	if status != 403 || !strings.Contains(body, "Sign-in failed") {
		t.Errorf("%d %s", status, body)
	}
	if code := <-b.ended; code != exitFailed || !strings.Contains(b.errs.String(), "refused") {
		t.Errorf("exit %d, %q", code, b.errs)
	}
	b = u.browse(s.URL, "--browser", "oidc")
	b.cancel()
	if code := <-b.ended; code != exitFailed || !strings.Contains(b.errs.String(), "interrupted") {
		t.Errorf("exit %d, %q", code, b.errs)
	}
	b = u.browse(s.URL, "--browser", "oidc", "--timeout", "10ms")
	if code := <-b.ended; code != exitFailed || !strings.Contains(b.errs.String(), "within 10ms") {
		t.Errorf("exit %d, %q", code, b.errs)
	}
	if out := u.must("", "context", "list", "--jq", ".count"); out != "0\n" {
		t.Errorf("%s contexts", out)
	}
}
