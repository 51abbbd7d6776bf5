package shell

import (
	"context"
	"net/http"
	"time"

	"github.com/a-h/templ"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/identity"
)

// Group is the value group that sections are provided in.
const Group = `group:"web.sections"`

// Section registers the pages of one section of the navigation.
type Section struct {
	Name     string
	Register func(*Shell)
}

// The entries of the navigation. A page belongs to one of them, or to none.
const (
	Overview  = "Overview"
	Runs      = "Runs"
	Approvals = "Approvals"
	Launch    = "Launch"
	Fleet     = "Fleet"
	Trust     = "Trust"
	Ask       = "Ask"
	Settings  = "Settings"
)

// Page is the answer of a Handler.
type Page struct {
	// Title is the title of the document without the name of the product.
	Title string
	// Nav is the entry of the navigation that is current, empty for none.
	Nav string
	// Tab is the path of the tab of the section that is current; empty for the one that the page is below.
	Tab string
	// Glyph is the state that the icon of the tab shows, empty for none.
	Glyph string
	// Wide gives the content all of the width. Class is the class of the content's element.
	Wide  bool
	Class string
	// Bare leaves out the navigation: for pages of visitors who have not signed in.
	Bare bool
	// Status is the HTTP status; 0 means 200.
	Status int
	// Body is the content of the page.
	Body templ.Component
	// Parts are the elements of the page that a request of htmx may ask for alone, by their id.
	Parts map[string]templ.Component
}

// Handler makes a page. An error becomes a page that shows it.
type Handler func(*Request) (*Page, error)

// Viewer is the caller and how pages are shown to them.
type Viewer struct {
	ID, Name string
	Role     identity.Role
	// Open means that the install needs no sign-in, ReadOnly that it refuses changes.
	Open, ReadOnly bool
	// Advice means that the server has an AI provider.
	Advice bool
	// Theme is light, dark or empty, Density is compact or empty.
	Theme, Density string
	// Zone is the time zone of the viewer, UTC unless they chose another one.
	Zone *time.Location
	// Keys reports whether shortcuts of a single letter work.
	Keys bool
	// Held is the number of held runs that the viewer may read.
	Held int
}

// SignedIn reports whether the viewer is known.
func (v Viewer) SignedIn() bool { return v.ID != "" }

// Operator and Admin report whether the viewer's role includes that role.
func (v Viewer) Operator() bool { return v.Role.Rank() >= identity.Operator.Rank() }

// Admin reports whether the viewer is an administrator.
func (v Viewer) Admin() bool { return v.Role.Rank() >= identity.Admin.Rank() }

// Request is a request for a page. Its context names the caller, as the driving ports need it.
type Request struct {
	*http.Request
	// Writer is for the few handlers that stream or set headers.
	Writer http.ResponseWriter
	Viewer Viewer
	Now    time.Time

	shell *Shell
}

// May reports whether the viewer may do act to objects of kind.
func (r *Request) May(kind, act string) bool {
	ok, err := r.shell.router.May(r.Context(), kind, act)
	return ok && err == nil
}

// Call calls an operation of the API for the viewer.
func (r *Request) Call(c httpapi.Call) httpapi.Answer { return r.shell.router.Call(r.Request, c) }

// Get reads from the API for the viewer what no driving port gives, into a value that JSON is decoded into. The error
// is an *httpapi.Problem.
func (r *Request) Get(path string, into any) error {
	return decode(r.Call(httpapi.Call{Method: http.MethodGet, Path: path}), into)
}

// Asset returns the path of a file of the package assets.
func (r *Request) Asset(name string) string { return r.shell.asset(name) }

// redirect is the error of a handler that sends the browser elsewhere.
type redirect struct{ to string }

func (redirect) Error() string { return "redirected" }

// Redirect returns an error that sends the browser to a path of the interface.
func Redirect(to string) error { return redirect{to: to} }

type frameKey struct{}

// frame is what components read of the context.
type frame struct {
	request *Request
	form    *FormState
	notice  string
}

func frameOf(ctx context.Context) *frame {
	if f, ok := ctx.Value(frameKey{}).(*frame); ok {
		return f
	}
	return &frame{request: &Request{Viewer: Viewer{Zone: time.UTC}}}
}

// Of returns the viewer of a component's context.
func Of(ctx context.Context) Viewer { return frameOf(ctx).request.Viewer }

// Now returns the time of the request of a component's context.
func Now(ctx context.Context) time.Time { return frameOf(ctx).request.Now }

// Can reports whether the viewer of a component's context may do act to objects of kind.
func Can(ctx context.Context, kind, act string) bool {
	r := frameOf(ctx).request
	return r.shell != nil && r.May(kind, act)
}

// Advised reports whether the viewer of a component's context may get advice of a language model by act, and the server
// has one.
func Advised(ctx context.Context, act string) bool { return Of(ctx).Advice && Can(ctx, "ai", act) }

// WithViewer returns a context for rendering components outside of a request, for tests.
func WithViewer(ctx context.Context, v Viewer, now time.Time) context.Context {
	if v.Zone == nil {
		v.Zone = time.UTC
	}
	return context.WithValue(ctx, frameKey{}, &frame{request: &Request{Viewer: v, Now: now}})
}
