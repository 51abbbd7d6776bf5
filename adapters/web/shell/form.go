package shell

import (
	"context"
	"net/url"
	"strings"

	"github.com/writ-automation/writ/adapters/httpapi"
)

// Form is a form that calls an operation of the API.
type Form struct {
	// Operation is the id of the operation in the API's document, such as cancel-run.
	Operation string
	// Path are the parts of the operation's path and its query, such as id.
	Path map[string]string
	// Page is the page with the form, which is shown again if the API refuses. Next is where a success leads, with {id}
	// for the id in the answer; empty is Page. Done is what the next page confirms.
	Page, Next, Done string
	// ETag is that of the object, for operations with If-Match.
	ETag string
	// Key makes a repeated submission harmless, for operations with an Idempotency-Key.
	Key string
	// ID is the id of the element.
	ID string
	// To is the address of a handler of the section that checks the form and then calls Do; empty is the operation.
	To string
}

// Action returns the address of the form.
func (f Form) Action() string {
	q := f.query()
	switch {
	case f.To != "":
		return f.To
	case q == "":
		return "/ui/do/" + f.Operation
	}
	return "/ui/do/" + f.Operation + "?" + q
}

func (f Form) query() string {
	q := url.Values{}
	for name, v := range f.Path {
		q.Set(name, v)
	}
	return q.Encode()
}

// FormState is a form that the API refused.
type FormState struct {
	Operation string
	Values    url.Values
	Problem   *httpapi.Problem
	// Raw is the API's answer, nil if the form itself was not right.
	Raw []byte
}

// anchor returns the id of the element of the field at fault.
func (f *FormState) anchor(location string) string {
	for name := range f.Values {
		path, _, _ := strings.Cut(name, ":")
		if path == location || strings.HasPrefix(location, path+".") || strings.HasPrefix(location, path+"[") {
			return idOf(name)
		}
	}
	return idOf(location)
}

// one reports whether the problem is nothing but the error of one field.
func (f *FormState) one() bool {
	p := f.Problem
	return len(p.Errors) == 1 && p.Text == p.Errors[0].Location+": "+p.Errors[0].Message
}

type formKey struct{}

func formOf(ctx context.Context) *FormState {
	f, _ := ctx.Value(formKey{}).(*FormState)
	return f
}

// Refused returns the state of the form of an operation that was just refused, nil for all others.
func Refused(ctx context.Context, op string) *FormState {
	if f := frameOf(ctx).form; f != nil && f.Operation == op {
		return f
	}
	return nil
}

// Refused returns the state of a refused form on the page that is shown again, nil for none.
func (r *Request) Refused(op string) *FormState { return Refused(r.Context(), op) }

// value returns what was entered into a field, or stored if the form was not refused.
func value(ctx context.Context, name, stored string) string {
	if f := frameOf(ctx).form; f != nil && f.Values.Has(name) {
		return f.Values.Get(name)
	}
	return stored
}

// entered returns all values of a field, or the stored ones.
func entered(ctx context.Context, name string, stored []string) []string {
	if f := frameOf(ctx).form; f != nil && f.Values.Has(name) {
		return f.Values[name]
	}
	return stored
}

// fieldError returns the message for a field, empty for none. A message for a member of the field's value counts.
func fieldError(ctx context.Context, name string) string {
	f := frameOf(ctx).form
	if f == nil || f.Problem == nil {
		return ""
	}
	path, _, _ := strings.Cut(name, ":")
	for _, e := range f.Problem.Errors {
		if e.Location == path || strings.HasPrefix(e.Location, path+".") || strings.HasPrefix(e.Location, path+"[") {
			return e.Message
		}
	}
	return ""
}

// idOf returns the id of the element of a field.
func idOf(name string) string {
	return "f-" + strings.NewReplacer(":", "-", ".", "-", " ", "-").Replace(name)
}

// sheetOpen reports whether the page was asked for with a dialog open, or shows a form in it again.
func sheetOpen(ctx context.Context, name string) bool {
	r := frameOf(ctx).request
	return r.Request != nil && r.URL.Query().Get("sheet") == name
}
