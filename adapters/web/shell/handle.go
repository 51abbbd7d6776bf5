package shell

import (
	"crypto/rand"
	"net/http"
	"net/url"

	"github.com/writ-automation/writ/adapters/httpapi"
)

// Do makes the request of the posted form to an operation of the API, as the form itself would without a To: for
// handlers that first check what the API cannot know.
func (r *Request) Do(op string, path map[string]string) (*Page, error) {
	to := *r
	to.Request = r.WithContext(r.Context())
	to.URL = &url.URL{Path: r.URL.Path, RawQuery: Form{Path: path}.query()}
	to.SetPathValue("operation", op)
	return r.shell.act(&to)
}

// Again shows the page of the posted form once more, with the problem and with all that was entered.
func (r *Request) Again(op string, p *httpapi.Problem) error {
	form, err := r.Form()
	if err != nil {
		return err
	}
	to := *r
	to.Request = r.WithContext(r.Context())
	to.SetPathValue("operation", op)
	return r.shell.again(&to, form, p, nil)
}

// Refuse makes the form of an operation on the page show why it was refused, and what was posted.
func (r *Request) Refuse(op string, form url.Values, p *httpapi.Problem) {
	frameOf(r.Context()).form = &FormState{Operation: op, Values: form, Problem: p}
}

// Keep makes the fields of the page show what was posted, without a refusal.
func (r *Request) Keep(form url.Values) { frameOf(r.Context()).form = &FormState{Values: form} }

// Problem reads why the API refused a Call.
func Problem(a httpapi.Answer) *httpapi.Problem { return problemIn(a) }

// Invalid returns the problem of a field that a handler refuses itself.
func Invalid(field, message string) *httpapi.Problem {
	return &httpapi.Problem{Status: http.StatusBadRequest, Title: http.StatusText(http.StatusBadRequest),
		Text: message, Errors: []httpapi.FieldError{{Location: field, Message: message}}}
}

// SameOrigin returns CrossOrigin for a write that no page of this server sent: for forms of visitors, who have no
// cookie yet. The frame checks all others.
func (r *Request) SameOrigin() error { return r.shell.router.SameOrigin(r.Request) }

// Body reads the posted fields as the body of an operation; see FieldSpec for their types.
func Body(form url.Values) (map[string]any, *httpapi.Problem) { return bodyOf(form) }

// Inside returns a path of the interface, or other if the text is none.
func Inside(to, other string) string { return inside(to, other) }

// The cookie that keeps where a sign-in at a provider leads.
const (
	nextCookie = "writ_next"
	nextAge    = 600
)

// KeepNext keeps the page to which a sign-in at a provider leads: the provider sends browsers to the overview.
func (r *Request) KeepNext(to string) {
	if line := httpapi.ShortCookie(r.Context(), nextCookie, url.QueryEscape(to), nextAge); line != "" {
		r.Writer.Header().Add("Set-Cookie", line)
	}
}

// kept returns the page that KeepNext kept, once, if the request is for the overview after a sign-in.
func (r *Request) kept() string {
	value := httpapi.CookieValue(r.Request, nextCookie)
	if value == "" || r.Method != http.MethodGet || r.URL.Path != "/ui/" || !r.Viewer.SignedIn() {
		return ""
	}
	r.Writer.Header().Add("Set-Cookie", httpapi.ShortCookie(r.Context(), nextCookie, "", -1))
	to, err := url.QueryUnescape(value)
	if err != nil {
		return ""
	}
	return inside(to, "")
}

// Appear stores how pages look, from the posted form.
func (r *Request) Appear() (*Page, error) { return r.shell.appearance(r) }

// NewKey returns an idempotency key for a form.
func NewKey() string { return rand.Text() }
