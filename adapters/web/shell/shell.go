package shell

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/system"
)

// policy is the policy of the pages. Only the script of htmx may write markup (see assets/js/boot.js).
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; worker-src 'self'; " +
	"require-trusted-types-for 'script'; trusted-types htmx"

// heldShown is the largest number of held runs that the navigation shows.
const heldShown = 100

// Config of New.
type Config struct {
	Router *httpapi.Router
	Runs   runs.Reader
	Info   system.Info
	Clock  clock.Clock
	// Assets returns the path of a file of the package assets.
	Assets func(name string) string
	// Advice means that the server has an AI provider.
	Advice bool
}

// Shell serves the pages of all sections.
type Shell struct {
	router *httpapi.Router
	runs   runs.Reader
	info   system.Info
	clock  clock.Clock
	asset  func(string) string
	advice bool
	mux    *http.ServeMux
	routes []Route

	packers sync.Pool

	once       sync.Once
	operations map[string]operation
}

// Route is a registered page.
type Route struct {
	// Pattern is the method and the path, as in http.ServeMux.
	Pattern string
	// Need is the right that the page needs; it is zero for a public one.
	Need identity.Need
}

// New returns a shell without pages.
func New(c Config) *Shell {
	s := &Shell{router: c.Router, runs: c.Runs, info: c.Info, clock: c.Clock, asset: c.Assets, advice: c.Advice,
		mux: http.NewServeMux()}
	s.Post("/ui/do/{operation}", identity.Need{Kind: "system", Act: "read"}, s.act)
	s.Post("/ui/appearance", identity.Need{}, s.appearance)
	s.Get("/ui/icon/{file}", identity.Need{}, s.icon)
	return s
}

// Routes returns all pages in the order of their registration.
func (s *Shell) Routes() []Route { return s.routes }

// Version returns the version of the product.
func (s *Shell) Version() string { return s.info.Version }

// Get registers a page for callers with the need. A zero need admits everybody, also visitors who have not signed in.
func (s *Shell) Get(path string, need identity.Need, h Handler) { s.handle("GET "+path, need, h) }

// Post registers the handler of a form that is no operation of the API.
func (s *Shell) Post(path string, need identity.Need, h Handler) { s.handle("POST "+path, need, h) }

func (s *Shell) handle(pattern string, need identity.Need, h Handler) {
	s.routes = append(s.routes, Route{Pattern: pattern, Need: need})
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, req *http.Request) { s.serve(w, req, need, h) })
}

// ServeHTTP serves a page, or one that says that there is none.
func (s *Shell) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if _, pattern := s.mux.Handler(req); pattern == "" {
		s.serve(w, req, identity.Need{}, func(*Request) (*Page, error) {
			return nil, (&fault.Error{Kind: fault.NotFound, Message: "there is no page under this address"})
		})
		return
	}
	s.mux.ServeHTTP(w, req)
}

func (s *Shell) serve(w http.ResponseWriter, req *http.Request, need identity.Need, h Handler) {
	known, err := s.enter(req, need)
	if err == nil {
		err = plain(req.URL)
	}
	r := &Request{Request: known, Writer: w, Now: s.clock.Now(), shell: s}
	r.Viewer = s.viewer(r)
	f := &frame{request: r, form: formOf(known.Context())}
	if f.form == nil {
		f.notice = takeNotice(w, known)
	}
	r.Request = known.WithContext(context.WithValue(known.Context(), frameKey{}, f))
	var p *Page
	switch to := r.kept(); {
	case to != "":
		err = Redirect(to)
	case err == nil:
		p, err = h(r)
	}
	if err != nil {
		p = s.failed(r, err)
	}
	if p != nil {
		s.write(r, p)
	}
}

// plain refuses a NUL or invalid UTF-8 in the path or the query, which no database accepts.
func plain(u *url.URL) error {
	query, err := url.QueryUnescape(u.RawQuery)
	if err != nil || !utf8.ValidString(u.Path+query) || strings.ContainsRune(u.Path+query, 0) {
		return fault.BadField("query", "holds a NUL character or is not UTF-8")
	}
	return nil
}

// enter returns the request with its caller. A page without a need shows who signed in, and is shown without them too.
func (s *Shell) enter(req *http.Request, need identity.Need) (*http.Request, error) {
	public := need == identity.Need{}
	if public {
		need = identity.Need{Kind: "system", Act: "read"}
	}
	known, err := s.router.Enter(req, need)
	switch {
	case err == nil:
		return known, nil
	case public && (req.Method == http.MethodGet || fault.Is(err, fault.Unauthenticated)):
		return req, nil
	}
	return req, err //nolint:wrapcheck // a fault
}

// failed returns the page of an error, or nil if the answer is complete. Visitors without a session are sent to the
// sign-in, and come back from there.
func (s *Shell) failed(r *Request, err error) *Page {
	var to redirect
	switch {
	case errors.As(err, new(served)):
		return nil
	case errors.As(err, &to):
		s.redirect(r, to.to)
		return nil
	case fault.Is(err, fault.Unauthenticated):
		next := "/ui/login"
		if r.Method == http.MethodGet {
			next += "?next=" + url.QueryEscape(r.URL.RequestURI())
		}
		s.redirect(r, next)
		return nil
	}
	p := httpapi.Explain(r.Writer, r.Request, err)
	return &Page{Title: errorTitle(p.Status), Status: p.Status, Bare: !r.Viewer.SignedIn(), Body: errorPage(p)}
}

func (s *Shell) redirect(r *Request, to string) {
	if r.Header.Get("HX-Request") != "" {
		r.Writer.Header().Set("HX-Redirect", to)
		r.Writer.WriteHeader(http.StatusNoContent)
		return
	}
	http.Redirect(r.Writer, r.Request, to, http.StatusSeeOther)
}

// write renders a page, the content of it, or one of its parts.
func (s *Shell) write(r *Request, p *Page) {
	var b bytes.Buffer
	var err error
	part := p.Parts[strings.TrimPrefix(hxTarget(r.Header.Get("HX-Target")), "#")]
	switch {
	case r.Header.Get("HX-Request") != "" && part != nil:
		err = part.Render(r.Context(), &b)
	default:
		err = document(r, p).Render(r.Context(), &b)
	}
	if err != nil {
		httpapi.WriteError(r.Writer, r.Request, err)
		return
	}
	h := r.Writer.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Vary", "Accept-Encoding, HX-Request, HX-Target")
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		packed := r.shell.packer()
		defer r.shell.packers.Put(packed)
		r.Writer.WriteHeader(max(p.Status, http.StatusOK))
		packed.Reset(r.Writer)
		_, _ = packed.Write(b.Bytes())
		_ = packed.Close()
		return
	}
	r.Writer.WriteHeader(max(p.Status, http.StatusOK))
	_, _ = r.Writer.Write(b.Bytes())
}

// packer returns a packer of the pool: its window is too large to be made for each page.
func (s *Shell) packer() *gzip.Writer {
	if z, ok := s.packers.Get().(*gzip.Writer); ok {
		return z
	}
	z, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is a known one
	return z
}

// hxTarget returns the id in the name of a target, such as "#rows" or "tbody#rows".
func hxTarget(name string) string {
	if _, id, ok := strings.Cut(name, "#"); ok {
		return id
	}
	return name
}

// The names of the cookies: how pages look, and what the next page confirms.
const (
	appearanceCookie = "writ_ui"
	noticeCookie     = "writ_notice"
	appearanceAge    = 365 * 24 * 60 * 60
	noticeAge        = 30
)

func (s *Shell) viewer(r *Request) Viewer {
	c := s.router.Config()
	v := Viewer{Open: c.Open, ReadOnly: c.ReadOnly, Advice: s.advice, Zone: time.UTC, Keys: true}
	chosen, err := url.ParseQuery(httpapi.CookieValue(r.Request, appearanceCookie))
	if err == nil {
		v.Theme, v.Density = oneOf(chosen.Get("theme"), "light", "dark"), oneOf(chosen.Get("density"), "compact")
		v.Keys = chosen.Get("keys") != "off"
		if zone, err := time.LoadLocation(chosen.Get("zone")); err == nil && chosen.Get("zone") != "Local" {
			v.Zone = zone
		}
	}
	p, ok := identity.From(r.Context())
	if !ok {
		return v
	}
	v.ID, v.Name, v.Role = p.User.ID, p.User.Username, p.User.Role
	if r.Header.Get("HX-Target") == "" {
		v.Held = s.held(r)
	}
	return v
}

// held counts the held runs. A page is shown without the number if they cannot be read.
func (s *Shell) held(r *Request) int {
	list, err := s.runs.List(r.Context(), runs.Filter{Statuses: []runs.Status{runs.PendingApproval}, Limit: 1})
	if err != nil {
		return 0
	}
	return list.Total
}

func oneOf(value string, choices ...string) string {
	for _, c := range choices {
		if c == value {
			return c
		}
	}
	return ""
}

// appearance stores how pages look. Without script, a form posts it and the browser goes back to its page.
func (s *Shell) appearance(r *Request) (*Page, error) {
	if err := r.ParseForm(); err != nil {
		return nil, fault.BadField("body", "is no form")
	}
	chosen, _ := url.ParseQuery(httpapi.CookieValue(r.Request, appearanceCookie))
	for _, name := range []string{"theme", "density", "zone", "keys"} {
		if r.PostForm.Has(name) {
			chosen.Set(name, r.PostForm.Get(name))
		}
	}
	if line := httpapi.ShortCookie(r.Context(), appearanceCookie, chosen.Encode(), appearanceAge); line != "" {
		r.Writer.Header().Add("Set-Cookie", line)
	}
	return nil, Redirect(inside(r.PostForm.Get("_next"), "/ui/"))
}

// Notice makes the next page of the browser confirm what was done.
func (r *Request) Notice(text string) {
	value := base64.RawURLEncoding.EncodeToString([]byte(text))
	if line := httpapi.ShortCookie(r.Context(), noticeCookie, value, noticeAge); line != "" {
		r.Writer.Header().Add("Set-Cookie", line)
	}
}

// maxNotice bounds a notice, which the browser sends back.
const maxNotice = 500

func takeNotice(w http.ResponseWriter, r *http.Request) string {
	text, err := base64.RawURLEncoding.DecodeString(httpapi.CookieValue(r, noticeCookie))
	if err != nil || len(text) == 0 || len(text) > maxNotice {
		return ""
	}
	w.Header().Add("Set-Cookie", httpapi.ShortCookie(r.Context(), noticeCookie, "", -1))
	return string(text)
}

// inside returns a path of the interface, or other if the text is none.
func inside(to, other string) string {
	u, err := url.Parse(to)
	if err != nil || u.IsAbs() || u.Host != "" || u.User != nil || strings.HasPrefix(to, "//") ||
		strings.Contains(to, "\\") || !strings.HasPrefix(path.Clean(u.Path)+"/", "/ui/") {
		return other
	}
	return to
}

func heldText(n int) string {
	if n >= heldShown {
		return strconv.Itoa(heldShown-1) + "+"
	}
	return strconv.Itoa(n)
}
