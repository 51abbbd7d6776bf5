package verifiers

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// pageView is the verdict as shown by the page.
type pageView struct {
	Kind, Text, By, Name, Engines, Coordinates string
	Checks, Problems, Unchecked                int
	Images                                     int
}

const look = `({
  Kind: verdict.className, Text: verdict.textContent, By: document.body.dataset.by, Name: document.getElementById("name").textContent,
  Engines: engines.textContent, Coordinates: coordinates.textContent,
  Checks: checks.children.length, Problems: problems.children.length, Unchecked: unchecked.children.length,
  Images: document.querySelectorAll("img, iframe, svg, object, embed, a").length,
})`

// use controls the page like a user who chooses a file.
func (p *tab) use(t testing.TB, path, keys, head string) (s pageView) {
	t.Helper()
	text, err := json.Marshal([]string{keys, head})
	if err != nil {
		t.Fatal(err)
	}
	p.eval(t, "[keys.value, head.value] = "+string(text), nil)
	p.eval(t, "document.body.dataset.done = file.value = ''", nil)
	var doc struct{ Root struct{ NodeID int } }
	p.call(t, p.session, "DOM.getDocument", struct{}{}, &doc)
	var input struct{ NodeID int }
	p.call(t, p.session, "DOM.querySelector", map[string]any{"nodeId": doc.Root.NodeID, "selector": "#file"}, &input)
	p.call(t, p.session, "DOM.setFileInputFiles", map[string]any{"nodeId": input.NodeID, "files": []string{path}}, nil)
	p.eval(t, `new Promise((resolve) => { const wait = () => document.body.dataset.done ? resolve(true) : setTimeout(wait, 10); wait(); })`, nil)
	p.eval(t, look, &s)
	return s
}

func put(t testing.TB, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// quiet checks that the page loaded only itself, and that its own policy blocked nothing.
func (p *tab) quiet(t testing.TB, address string) {
	t.Helper()
	sent, _ := p.seen("Network.requestWillBeSent")
	for _, raw := range sent {
		var e struct{ Request struct{ URL string } }
		if decode(t, raw, &e); e.Request.URL != address && !strings.HasPrefix(e.Request.URL, "blob:") {
			t.Errorf("the page asked for %s", e.Request.URL)
		}
	}
	for _, method := range []string{"Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled"} {
		if list, _ := p.seen(method); len(list) > 0 {
			t.Errorf("%s: %s", method, list[0])
		}
	}
}

// TestPageFromDisk uses the page from disk.
func TestPageFromDisk(t *testing.T) {
	t.Parallel()
	b, address := theBrowser(t), pagePath(t)
	for name, before := range map[string]string{"worker": "", "page": "delete globalThis.Worker;"} {
		p := b.open(t, address, before)
		good := put(t, "bundle.json", read(t, vectorDir, "bundles", "window.json"))
		s := p.use(t, good, vkey, "")
		if s.Kind != "good" || s.By != name || s.Checks != 10 || s.Problems != 0 || s.Unchecked != 10 ||
			!strings.HasPrefix(s.Text, "Verified: 5 entries of a chain of 12") ||
			!strings.Contains(s.Engines, "twice") {
			t.Errorf("%s, a good bundle: %+v", name, s)
		}
		if s = p.use(t, good, "", ""); s.Kind != "open" || !strings.HasPrefix(s.Text, "Intact, but unproven") {
			t.Errorf("%s, without a key: %+v", name, s)
		}
		if s = p.use(t, good, "nonsense", ""); s.Kind != "bad" || s.Checks != 0 ||
			!strings.HasPrefix(s.Text, "Nothing was checked") {
			t.Errorf("%s, with half a key: %+v", name, s)
		}
		cut := newChain(t, 12, nil)
		w := cut.window(1, 12)
		cut.leaves[4] = strings.Replace(cut.leaves[4], "applied", "denied", 1)
		if s = p.use(t, put(t, "edited.json", cut.bundle(t, w)), vkey, ""); s.Kind != "bad" ||
			!strings.Contains(s.Coordinates, "broke_at 6, broke_seq 6") ||
			!strings.Contains(s.Text, "the chain is broken, at position 6") {
			t.Errorf("%s, an edited entry: %+v", name, s)
		}
		if s = p.use(t, put(t, "receipt.json", read(t, vectorDir, "receipts", "good", "anchored.json")), "\n "+vkey+"\n",
			""); s.Kind != "good" || s.Checks < 10 {
			t.Errorf("%s, a receipt: %+v", name, s)
		}
		p.quiet(t, address)
		p.close(t)
	}
}

// TestPageIsInert gives hostile files to the page, and tries to make it send data.
// Keeps T19.
func TestPageIsInert(t *testing.T) {
	t.Parallel()
	p := theBrowser(t).open(t, pagePath(t))
	name := "<img src=x onerror=alert(1)>\u202e\u200bnosj.json"
	s := p.use(t, put(t, name, []byte(`<script>alert(1)</script>`)), vkey, "")
	if s.Kind != "bad" || s.Images != 0 ||
		!strings.Contains(s.Name, "<img src=x onerror=alert(1)>\u27e6U+202E\u27e7\u27e6U+200B\u27e7nosj.json") {
		t.Errorf("%+v", s)
	}
	var got []string
	p.eval(t, `(async () => [
	  await fetch("http://127.0.0.1:9/").then(() => "sent", () => "refused"),
	  await new Promise((resolve) => { const i = new Image(); i.onload = () => resolve("sent"); i.onerror = () => resolve("refused"); i.src = "http://127.0.0.1:9/"; }),
	  (() => { try { document.body.innerHTML = "<b>x</b>"; return "set"; } catch { return "refused"; } })(),
	  (() => { try { new Worker("data:text/javascript,0"); return "set"; } catch { return "refused"; } })(),
	])()`, &got)
	if strings.Join(got, " ") != "refused refused refused refused" {
		t.Errorf("%q", got)
	}
	sent, _ := p.seen("Network.requestWillBeSent")
	for _, raw := range sent {
		if strings.Contains(string(raw), `"url":"http://127.0.0.1:9/"`) {
			if failed, _ := p.seen("Network.loadingFailed"); !strings.Contains(string(failed[0]), "csp") {
				t.Errorf("a request left the page: %s", raw)
			}
		}
	}
}

// TestPageFromServer loads the page from a real server; afterwards it must send nothing.
func TestPageFromServer(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/verify", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	h := resp.Header
	if csp := h.Get("Content-Security-Policy"); resp.StatusCode != http.StatusOK ||
		!strings.Contains(csp, "connect-src 'none'") || !strings.Contains(csp, "frame-ancestors 'none'") ||
		h.Get("X-Content-Type-Options") != "nosniff" || len(resp.Cookies()) != 0 {
		t.Errorf("%s %v", resp.Status, h)
	}
	p := theBrowser(t).open(t, s.URL+"/verify")
	got := p.use(t, put(t, "bundle.json", read(t, vectorDir, "bundles", "whole.json")), vkey,
		"7:UKhRu3WE51MQ9F7hjPA7WfXjBGGRz2bSyL25mxEeBgU=")
	if got.Kind != "good" || got.By != "worker" {
		t.Errorf("%+v", got)
	}
	p.quiet(t, s.URL+"/verify")
	p.close(t)
}

// TestServerFiles verifies files that a real server makes of its own trail, with the key from its seal.
func TestServerFiles(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{Flags: []string{"--public-url", "https://writ.example.com"}})
	run := s.Await(s.Submit(harness.Body{"tool": "bash", "command": "echo hello"}).ID)
	for range 20 {
		s.Await(s.Submit(harness.Body{"tool": "bash", "command": "true"}).ID)
	}
	get := func(path string) []byte {
		a := s.Do(http.MethodGet, path, nil)
		if a.Status != http.StatusOK {
			t.Fatalf("GET %s: %d %.500s", path, a.Status, a.Body)
		}
		return a.Body
	}
	var seal struct{ Keys []struct{ VKey string } }
	decode(t, get("/.well-known/seal.json"), &seal)
	var all []query
	for _, path := range []string{
		"/v1/audit/bundle", "/v1/audit/bundle?from=2&to=9", "/v1/audit/bundle?from=8&to=8", "/v1/audit/bundle?limit=3",
		"/v1/runs/" + run.ID + "/receipt",
		"/v1/runs/" + run.ID + "/receipt?sparse", "/v1/runs/" + run.ID + "/receipt?from=0",
		"/v1/runs/" + run.ID + "/receipt?sparse&from=3",
	} {
		q := query{name: path, file: get(path)}
		for _, k := range seal.Keys {
			if k.VKey != "" {
				q.keys = append(q.keys, k.VKey)
			}
		}
		all = append(all, q)
	}
	for i, v := range agree(t, theBrowser(t), all) {
		if !v.OK || !v.Pinned {
			t.Errorf("%s: %+v", all[i].name, v)
		}
	}
}
