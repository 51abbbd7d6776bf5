package httpapi_test

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
)

// ObjectInput writes an object.
type ObjectInput struct {
	IfMatch httpapi.IfMatch `header:"If-Match"`
}

// ObjectsInput lists objects.
type ObjectsInput struct{ httpapi.Window }

// ObjectsBody is a list of objects.
type ObjectsBody struct {
	Objects []string `json:"things"`
	httpapi.Listed
}

// ObjectsOutput answers with objects.
type ObjectsOutput struct {
	Offset string `header:"X-Offset"`
	Body   ObjectsBody
}

// RevisionOutput holds the revision that a write named.
type RevisionOutput struct {
	Revision int64  `header:"X-Revision"`
	ETag     string `header:"ETag"`
}

func objectRoutes() httpapi.Routes {
	return httpapi.Routes{Name: "things", Register: func(r *httpapi.Router) {
		route := httpapi.Route{
			Path: "/things", Tag: "system", Summary: "s", Description: "d", Access: httpapi.Needs("run", "submit"), Status: 200,
			Example: "x", Errors: []int{404},
		}
		with := func(method, id string, change func(*httpapi.Route)) httpapi.Route {
			out := route
			out.Method, out.ID = method, id
			change(&out)
			return out
		}
		httpapi.Handle(r, with("PUT", "put-thing", func(x *httpapi.Route) {
			x.Status, x.Example, x.Action = 204, nil, audit.UserUpdate
		}),
			func(_ context.Context, in *ObjectInput) (*RevisionOutput, error) {
				return &RevisionOutput{Revision: in.IfMatch.Revision(), ETag: httpapi.ETag(3)}, nil
			})
		httpapi.Handle(r, with("GET", "list-things", func(*httpapi.Route) {}),
			func(_ context.Context, in *ObjectsInput) (*ObjectsOutput, error) {
				rows := httpapi.Rows([]int{1, 2}, strconv.Itoa)
				listed := httpapi.Listed{Count: len(rows), Total: 7, Limit: in.Page().Limit}
				return &ObjectsOutput{Offset: strconv.Itoa(in.Page().Offset), Body: ObjectsBody{Objects: rows, Listed: listed}}, nil
			})
		r.Raw(with("POST", "post-thing", func(x *httpapi.Route) {
			x.Consumes, x.MaxBody, x.Request, x.Action = "application/x-www-form-urlencoded", 64, "a=b", audit.UserCreate
		}), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, r.Header.Get("Content-Type")+" ")
			_, _ = io.Copy(w, r.Body)
		}))
		ok := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "done") })
		r.Raw(with("POST", "ask-thing", func(x *httpapi.Route) { x.Path, x.Harmless = "/ask", true }), ok)
		r.Raw(with("POST", "enter-thing", func(x *httpapi.Route) {
			x.Path, x.Session, x.Access, x.Action = "/enter", true, httpapi.Public(), audit.AuthLogin
		}), ok)
		r.Raw(with("POST", "drop-box", func(x *httpapi.Route) {
			x.Path, x.Access, x.Action = "/box", httpapi.Public(), audit.UserCreate
		}), ok)
	}}
}

func withObjectRoutes(p *httpapi.Params) { p.Routes = append(p.Routes, objectRoutes()) }

func TestIfMatch(t *testing.T) {
	t.Parallel()
	f := setup(t, withObjectRoutes)
	for header, want := range map[string]string{
		"*": "0", " * ": "0", `"3"`: "3", `"9223372036854775807"`: "9223372036854775807",
		`W/"3"`: "-1", `3`: "-1", `"3`: "-1", `"03"`: "-1", `"+3"`: "-1", `"0"`: "-1", `"-3"`: "-1", `"3", "4"`: "-1",
		`"3",`: "-1", `"x"`: "-1",
		`""`: "-1", `"9223372036854775808"`: "-1", `"3" `: "3", `*,"3"`: "-1", "": "-1",
	} {
		a := f.call("PUT", "/things", "operator", "", "If-Match", header)
		if got := a.header.Get("X-Revision"); got != want || a.header.Get("ETag") != `"3"` {
			t.Errorf("%q: %d %q, want %q", header, a.status, got, want)
		}
	}
	if got := f.call("PUT", "/things", "operator", "").header.Get("X-Revision"); got != "0" {
		t.Errorf("absent: %q", got)
	}
	two := f.serve("PUT", "/things", near, false, "Authorization", "Bearer operator", "If-Match", `"3"`, "If-Match", `"3"`)
	if got := two.header.Get("X-Revision"); got != "-1" {
		t.Errorf("two lines: %q", got)
	}
}

func TestWindow(t *testing.T) {
	t.Parallel()
	f := setup(t, withObjectRoutes)
	for query, want := range map[string][2]int{
		"": {0, 1000}, "?limit=5&offset=4": {4, 5}, "?limit=0": {0, 1000}, "?limit=1001": {0, 1000},
		"?limit=99999999999999999999":  {0, 1000},
		"?offset=99999999999999999999": {1<<31 - 1, 1000},
	} {
		a := f.call("GET", "/things"+query, "operator", "")
		if got := a.header.Get("X-Offset"); got != strconv.Itoa(want[0]) {
			t.Errorf("%s: offset %s", query, got)
		}
		body := `{"things":["1","2"],"count":2,"total":7,"limit":` + strconv.Itoa(want[1]) + "}\n"
		if d := cmp.Diff(body, string(a.body)); d != "" {
			t.Errorf("%s: %s", query, d)
		}
	}
	for _, query := range []string{"?limit=-1", "?limit=x", "?offset=1.5", "?offset=1&offset=2", "?page=2"} {
		f.call("GET", "/things"+query, "operator", "").problem(t, 400)
	}
}

func TestConsumes(t *testing.T) {
	t.Parallel()
	f := setup(t, withObjectRoutes)
	const form = "application/x-www-form-urlencoded"
	for _, ct := range []string{form, form + "; charset=UTF-8"} {
		if a := f.call("POST", "/things", "operator", "a=%zz&a=\x00", "Content-Type", ct); string(a.body) != ct+
			" a=%zz&a=\x00" {
			t.Errorf("%d %q", a.status, a.body)
		}
	}
	for _, ct := range []string{"", "application/json", "text/plain", form + "; charset=latin1",
		"multipart/form-data; boundary=x"} {
		f.call("POST", "/things", "operator", "a=b", "Content-Type", ct).problem(t, 415)
	}
	f.call("POST", "/things", "operator", "", "Content-Type", form).problem(t, 400)
	f.call("POST", "/things", "operator", strings.Repeat("a", 65), "Content-Type", form).problem(t, 413)
	f.call("POST", "/things", "operator", "a=b", "Content-Type", form, "Content-Encoding", "gzip").problem(t, 415)
	f.call("POST", "/things", "viewer", "a=b", "Content-Type", form).problem(t, 403)
	_, err := httpapi.New(httpapi.Params{Routes: []httpapi.Routes{{Name: "x", Register: func(r *httpapi.Router) {
		httpapi.Handle(r, httpapi.Route{
			Method: "POST", Path: "/x", ID: "post-x", Tag: "system", Summary: "s", Description: "d", Access: httpapi.Public(),
			Status: 200, Example: "x", Errors: []int{404},
			Consumes: form,
		}, func(context.Context, *ObjectInput) (*RevisionOutput, error) { return nil, nil })
	}}}})
	if err == nil {
		t.Error("a typed handler was given a form")
	}
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	f := setup(t, withObjectRoutes, func(p *httpapi.Params) { p.Config.ReadOnly = true })
	mutations := 0
	for _, op := range operations(f) {
		mutates, ok := op.Extensions["x-mutates"].(bool)
		if !ok || mutates && op.Method == http.MethodGet {
			t.Errorf("%s: x-mutates %v", op.OperationID, op.Extensions)
		}
		if !mutates {
			continue
		}
		mutations++
		path := strings.ReplaceAll(op.Path, "{id}", knownRun)
		// A caller without the right gets 403 even if the body is invalid.
		if p := f.call(op.Method, path, "admin", "{").problem(t, 403); p.Reason != "read_only" {
			t.Errorf("%s: %+v", op.OperationID, p)
		}
		if op.OperationID == "drop-box" {
			continue
		}
		f.call(op.Method, path, "", "").problem(t, 401)
		if p := f.call(op.Method, path, "viewer", "").problem(t, 403); p.Reason != "forbidden" {
			t.Errorf("%s as viewer: %+v", op.OperationID, p)
		}
	}
	if mutations < 10 {
		t.Errorf("only %d operations change something", mutations)
	}
	f.call("GET", "/v1/runs", "viewer", "").json(t, 200)
	f.call("POST", "/v1/runs/"+knownRun+"/stream-ticket", "viewer", "").json(t, 200)
	for _, path := range []string{"/ask", "/enter"} {
		if a := f.call("POST", path, "operator", ""); a.status != 200 || string(a.body) != "done" {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	f := setup(t, func(p *httpapi.Params) {
		p.Routes = append(p.Routes, httpapi.Routes{Name: "x", Register: func(r *httpapi.Router) {
			r.Raw(httpapi.Route{
				Method: "GET", Path: "/x", ID: "read-x", Tag: "system", Summary: "s", Description: "d", Access: httpapi.Public(),
				Status: 200, Example: "x", Errors: []int{404},
			}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				p := httpapi.Explain(w, r, httpapi.CrossOrigin.New("no").Because(io.ErrUnexpectedEOF))
				httpapi.WriteJSON(w, r, p.Status, map[string]string{"text": p.Text})
			}))
		}})
	})
	a := f.call("GET", "/x", "", "")
	if m := a.json(t, 403); m["text"] != "no" || a.header.Get("Content-Type") != "application/json" {
		t.Errorf("%v %v", m, a.header)
	}
	if log := f.log.String(); !strings.Contains(log, `"reason":"cross_origin"`) ||
		!strings.Contains(log, io.ErrUnexpectedEOF.Error()) {
		t.Errorf("log: %s", log)
	}
}
