package verifiers

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// payloads are texts that try to act as markup. If one of them runs, it sets canary.
func payloads() []string {
	return []string{
		`</script><script>canary=1</script>`, `"><img src=x onerror=canary=1>`,
		`' onmouseover='canary=1' autofocus onfocus='canary=1`,
		`</style></title></textarea><svg onload=canary=1>`, `<!--><iframe srcdoc="<script>parent.canary=1</script>">`,
		`<a href="javascript:canary=1">x</a>`,
		"\u202egnp.js\u202c\u2066x\u2069\u200b", `{{.}}{{printf "%s" "x"}}${canary=1}`, `=cmd|' /C calc'!A0`, `+1`,
		`@SUM(A1)`, `]]><![CDATA[`, `<base href="http://127.0.0.1:9/">`,
		`<meta http-equiv="refresh" content="0;url=http://127.0.0.1:9/">`, `<link rel=stylesheet href="http://127.0.0.1:9/">`,
		`<form action=http://127.0.0.1:9/><input name=x>`, "\u2028canary=1\u2029",
	}
}

const canary = `Object.defineProperty(globalThis, "canary", { set() { globalThis.sang = true; }, get() { return 0; } });
for (const f of ["alert", "confirm", "prompt", "open"]) globalThis[f] = () => { globalThis.sang = true; };`

// inert checks that a document only shows text: nothing runs, is loaded, navigates away or is interactive.
func (p *tab) inert(t testing.TB, what, address string) {
	t.Helper()
	var got struct {
		Sang   bool
		Odd    []string
		Length int
	}
	p.eval(t, `({
	  Sang: globalThis.sang === true, Length: document.body.textContent.length,
	  Odd: [...document.querySelectorAll("*")].flatMap((e) => {
	    const odd = [...e.attributes].filter((a) => /^on|^style$|^srcdoc$|^action$/.test(a.name) || /^(src|href)$/.test(a.name) && !a.value.startsWith("#")).map((a) => e.tagName + " " + a.name);
	    if (/^(IMG|IFRAME|OBJECT|EMBED|SVG|BASE|LINK|FORM|INPUT|TEXTAREA|BUTTON|AUDIO|VIDEO|FRAME|PLAINTEXT|TEMPLATE)$/i.test(e.tagName)) odd.push(e.tagName);
	    if (e.tagName === "SCRIPT" && e.type !== "application/json") odd.push("a script that runs");
	    if (e.tagName === "META" && e.httpEquiv === "refresh") odd.push("a refresh");
	    return odd;
	  }),
	})`, &got)
	if got.Sang || len(got.Odd) > 0 || got.Length < 500 {
		t.Errorf("%s: %+v", what, got)
	}
	sent, _ := p.seen("Network.requestWillBeSent")
	for _, raw := range sent {
		var e struct{ Request struct{ URL string } }
		if decode(t, raw, &e); e.Request.URL != address {
			t.Errorf("%s asked for %s", what, e.Request.URL)
		}
	}
	if list, _ := p.seen("Runtime.exceptionThrown"); len(list) > 0 {
		t.Errorf("%s: %s", what, list[0])
	}
}

var metaPolicy = regexp.MustCompile(`<meta http-equiv="Content-Security-Policy"[^>]*>`)

// everywhere opens a document from disk, with and without its policy: it must be inert in both cases.
func (p *tab) everywhere(t *testing.T, what string, doc []byte) {
	t.Helper()
	bare := metaPolicy.ReplaceAll(doc, nil)
	if len(bare) == len(doc) {
		t.Errorf("%s states no policy", what)
	}
	for name, text := range map[string][]byte{"policy.html": doc, "bare.html": bare} {
		address := (&url.URL{Scheme: "file", Path: put(t, name, text)}).String()
		p.visit(t, address)
		p.inert(t, what+", "+name, address)
	}
}

// TestEvidenceIsInertInABrowser puts hostile text into every value that an API caller controls.
// Keeps T19.
func TestEvidenceIsInertInABrowser(t *testing.T) {
	t.Parallel()
	s, b := harness.Start(t, harness.Options{}), theBrowser(t)
	p := b.open(t, "about:blank", canary)
	defer p.close(t)
	taken := map[string]bool{}
	for i, evil := range payloads() {
		agent := strings.Map(func(r rune) rune {
			if r > 0x7e {
				return -1
			}
			return r
		}, evil)
		try := func(name, path string, body harness.Body) []byte {
			a := s.Do(http.MethodPost, path, body, "User-Agent", agent, "X-Forwarded-For", agent)
			if a.Status >= 500 {
				t.Errorf("%s: %d %s", name, a.Status, a.Body)
			}
			if a.Status < 300 {
				taken[name] = true
				return a.Body
			}
			return nil
		}
		try("user", "/v1/users", harness.Body{"username": fmt.Sprint("u", i, evil), "role": "viewer"})
		try("team", "/v1/teams", harness.Body{"name": evil})
		body := harness.Body{"tool": "bash", "command": "true", "require_approval": true}
		for name, value := range map[string]any{
			"name": evil, "command": "true # " + evil, "change": evil, "queue": evil, "limit": evil, "tags": []string{evil},
			"labels": map[string]string{"x": evil}, "inventory": evil,
			"env": map[string]string{"X": evil}, "extra_vars": map[string]string{evil: evil}, "project_id": evil,
			"playbook": evil,
		} {
			one := harness.Body{"tool": "bash", "command": "true", "require_approval": true, name: value}
			if try(name, "/v1/runs", one) != nil {
				body[name] = value
			}
		}
		var run struct{ ID string }
		decode(t, try("all", "/v1/runs", body), &run)
		try("reason", "/v1/runs/"+run.ID+"/reject", harness.Body{"reason": evil})
		path := "/v1/runs/" + run.ID + "/evidence"
		a := s.Do(http.MethodGet, path, nil)
		if a.Status != http.StatusOK {
			t.Fatalf("%s: %d %s", path, a.Status, a.Body)
		}
		p.everywhere(t, fmt.Sprintf("the evidence of %q", evil), a.Body)
		if i == 0 {
			b.served(t, s, path)
		}
	}
	for _, name := range []string{"name", "command", "change", "labels", "reason", "all"} {
		if !taken[name] {
			t.Errorf("%s took no hostile text: %v", name, taken)
		}
	}
}

// served opens a document with the policy and the sandbox of its headers.
func (b *browser) served(t *testing.T, s *harness.Server, path string) {
	t.Helper()
	p := b.open(t, "about:blank", canary)
	p.call(t, p.session, "Network.setExtraHTTPHeaders",
		map[string]any{"headers": map[string]string{"Authorization": "Bearer " + s.Token}}, nil)
	p.visit(t, s.URL+path)
	p.inert(t, path, s.URL+path)
	p.close(t)
}

// TestRegisterIsInertInABrowser opens the register with all hostile texts that the module's tests store.
// Keeps T19.
func TestRegisterIsInertInABrowser(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile(filepath.Join("..", "..", "modules", "audit", "internal", "report", "register", "testdata",
		"hostile.html"))
	if err != nil {
		t.Fatal(err)
	}
	p := theBrowser(t).open(t, "about:blank", canary)
	defer p.close(t)
	p.everywhere(t, "the register", doc)
}

// TestHostileFilesOnThePage shows bundles and receipts of hostile entries on the verifying page.
// Keeps T19.
func TestHostileFilesOnThePage(t *testing.T) {
	t.Parallel()
	p := theBrowser(t).open(t, pagePath(t), canary)
	for i, evil := range payloads() {
		c := newChain(t, 3, func(int) map[string]any {
			return map[string]any{"sub": evil, "obj": "user/" + evil, "req": evil}
		})
		good := c.bundle(t, c.window(1, 3))
		// The forge escapes line separators; leaves do not.
		if s := p.use(t, put(t, fmt.Sprint(i, ".json"), good), vkey, ""); (s.Kind == "good") != !strings.ContainsRune(evil,
			'\u2028') || s.Images != 0 {
			t.Errorf("%q: %+v", evil, s)
		}
		bad := strings.Replace(string(good), `"kind":"`, `"kind":`+quote(evil)+`,"x":"`, 1)
		bad = strings.Replace(bad, `"payloadType":"`, `"payloadType":"`+strings.Trim(quote(evil), `"`), 1)
		if s := p.use(t, put(t, fmt.Sprint(i, ".json"), []byte(bad)), vkey, ""); s.Kind != "bad" || s.Images != 0 {
			t.Errorf("%q: %+v", evil, s)
		}
		if s := p.use(t, put(t, fmt.Sprint(i, ".json"), good), evil, evil); s.Kind != "bad" || s.Images != 0 {
			t.Errorf("%q as a key: %+v", evil, s)
		}
	}
	var sang bool
	if p.eval(t, "globalThis.sang === true", &sang); sang {
		t.Error("something ran")
	}
	p.quiet(t, pagePath(t))
	p.close(t)
}
