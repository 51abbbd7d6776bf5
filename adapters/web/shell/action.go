package shell

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/fault"
)

// The fields of a form that are no members of the body.
const (
	fieldPage = "_page" // the page with the form, which is shown again with the errors
	fieldNext = "_next" // where a success leads; {id} is the id in the answer
	fieldDone = "_done" // what the next page confirms
	fieldETag = "_etag" // If-Match
	fieldKey  = "_key"  // Idempotency-Key
	fieldCopy = "_copy" // curl or writ: the request is shown as a command and not made
)

// commandHeader has the command for the script of the page, percent-encoded.
const commandHeader = "X-Command"

// operation is what a form needs of an operation of the API.
type operation struct{ method, path string }

func (s *Shell) operation(id string) (operation, bool) {
	s.once.Do(func() {
		s.operations = map[string]operation{}
		s.router.Operations(func(op *huma.Operation) {
			s.operations[op.OperationID] = operation{method: op.Method, path: op.Path}
		})
	})
	op, ok := s.operations[id]
	return op, ok
}

// target returns the path of a call: the values of the query that the pattern names are filled in, the others are its
// query.
func (o operation) target(values url.Values) (string, error) {
	path, rest := o.path, url.Values{}
	for name, v := range values {
		if slot := "{" + name + "}"; strings.Contains(path, slot) {
			path = strings.ReplaceAll(path, slot, url.PathEscape(v[0]))
			continue
		}
		rest[name] = v
	}
	if strings.Contains(path, "{") {
		return "", fault.BadField("action", "lacks a part of its path")
	}
	if len(rest) > 0 {
		path += "?" + rest.Encode()
	}
	return path, nil
}

// act makes the request of a form to the API. A success leads to the next page. A refusal shows the page of the form
// again, with the errors at their fields and all that was entered.
func (s *Shell) act(r *Request) (*Page, error) {
	op, ok := s.operation(r.PathValue("operation"))
	if !ok || op.method == http.MethodGet {
		return nil, &fault.Error{Kind: fault.NotFound, Message: "there is no such action"}
	}
	form, err := r.Form()
	if err != nil {
		return nil, err
	}
	path, err := op.target(r.URL.Query())
	if err != nil {
		return nil, err
	}
	body, problem := bodyOf(form)
	call := httpapi.Call{Method: op.method, Path: path, Header: http.Header{}}
	if len(body) > 0 {
		call.Body, err = json.Marshal(body)
	}
	if err != nil {
		return nil, fault.BadField("body", "cannot be JSON")
	}
	for field, header := range map[string]string{fieldETag: "If-Match", fieldKey: "Idempotency-Key"} {
		if v := form.Get(field); v != "" {
			call.Header.Set(header, v)
		}
	}
	if as := form.Get(fieldCopy); as != "" {
		command := commandOf(r, as, call)
		r.Writer.Header().Set(commandHeader, url.PathEscape(command))
		return &Page{Title: copyTitle, Body: copyPage(command, inside(form.Get(fieldPage), "/ui/"))}, nil
	}
	var raw []byte
	if problem == nil {
		answer := r.Call(call)
		if answer.OK() {
			if p := r.once(form, answer); p != nil {
				return p, nil
			}
			return nil, r.done(form, answer)
		}
		raw = answer.Body
		problem = problemIn(answer)
	}
	return nil, s.again(r, form, problem, raw)
}

// Form returns the posted fields.
func (r *Request) Form() (url.Values, error) {
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
		if err := r.ParseMultipartForm(maxMemory); err != nil {
			return nil, fault.BadField("body", "is no form")
		}
	} else if err := r.ParseForm(); err != nil {
		return nil, fault.BadField("body", "is no form")
	}
	return r.PostForm, nil
}

// maxMemory is how much of a form with files is kept in memory; the rest of the form is within the route's limit.
const maxMemory = 4 << 20

// done leads to the page after a success.
func (r *Request) done(form url.Values, a httpapi.Answer) error {
	var made struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(a.Body, &made) // an answer without an id leads to a page without one
	next := strings.ReplaceAll(form.Get(fieldNext), "{id}", url.PathEscape(made.ID))
	if text := form.Get(fieldDone); text != "" {
		seq, _, ok := strings.Cut(a.Header.Get("Audit-Receipt"), ":")
		if n, err := strconv.ParseInt(seq, 10, 64); ok && err == nil {
			text += " " + entryText(n)
		}
		r.Notice(text)
	}
	return Redirect(inside(next, inside(form.Get(fieldPage), "/ui/")))
}

// again serves the page of the form once more, in this request.
func (s *Shell) again(r *Request, form url.Values, p *httpapi.Problem, raw []byte) error {
	page, err := url.Parse(inside(form.Get(fieldPage), ""))
	if err != nil || page.Path == "" {
		return p
	}
	state := &FormState{Operation: r.PathValue("operation"), Values: form, Problem: p, Raw: raw}
	again := r.Request.Clone(context.WithValue(r.Context(), formKey{}, state))
	again.Method, again.URL, again.RequestURI, again.Pattern = http.MethodGet, page, page.RequestURI(), ""
	s.ServeHTTP(&statusWriter{ResponseWriter: r.Writer, status: p.Status}, again)
	return served{}
}

// served is the error of a handler whose answer is complete.
type served struct{}

func (served) Error() string { return "served" }

// statusWriter answers with the status of a refusal what would be a success.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(code int) {
	if code == http.StatusOK {
		code = w.status
	}
	w.ResponseWriter.WriteHeader(code)
}

func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// decode reads an answer of the API.
func decode(a httpapi.Answer, into any) error {
	if !a.OK() {
		return problemIn(a)
	}
	if err := json.Unmarshal(a.Body, into); err != nil {
		return &fault.Error{Kind: fault.Internal, Message: "an answer of the API cannot be read", Cause: err}
	}
	return nil
}

// problemIn reads a refusal of the API.
func problemIn(a httpapi.Answer) *httpapi.Problem {
	p := &httpapi.Problem{}
	if json.Unmarshal(a.Body, p) != nil || p.Status == 0 {
		p.Status, p.Text = a.Status, http.StatusText(a.Status)
	}
	return p
}

// bodyOf makes the body of a request of the fields of a form. The name of a field is the path of the member, with dots,
// and may end in its type: ":int", ":number", ":bool", ":list" (of values that commas or lines separate), ":lines",
// ":many" (one value for each field of the name), ":pairs" (an object of lines "name=value"), ":json", ":yaml" and
// ":text", which stays as it is. ":empty" is an empty text if its box is ticked. An empty field is no member, but for
// those of the types ":bool", ":text", ":many" and ":set", which is ":lines" else; ":some" is ":many" else.
func bodyOf(form url.Values) (map[string]any, *httpapi.Problem) {
	body := map[string]any{}
	var p *httpapi.Problem
	names := make([]string, 0, len(form))
	for name := range form {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if strings.HasPrefix(name, "_") {
			continue
		}
		path, kind, _ := strings.Cut(name, ":")
		v, err := valueOf(kind, form[name])
		switch {
		case err != nil:
			if p == nil {
				p = &httpapi.Problem{Status: http.StatusBadRequest, Title: http.StatusText(http.StatusBadRequest),
					Text: path + ": " + err.Error(), Reason: fault.Invalid.String()}
			}
			p.Errors = append(p.Errors, httpapi.FieldError{Location: path, Message: err.Error()})
		case v != nil:
			put(body, strings.Split(path, "."), v)
		}
	}
	return body, p
}

func put(into map[string]any, path []string, v any) {
	for _, name := range path[:len(path)-1] {
		inner, ok := into[name].(map[string]any)
		if !ok {
			inner = map[string]any{}
			into[name] = inner
		}
		into = inner
	}
	into[path[len(path)-1]] = v
}

// valueOf reads the values of a field; nil is no member.
func valueOf(kind string, values []string) (any, error) {
	if list, ok, err := listed(kind, values); ok {
		return list, err
	}
	v := values[len(values)-1] // a box that is not ticked leaves the hidden field before it
	switch {
	case kind == "empty" && v == "true":
		return "", nil
	case kind == "empty":
		return nil, nil
	case kind == "bool":
		return v == "true" || v == "on", nil
	case kind == "text":
		return strings.ReplaceAll(v, "\r\n", "\n"), nil
	case strings.TrimSpace(v) == "":
		return nil, nil
	}
	switch kind {
	case "int", "number":
		number := json.Number(strings.TrimSpace(v))
		if _, err := number.Float64(); err != nil {
			return nil, errors.New("is not a number")
		}
		if _, err := number.Int64(); kind == "int" && err != nil {
			return nil, errors.New("is not a whole number")
		}
		return number, nil
	case "list", "lines":
		return separated(v, kind == "list"), nil
	case "json":
		return parseJSON(v)
	case "yaml":
		value, _, err := ReadYAML(v)
		return value, err
	}
	return strings.ReplaceAll(v, "\r\n", "\n"), nil
}

// separated returns the values of a list, without the space around each.
func separated(text string, commas bool) []string {
	out := []string{}
	for _, part := range strings.FieldsFunc(text, func(c rune) bool { return c == '\n' || commas && c == ',' }) {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}
