package verifiers

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// browser is a headless Chromium, controlled through a pipe with its DevTools protocol.
type browser struct {
	to io.WriteCloser

	mu      sync.Mutex
	next    int
	waiting map[int]chan message
	events  []message
	news    chan struct{} // closed and replaced at each event
	gone    chan struct{} // closed once the browser has ended
}

// message is a call, its answer or an event.
type message struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
}

// chromium returns the path of the browser, under any of its names.
func chromium(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("chromium is missing; install the package chromium, or run: make setup")
	return ""
}

// chromiums is the one browser of this package. Each test uses its own pages in it: a start is slower than a test.
type chromiums struct {
	mu   sync.Mutex
	one  *browser
	page *tab // the page from disk, for verifying files
	stop func()
}

var running chromiums //nolint:gochecknoglobals // one browser for all tests of a process

// theBrowser returns the browser; the first call starts it.
func theBrowser(t testing.TB) *browser {
	t.Helper()
	running.mu.Lock()
	defer running.mu.Unlock()
	if running.one == nil {
		running.one, running.stop = startBrowser(t)
	}
	return running.one
}

// verifier returns the page that verifies files, of which there is one as well.
func (b *browser) verifier(t testing.TB) *tab {
	t.Helper()
	running.mu.Lock()
	defer running.mu.Unlock()
	if running.page == nil {
		p := b.open(t, pagePath(t))
		var engines int
		if p.eval(t, "WritVerify.signatureEngines()", &engines); engines != 2 {
			t.Errorf("%d verifiers of signatures run in this browser, and not its own as well", engines)
		}
		running.page = p
	}
	return running.page
}

// close ends the browser if it was started.
func (c *chromiums) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stop != nil {
		c.stop()
	}
}

func startBrowser(t testing.TB) (b *browser, stop func()) {
	t.Helper()
	in, toBrowser, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fromBrowser, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	home, err := os.MkdirTemp("", "chromium-")
	if err != nil {
		t.Fatal(err)
	}
	// The browser's sandbox does not work in containers and as root; only this page and our files are opened.
	cmd := exec.Command(chromium(t), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--no-first-run",
		"--disable-extensions", "--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--disable-crash-reporter",
		"--disable-background-timer-throttling", "--disable-renderer-backgrounding",
		"--disable-backgrounding-occluded-windows",
		"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--remote-debugging-pipe", "--user-data-dir="+home,
		"about:blank")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home, "LANG=C.UTF-8"}
	cmd.ExtraFiles = []*os.File{in, out}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	errs := &strings.Builder{}
	cmd.Stderr = errs
	if err := cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", cmd.Path, err)
	}
	_, _ = in.Close(), out.Close()
	b = &browser{to: toBrowser, waiting: make(map[int]chan message), news: make(chan struct{}), gone: make(chan struct{})}
	go b.read(fromBrowser)
	return b, func() {
		lost := b.ended()
		_ = toBrowser.Close() // the browser ends with its pipe
		select {
		case <-b.gone:
		case <-time.After(10 * time.Second):
		}
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // the rest of its process group
		_ = cmd.Wait()
		_ = fromBrowser.Close()
		_ = os.RemoveAll(home)
		if lost {
			fmt.Fprintf(os.Stderr, "the browser ended by itself: %.2000s\n", errs)
		}
	}
}

// ended reports whether the browser has ended.
func (b *browser) ended() bool {
	select {
	case <-b.gone:
		return true
	default:
		return false
	}
}

// read dispatches messages until the pipe ends.
func (b *browser) read(from io.Reader) {
	defer close(b.gone)
	r := bufio.NewReaderSize(from, 1<<20)
	for {
		text, err := r.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(text[:len(text)-1], &m) != nil {
			continue
		}
		b.mu.Lock()
		if m.ID != 0 {
			if c, ok := b.waiting[m.ID]; ok {
				delete(b.waiting, m.ID)
				c <- m
			}
		} else {
			b.events = append(b.events, m)
			close(b.news)
			b.news = make(chan struct{})
		}
		b.mu.Unlock()
	}
}

// call sends a command and waits for its answer.
func (b *browser) call(t testing.TB, session, method string, params, out any) {
	t.Helper()
	raw, err := json.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	b.mu.Lock()
	b.next++
	m := message{ID: b.next, Session: session, Method: method, Params: raw}
	answer := make(chan message, 1)
	b.waiting[m.ID] = answer
	b.mu.Unlock()
	text, err := json.Marshal(m)
	if err == nil {
		_, err = b.to.Write(append(text, 0))
	}
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	select {
	case m = <-answer:
	case <-b.gone:
		t.Fatalf("%s: the browser has ended", method)
	case <-time.After(waitTimeout):
		t.Fatalf("%s: no answer in time", method)
	}
	if m.Error != nil {
		t.Fatalf("%s: %s", method, m.Error)
	}
	if out != nil {
		decode(t, m.Result, out)
	}
}

// tab is a page in the browser.
type tab struct {
	*browser
	session string
	target  string
}

// close closes the page and drops its events. The browser may have ended.
func (p *tab) close(t testing.TB) {
	if !p.ended() {
		p.call(t, "", "Target.closeTarget", map[string]any{"targetId": p.target}, nil)
	}
	p.forget()
}

// forget drops the events of the page so far.
func (p *tab) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.events = slices.DeleteFunc(p.events, func(m message) bool { return m.Session == p.session })
}

// open opens a page, and runs scripts before its own.
func (b *browser) open(t testing.TB, address string, before ...string) *tab {
	t.Helper()
	var target struct {
		ID      string `json:"targetId"`
		Session string `json:"sessionId"`
	}
	b.call(t, "", "Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	b.call(t, "", "Target.attachToTarget", map[string]any{"targetId": target.ID, "flatten": true}, &target)
	p := &tab{browser: b, session: target.Session, target: target.ID}
	for _, domain := range []string{"Page", "Runtime", "Network", "Log", "DOM"} {
		b.call(t, p.session, domain+".enable", struct{}{}, nil)
	}
	for _, text := range before {
		b.call(t, p.session, "Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": text}, nil)
	}
	p.visit(t, address)
	return p
}

// visit navigates the page, and drops its earlier events.
func (p *tab) visit(t testing.TB, address string) {
	t.Helper()
	p.forget()
	p.call(t, p.session, "Page.navigate", map[string]any{"url": address}, nil)
	p.await(t, "Page.loadEventFired")
}

// seen returns the events of a method so far.
func (p *tab) seen(method string) (list []json.RawMessage, more <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.events {
		if m.Session == p.session && m.Method == method {
			list = append(list, m.Params)
		}
	}
	return list, p.news
}

func (p *tab) await(t testing.TB, method string) {
	t.Helper()
	for deadline := time.After(waitTimeout); ; {
		list, more := p.seen(method)
		if len(list) > 0 {
			return
		}
		select {
		case <-more:
		case <-deadline:
			t.Fatalf("no %s in time", method)
		}
	}
}

// eval evaluates an expression, awaits a promise, and returns the value.
func (p *tab) eval(t testing.TB, expression string, out any) {
	t.Helper()
	var got struct {
		Result    struct{ Value json.RawMessage }
		Exception json.RawMessage `json:"exceptionDetails"`
	}
	p.call(t, p.session, "Runtime.evaluate",
		map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true}, &got)
	if got.Exception != nil {
		t.Fatalf("%.200s: %s", expression, got.Exception)
	}
	if out != nil {
		decode(t, got.Result.Value, out)
	}
}

// pagePath is the page as a file on disk.
func pagePath(t testing.TB) string {
	t.Helper()
	path, err := filepath.Abs(pageFile)
	if err != nil {
		t.Fatal(err)
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// run verifies queries with the engine of the page, each in pieces of an odd size.
const run = `(async (all) => {
  const out = [];
  for (const q of all) {
    const data = Uint8Array.from(atob(q.file), (c) => c.charCodeAt(0));
    let at = 0;
    const read = async () => (at >= data.length ? { done: true } : { done: false, value: data.subarray(at, (at += 997)) });
    try {
      const v = await WritVerify.verify({ read }, { keys: q.keys, from: q.from, now: q.now ? Date.parse(q.now) : Date.now() });
      v.checks = v.checks.map(({ id, result }) => ({ id, result }));
      out.push(v);
    } catch (e) {
      if (!(e instanceof WritVerify.Unknown)) throw e;
      out.push({ unknown: true, why: e.message });
    }
  }
  return out;
})`

// verify verifies with the page.
func (b *browser) verify(t testing.TB, all []query) []verdict {
	t.Helper()
	p := b.verifier(t)
	out := make([]verdict, 0, len(all))
	const batch = 50
	for from := 0; from < len(all); from += batch {
		list := make([]wire, 0, batch)
		for _, q := range all[from:min(from+batch, len(all))] {
			list = append(list, q.wire())
		}
		text, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		var part []verdict
		p.eval(t, fmt.Sprintf("%s(%s)", run, text), &part)
		out = append(out, part...)
	}
	if len(out) != len(all) {
		t.Fatalf("%d answers to %d files", len(out), len(all))
	}
	return out
}
