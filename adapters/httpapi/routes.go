package httpapi

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/system"
	"github.com/writ-automation/writ/ports/tx"
)

// Route declares an operation. Every member is required except Request, MaxBody and those whose default is false; a
// Hidden route needs no Description.
type Route struct {
	Method, Path string
	// ID is the operation id, <verb>-<noun>.
	ID      string
	Summary string
	// Tag is the context of the operation.
	Tag         string
	Description string
	Access      Access
	// Status is the success.
	Status int
	// Harmless marks a write method that changes nothing. A read-only install answers it.
	Harmless bool
	// Session marks an operation that starts or ends a session. A read-only install answers it.
	Session bool
	// Report marks a report of a worker about the run that it holds. The trail has the entries of the run itself: the
	// operation has no entry and takes no receipt. A read-only install answers it, since its runs continue.
	Report bool
	// Action is the name of the operation in the trail, for every operation that makes an entry. It is required for a
	// write that is neither Harmless nor a Report; only such a write and a Session may have one. A refusal of a known
	// caller is recorded under it.
	Action audit.Action
	// License is the licensed feature that the operation needs, empty for none. Its service checks that.
	License string
	// LicensedPart marks an operation of which only a part, which its Description names, needs a licence.
	LicensedPart bool
	// SecretPath marks a path that contains a secret, such as a hook's token. The trail then names the pattern.
	SecretPath bool
	// Empty means that the answer may have no content, which is 204.
	Empty bool
	// Produces is the media type of the success, application/json where empty.
	Produces string
	// Example is the success's body: a value, or a string for text.
	Example any
	// Request is an example of the request's body.
	Request any
	// Consumes is the media type of a body that is not JSON, or several, separated by commas. A Raw handler gets such a
	// body unchanged, also JSON if it is one of them.
	Consumes string
	// Query are the query parameters of a Raw handler, which refuses others.
	Query []*huma.Param
	// Verbatim accepts, in the texts and the raw JSON of the body, program output that the API refuses elsewhere: NUL
	// characters, halves of surrogate pairs, numbers of any size, duplicate members. Invalid UTF-8 is replaced.
	Verbatim bool
	// Errors are the status codes of the operation other than those that follow from the rest: 400, 500, 503, those of
	// refused callers, and 429 of a change.
	Errors []int
	// MaxBody caps the request's body, 0 means DefaultBody.
	MaxBody int64
	// Unread leaves it to a Raw handler to read the body. Reading beyond MaxBody is a fault.
	Unread bool
	// Hidden keeps assets out of the API document.
	Hidden bool
}

// Router registers the operations of every context.
type Router struct {
	api     huma.API
	config  Config
	authn   identity.Authenticator
	authz   identity.Authorizer
	workers execution.WorkerGate
	unit    tx.Unit
	entries audit.Recorder
	streams *streams
	origins *origins
	// refusals limits how many refusals are recorded.
	refusals *refusals
	bodies   *bodyLimiter
	dispatch http.Handler // of all operations
	seen     map[string]bool
	faults   []error

	routes *lateRoutes
	late   []func() // the registrations that complete does
	built  sync.Once

	once     sync.Once
	document []byte
	yaml     []byte
	failed   error
}

func newRouter(mux *http.ServeMux, p Params, s *streams, o *origins) *Router {
	routes := &lateRoutes{ServeMux: mux, reserved: make(map[string]*reservedRoute)}
	api := huma.NewAPI(document(p.Config.Version), routes)
	r := &Router{
		api: api, routes: routes, config: p.Config, authn: p.Authenticator, authz: p.Authorizer, workers: p.Workers,
		unit: p.Unit, entries: p.Recorder,
		streams: s, origins: o, refusals: newRefusals(), bodies: newBodyLimiter(), seen: make(map[string]bool),
	}
	api.UseMiddleware(r.admit, r.gate)
	return r
}

// Config returns the surface's configuration.
func (r *Router) Config() Config { return r.config }

// Close ends every live stream; it is for the server's stop.
func (r *Router) Close() { r.streams.close() }

// Document returns the API document as JSON and as YAML. It is fixed by the first call.
func (r *Router) Document() (json, yaml []byte, err error) {
	r.complete()
	r.once.Do(func() {
		if r.document, r.failed = encode(r.api.OpenAPI()); r.failed == nil {
			r.yaml, r.failed = r.api.OpenAPI().YAML()
		}
	})
	return r.document, r.yaml, r.failed
}

// Operations calls yield with every documented operation.
func (r *Router) Operations(yield func(op *huma.Operation)) {
	r.complete()
	r.operations(yield)
}

func (r *Router) operations(yield func(op *huma.Operation)) {
	for _, item := range r.api.OpenAPI().Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete, item.Head} {
			if op != nil {
				yield(op)
			}
		}
	}
}

// Handle registers an operation with a typed handler. An incomplete declaration registers nothing and fails New.
func Handle[I, O any](r *Router, route Route, h func(context.Context, *I) (*O, error)) {
	op, err := r.operation(route)
	if err == nil && route.Consumes != "" {
		err = fmt.Errorf("httpapi: the route %s takes %s, which only a handler of Raw can", route.ID, route.Consumes)
	}
	if err != nil {
		r.faults = append(r.faults, err)
		return
	}
	register := func() {
		op.Responses = r.responses(route)
		huma.Register(r.api, op, h)
	}
	if reflect.TypeFor[I]() == reflect.TypeFor[struct{}]() {
		register() // nothing of a request is checked against the schemas that complete adds to
		return
	}
	r.late = append(r.late, register)
	r.routes.reserve(&op, r.complete)
}

// complete registers what the start of the server does not need: schemas, checks and documents of operations take a
// sixth of it. Each request to an operation that reads them waits for it.
func (r *Router) complete() {
	r.built.Do(func() {
		for _, register := range r.late {
			register()
		}
		r.late = nil
		r.finish()
	})
}

// lateRoutes passes the handlers of huma to the mux. A route may be reserved before its handler is registered.
type lateRoutes struct {
	*http.ServeMux
	reserved map[string]*reservedRoute // by operation id
}

type reservedRoute struct {
	op      *huma.Operation
	handler func(huma.Context)
}

// reserve adds a route whose handler complete registers.
func (l *lateRoutes) reserve(op *huma.Operation, complete func()) {
	s := &reservedRoute{}
	l.reserved[op.OperationID] = s
	l.HandleFunc(op.Method+" "+op.Path, func(w http.ResponseWriter, req *http.Request) {
		complete()
		s.handler(humago.NewContext(s.op, req, w))
	})
}

// Handle adds the handler of an operation, at its route if that was reserved.
func (l *lateRoutes) Handle(op *huma.Operation, handler func(huma.Context)) {
	if s := l.reserved[op.OperationID]; s != nil {
		s.op, s.handler = op, handler
		return
	}
	l.HandleFunc(op.Method+" "+op.Path, func(w http.ResponseWriter, req *http.Request) {
		handler(humago.NewContext(op, req, w))
	})
}

// Raw registers a plain handler, for answers that huma has no part in.
func (r *Router) Raw(route Route, h http.Handler) {
	op, err := r.operation(route)
	if err != nil {
		r.faults = append(r.faults, err)
		return
	}
	if !op.Hidden {
		shown := op
		r.late = append(r.late, func() {
			shown.Responses = r.responses(route)
			for _, name := range pathParameter.Get().FindAllStringSubmatch(route.Path, -1) {
				shown.Parameters = append(shown.Parameters,
					&huma.Param{Name: name[1], In: "path", Required: true, Schema: &huma.Schema{Type: huma.TypeString}})
			}
			shown.Parameters = append(shown.Parameters, route.Query...)
			r.api.OpenAPI().AddOperation(&shown)
		})
	}
	r.api.Adapter().Handle(&op, r.api.Middlewares().Handler(func(ctx huma.Context) {
		req, w := humago.Unwrap(ctx)
		again := req.WithContext(ctx.Context())
		h.ServeHTTP(w, again)
	}))
}

var (
	operationID   = lazyregexp.New(`^[a-z]+(-[a-z0-9]+)+$`)
	pathParameter = lazyregexp.New(`\{([A-Za-z]+)\}`)
)

// operation checks a declaration and turns it into huma's.
func (r *Router) operation(route Route) (huma.Operation, error) {
	missing := ""
	switch {
	case !strings.HasPrefix(route.Path, "/") || route.Method == "":
		missing = "method and path"
	case !operationID.MatchString(route.ID) || r.seen[route.ID]:
		missing = "unique <verb>-<noun> operation id"
	case route.Summary == "":
		missing = "summary"
	case !slices.ContainsFunc(tags(), func(t *huma.Tag) bool { return t.Name == route.Tag }):
		missing = "tag of the document"
	case route.Description == "" && !route.Hidden:
		missing = "description"
	case !route.Access.complete():
		missing = "declaration of who may call it"
	case route.Status == 0:
		missing = "status"
	case len(route.Errors) == 0:
		missing = "list of error codes"
	case route.Example == nil && route.Status < http.StatusMultipleChoices && route.Status != http.StatusNoContent:
		missing = "example"
	default:
		missing = r.unaudited(route)
	}
	if missing != "" {
		return huma.Operation{}, fmt.Errorf("httpapi: the route %s %s (%s) has no %s", route.Method, route.Path, route.ID,
			missing)
	}
	r.seen[route.ID] = true
	route.MaxBody = cmp.Or(route.MaxBody, DefaultBody)
	op := huma.Operation{
		OperationID: route.ID, Method: route.Method, Path: route.Path, Summary: route.Summary, Tags: []string{route.Tag},
		Description: route.Description, DefaultStatus: route.Status, Hidden: route.Hidden,
		Security: route.Access.security(),
		Metadata: map[string]any{
			accessKey: route.Access, bodyKey: route.MaxBody, mutatesKey: route.mutates(), consumesKey: route.media(),
			actionKey: route.Action, secretKey: route.SecretPath, verbatimKey: route.Verbatim, unreadKey: route.Unread,
		},
		Extensions: map[string]any{"x-access": route.Access.String(), "x-mutates": route.mutates()},
		// The gate has read the body within its cap by the time huma reads it.
		MaxBodyBytes: route.MaxBody + 1, BodyReadTimeout: -1,
	}
	if route.Action != "" {
		op.Extensions["x-audit"] = string(route.Action)
	}
	if route.Report {
		op.Extensions["x-report"] = true
	}
	switch tier := string(system.LicensedFeatures()[route.License]); {
	case route.License == "":
	case route.LicensedPart:
		op.Extensions["x-license"] = tier + ", in part"
		op.Description += " What the licence does not include answers 403 with the reason license_required."
	default:
		op.Extensions["x-license"] = tier
		op.Description += " It needs a licence with the feature " + route.License + ", or else answers 403 with the reason " +
			"license_required."
	}
	if route.Verbatim {
		op.MaxBodyBytes += 2 * route.MaxBody // an invalid byte is replaced by a character of three
	}
	switch {
	case route.Consumes != "":
		op.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{}}
		for _, media := range route.media() {
			op.RequestBody.Content[media] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}, Example: route.Request}
		}
	case route.Request != nil:
		op.RequestBody = &huma.RequestBody{Content: map[string]*huma.MediaType{"application/json": {Example: route.Request}}}
	}
	return op, nil
}

// unaudited returns what the trail needs and a declaration lacks, or an empty text.
func (r *Router) unaudited(route Route) string {
	writes := route.Method != http.MethodGet && route.Method != http.MethodHead
	switch {
	case route.Report && (!writes || !route.Access.worker || route.Harmless || route.Session || route.Action != ""):
		return "worker whose report it could be, and nothing else"
	case writes && !route.Harmless && !route.Report && route.Action == "":
		return "audit action"
	case route.Action != "" && !slices.Contains(audit.Actions(), route.Action):
		return "audit action that is registered"
	case route.Action != "" && (route.Harmless || !writes && !route.Session):
		return "change that its audit action could be of"
	case route.Action != "" && (r.unit == nil || r.entries == nil):
		return "trail to record its refusals in"
	}
	return ""
}

// media returns the types of Consumes, nil if it is empty.
func (r Route) media() []string {
	return strings.FieldsFunc(r.Consumes, func(c rune) bool { return c == ',' || c == ' ' })
}

// mutates reports whether a read-only install refuses the operation.
func (r Route) mutates() bool {
	return r.Method != http.MethodGet && r.Method != http.MethodHead && !r.Harmless && !r.Session && !r.Report
}

func (r *Router) responses(route Route) map[string]*huma.Response {
	media := &huma.MediaType{Example: route.Example}
	if route.Produces == "" {
		route.Produces = "application/json"
		if t := reflect.TypeOf(route.Example); t != nil && t.Kind() == reflect.Struct {
			media.Schema = r.api.OpenAPI().Components.Schemas.Schema(t, true, route.ID)
		}
	} else {
		media.Schema = &huma.Schema{Type: huma.TypeString}
	}
	ok := &huma.Response{Description: http.StatusText(route.Status)}
	if route.Action != "" {
		ok.Headers = map[string]*huma.Param{receiptHeader: {
			Description: "The entry that the request made in the audit trail: its sequence number, a colon and its leaf hash " +
				"in hex.",
			Schema: &huma.Schema{Type: huma.TypeString},
		}}
	}
	if route.Example != nil {
		ok.Content = map[string]*huma.MediaType{route.Produces: media}
	}
	out := map[string]*huma.Response{strconv.Itoa(route.Status): ok}
	if route.Empty {
		out[strconv.Itoa(http.StatusNoContent)] = &huma.Response{Description: http.StatusText(http.StatusNoContent)}
	}
	codes := append([]int{http.StatusBadRequest, http.StatusInternalServerError, http.StatusServiceUnavailable},
		route.Errors...)
	codes = append(codes, route.Access.refusals(route.Action != "")...)
	if route.Method != http.MethodGet {
		codes = append(codes, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	problem := r.api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[Problem](), true, "Problem")
	for _, code := range codes {
		p := plainProblem(code, reasonOf(code), http.StatusText(code))
		out[strconv.Itoa(code)] = &huma.Response{
			Description: http.StatusText(code),
			Content:     map[string]*huma.MediaType{"application/problem+json": {Schema: problem, Example: p}},
		}
	}
	return out
}

// sorted returns the routes by name: a value group arrives in random order.
func sorted(routes []Routes) []Routes {
	return slices.SortedFunc(slices.Values(routes), func(a, b Routes) int { return strings.Compare(a.Name, b.Name) })
}
