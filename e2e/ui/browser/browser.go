package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Path is the variable of the environment that names the browser's program; empty is the one in PATH.
const Path = "WRIT_TEST_BROWSER"

// Shots is the variable of the environment that names the folder of screenshots; empty makes none.
const Shots = "WRIT_TEST_SHOTS"

// SessionCookie is the cookie of a session.
const SessionCookie = "writ_session"

// limit is how long a page may take for one step. Browsers share their machine with the server and other tests.
const limit = 3 * time.Minute

// Browser is a running Chromium.
type Browser struct {
	t   testing.TB
	ctx context.Context
}

// Start starts a browser, which the end of the test stops.
func Start(t testing.TB) *Browser {
	t.Helper()
	program := os.Getenv(Path)
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if program == "" {
			program, _ = exec.LookPath(name)
		}
	}
	if program == "" {
		t.Fatal("no browser: install chromium or set " + Path)
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(program),
		chromedp.NoSandbox, chromedp.Flag("hide-scrollbars", false), chromedp.Flag("enable-precise-memory-info", true))
	alloc, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(alloc)
	t.Cleanup(func() { cancel(); stop() })
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start %s: %v", program, err)
	}
	return &Browser{t: t, ctx: ctx}
}

// For returns the browser for a sub-test, which fails alone.
func (b *Browser) For(t testing.TB) *Browser { return &Browser{t: t, ctx: b.ctx} }

// Page is a tab with cookies of its own.
type Page struct {
	t      testing.TB
	ctx    context.Context
	origin string

	mu       sync.Mutex
	problems []string
	allowed  []string
}

// Page opens a tab for a server, with the token of a session; without one it is a visitor's.
func (b *Browser) Page(origin, session string) *Page {
	b.t.Helper()
	ctx, cancel := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	b.t.Cleanup(cancel)
	p := &Page{t: b.t, ctx: ctx, origin: origin}
	err := chromedp.Listen(ctx, p.observe)
	if err == nil {
		_, err = chromedp.Call(ctx, log.Enable, cdp.Empty{})
	}
	if err == nil && session != "" {
		_, err = chromedp.Call(ctx, network.SetCookie,
			network.SetCookieParams{Name: SessionCookie, Value: session, URL: origin})
	}
	if err != nil {
		b.t.Fatalf("open a tab: %v", err)
	}
	b.t.Cleanup(p.Check)
	p.Size(1280, 900)
	return p
}

// observe collects errors and warnings of the console, exceptions, and reports of the policy.
func (p *Page) observe(ev any) {
	switch e := ev.(type) {
	case *runtime.EventExceptionThrown:
		p.report("exception: " + e.ExceptionDetails.Text + " " + describe(e.ExceptionDetails.Exception))
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" || e.Type == "warning" || e.Type == "assert" {
			text := string(e.Type) + ":"
			for _, a := range e.Args {
				text += " " + describe(a)
			}
			p.report(text)
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == "error" || e.Entry.Source == "security" {
			p.report(fmt.Sprintf("%s %s: %s %s", e.Entry.Source, e.Entry.Level, e.Entry.Text, e.Entry.URL))
		}
	}
}

func describe(o *runtime.RemoteObject) string {
	if o == nil {
		return ""
	}
	if o.Description != "" {
		return o.Description
	}
	return string(o.Value)
}

func (p *Page) report(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problems = append(p.problems, text)
}

// Allow makes Check ignore problems with a text, for tests in which the server goes away.
func (p *Page) Allow(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.allowed = append(p.allowed, text)
}

// Problems returns what the console and the policy reported.
func (p *Page) Problems() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for _, text := range p.problems {
		ok := false
		for _, a := range p.allowed {
			ok = ok || strings.Contains(text, a)
		}
		if !ok {
			out = append(out, text)
		}
	}
	return out
}

// Check fails the test if there were problems. It runs at the end of the test too.
func (p *Page) Check() {
	p.t.Helper()
	for _, text := range p.Problems() {
		p.t.Errorf("the page reported %s", text)
	}
	p.mu.Lock()
	p.problems = nil
	p.mu.Unlock()
}

// within returns a context for one step.
func (p *Page) within() (context.Context, context.CancelFunc) {
	return context.WithTimeout(p.ctx, limit)
}

// do runs a step.
func (p *Page) do(what string, steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := p.within()
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.t.Fatalf("%s: %v\n%s", what, err, strings.Join(p.Problems(), "\n"))
	}
}

// Open shows a page of the server.
func (p *Page) Open(path string) { p.t.Helper(); p.do("open "+path, chromedp.Navigate(p.origin+path)) }

// Size sets the size of the window.
func (p *Page) Size(width, height int64) {
	p.t.Helper()
	call(p, "resize", emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: width, Height: height, DeviceScaleFactor: 1, Mobile: false,
	})
}

// Media sets features of media queries in place of those set before: names, such as forced-colors, each with its value.
func (p *Page) Media(pairs ...string) {
	p.t.Helper()
	var list []*emulation.MediaFeature
	for pair := range slices.Chunk(pairs, 2) {
		list = append(list, &emulation.MediaFeature{Name: pair[0], Value: pair[1]})
	}
	call(p, "media", emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: list})
}

// Scriptless switches off the scripts of the pages that are opened next.
func (p *Page) Scriptless() {
	p.t.Helper()
	call(p, "no script", emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
}

// Choose chooses a file in a field.
func (p *Page) Choose(selector, file string) {
	p.t.Helper()
	p.do("choose "+file, chromedp.SetUploadFiles(chromedp.CSS(selector), []string{file}, chromedp.NodeReady))
}

// call sends a command of the protocol.
func call[P, R any](p *Page, what string, cmd cdp.Command[P, R], params P) R {
	p.t.Helper()
	ctx, cancel := p.within()
	defer cancel()
	out, err := chromedp.Call(ctx, cmd, params)
	if err != nil {
		p.t.Fatalf("%s: %v", what, err)
	}
	return out
}

// Eval evaluates an expression, and waits for it if it is a promise.
func Eval[T any](p *Page, expression string) T {
	p.t.Helper()
	out, err := eval[T](p, expression)
	if err != nil {
		p.t.Fatalf("%s: %v\n%s", expression, err, strings.Join(p.Problems(), "\n"))
	}
	return out
}

func eval[T any](p *Page, expression string) (T, error) {
	ctx, cancel := p.within()
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// Wait waits until an expression is true. One that fails is not true yet: the page may just be going to another one.
func (p *Page) Wait(what, expression string) {
	p.t.Helper()
	for end := time.Now().Add(limit); ; <-time.After(20 * time.Millisecond) {
		got, err := eval[bool](p, "(async () => Boolean("+expression+"))()")
		if got {
			return
		}
		if time.Now().After(end) {
			p.Shot("timeout")
			p.t.Fatalf("not within %s: %s (%v)\n%s", limit, what, err, strings.Join(p.Problems(), "\n"))
		}
	}
}

// Text returns the text of an element that is shown.
func (p *Page) Text(selector string) string {
	p.t.Helper()
	return Eval[string](p, fmt.Sprintf("document.querySelector(%q).innerText", selector))
}

// Press sends keys to what has the focus. Names of kb, such as kb.ArrowDown, are keys. As in a browser that a person
// uses, a key that the page cancels writes no character.
func (p *Page) Press(keys string) {
	p.t.Helper()
	for _, r := range keys {
		var down *input.DispatchKeyEventParams
		for _, e := range kb.Encode(r) {
			switch e.Type {
			case kb.KeyChar:
				down.Type, down.Text, down.UnmodifiedText = "keyDown", e.Text, e.UnmodifiedText
			case kb.KeyUp:
				call(p, "press", input.DispatchKeyEvent, *down)
				call(p, "release", input.DispatchKeyEvent, *e)
			default:
				down = e
			}
		}
	}
}

// Click clicks an element.
func (p *Page) Click(selector string) {
	p.t.Helper()
	p.do("click "+selector, chromedp.Click(chromedp.CSS(selector)))
}

// Type writes into a field.
func (p *Page) Type(selector, text string) {
	p.t.Helper()
	p.do("type into "+selector, chromedp.SendKeys(chromedp.CSS(selector), text))
}

// Do runs steps of chromedp.
func (p *Page) Do(what string, steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	p.do(what, steps...)
}

// Shot writes a screenshot into the folder that Shots names.
func (p *Page) Shot(name string) {
	p.t.Helper()
	dir := os.Getenv(Shots)
	if dir == "" {
		return
	}
	out := call(p, "screenshot", page.CaptureScreenshot, page.CaptureScreenshotParams{})
	file := filepath.Join(dir, name+".png")
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(file, out.Data, 0o600)); err != nil {
		p.t.Errorf("screenshot: %v", err)
	}
}
