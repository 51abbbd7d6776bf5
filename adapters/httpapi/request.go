package httpapi

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
)

// Observer is called for every finished request: route is the pattern and never the path, so that there are few values.
type Observer interface {
	Observe(route, method string, code int, d time.Duration)
}

type discard struct{}

func (discard) Observe(string, string, int, time.Duration) {}

const requestPrefix ids.Prefix = "req_"

// maxRequestID is how long a request id from outside may be.
const maxRequestID = 128

// request holds the state of this adapter for one request. One goroutine handles it.
type request struct {
	id      string
	ip      string
	account string
	reason  string
	cause   error
	digest  [sha256.Size]byte
	recheck func(ctx context.Context) error
	jar     jar
	// hasSession reports that the request had a session cookie, whether it was read or not.
	hasSession bool
	presented  func() (string, error)
	// denied records that the request was refused for the given reason; it is nil if the trail does not record the
	// refusal.
	denied func(ctx context.Context, reason string) error
}

type requestKey struct{}

func requestOf(ctx context.Context) *request {
	if r, ok := ctx.Value(requestKey{}).(*request); ok {
		return r
	}
	return &request{}
}

// RequestID returns the id of the request of ctx, empty outside a request.
func RequestID(ctx context.Context) string { return requestOf(ctx).id }

// BodyDigest returns the SHA-256 of the request's JSON body without its insignificant white space.
func BodyDigest(ctx context.Context) [sha256.Size]byte { return requestOf(ctx).digest }

// note stores the failure for the request's line in the log.
func note(ctx context.Context, p *Problem, cause error) {
	r := requestOf(ctx)
	r.reason = p.Reason
	var f *fault.Error
	switch {
	case p.Status >= http.StatusInternalServerError && cause != nil:
		r.cause = cause
	case errors.As(cause, &f):
		r.cause = f.Cause
	}
}

// requestMiddleware is the outermost handler: it names the request, survives its panic, and writes one line when it
// is over.
type requestMiddleware struct {
	next     http.Handler
	log      *slog.Logger
	ids      ids.Generator
	observer Observer
	config   Config
}

func (e *requestMiddleware) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	took := clock.Start()
	st := &request{id: r.Header.Get("X-Request-Id"), ip: clientIP(r, e.config.TrustedProxies)}
	st.jar = jarOf(e.config, r, st.ip)
	st.hasSession = st.jar.usable && len(r.Header["Cookie"]) > 0 && len(r.CookiesNamed(st.jar.name(sessionCookie))) > 0
	if !printable(st.id) {
		st.id = e.ids.New(requestPrefix)
	}
	w.Header().Set("X-Request-Id", st.id)
	ctx, receipt := audit.WithCollector(context.WithValue(r.Context(), requestKey{}, st))
	rec := &recorder{ResponseWriter: w, receipt: receipt}
	r = r.WithContext(ctx)
	defer func() {
		recovered := recover()
		answered := recovered == nil || recovered != http.ErrAbortHandler && e.panicked(rec, r, st, recovered)
		e.finish(rec, r, st, took.Elapsed())
		if !answered {
			panic(http.ErrAbortHandler)
		}
	}()
	e.next.ServeHTTP(rec, r)
	rec.begin(http.StatusOK) // for a handler that sent no headers
}

// panicked answers 500 if nothing was sent yet. Otherwise it reports false and the connection is closed, so that no
// client takes half an answer for a whole one.
func (e *requestMiddleware) panicked(rec *recorder, r *http.Request, st *request, recovered any) bool {
	e.log.LogAttrs(r.Context(), slog.LevelError, "panic", slog.String("request_id", st.id),
		slog.String("route", route(r)), slog.Any("panic", recovered), slog.String("stack", string(debug.Stack())))
	if rec.status != 0 {
		return false
	}
	p := plainProblem(http.StatusInternalServerError, "internal",
		"an internal error; see this request id in the server's log")
	p.RequestID, st.reason = st.id, "panic"
	p.write(rec)
	return true
}

func (e *requestMiddleware) finish(rec *recorder, r *http.Request, st *request, took time.Duration) {
	status := cmp.Or(rec.status, http.StatusOK)
	e.observer.Observe(route(r), r.Method, status, took)
	attrs := []slog.Attr{
		slog.String("request_id", st.id), slog.String("method", r.Method), slog.String("route", route(r)),
		slog.Int("status", status), slog.Float64("duration_ms", float64(took.Microseconds())/1000),
		slog.Int64("bytes", rec.bytes),
	}
	if st.account != "" {
		attrs = append(attrs, slog.String("account", st.account))
	}
	if st.reason != "" {
		attrs = append(attrs, slog.String("reason", st.reason))
	}
	level := slog.LevelDebug
	switch {
	case status == http.StatusServiceUnavailable: // an expected answer, after which the client retries
		level = slog.LevelWarn
	case status >= http.StatusInternalServerError:
		level = slog.LevelError
	case st.cause != nil, status >= http.StatusBadRequest && strings.HasPrefix(r.URL.Path, "/auth/"): // a refused sign-in
		level = slog.LevelInfo
	}
	if st.cause != nil {
		attrs = append(attrs, slog.String("cause", st.cause.Error()))
	}
	e.log.LogAttrs(r.Context(), level, "request", attrs...)
}

// route is the pattern that matched, without its method.
func route(r *http.Request) string {
	p := r.Pattern
	for i := range len(p) {
		if p[i] == ' ' {
			return p[i+1:]
		}
	}
	if p == "" {
		return "unmatched"
	}
	return p
}

func printable(id string) bool {
	if id == "" || len(id) > maxRequestID {
		return false
	}
	for i := range len(id) {
		if id[i] < 0x20 || id[i] > 0x7e {
			return false
		}
	}
	return true
}

// recorder records the status and the size of the answer.
type recorder struct {
	http.ResponseWriter
	receipt *audit.ReceiptCollector
	status  int
	bytes   int64
}

// begin is called with the status just before the headers are sent. A success names the entry that the request made; a
// refusal or failure names none, even if an entry was recorded.
func (r *recorder) begin(code int) {
	if r.status != 0 || code < http.StatusOK {
		return
	}
	r.status = code
	if code >= http.StatusBadRequest {
		return
	}
	if got, ok := r.receipt.Receipt(); ok {
		r.Header().Set(receiptHeader, got.String())
	}
}

func (r *recorder) WriteHeader(code int) {
	r.begin(code)
	r.ResponseWriter.WriteHeader(code)
}

// FlushError implements flushing for http.ResponseController; it sends the headers if they are not sent yet.
func (r *recorder) FlushError() error {
	r.begin(http.StatusOK)
	if err := http.NewResponseController(r.ResponseWriter).Flush(); err != nil {
		return fmt.Errorf("flush answer: %w", err)
	}
	return nil
}

func (r *recorder) Write(p []byte) (int, error) {
	r.begin(http.StatusOK)
	n, err := r.ResponseWriter.Write(p)
	r.bytes += int64(n)
	if err != nil {
		return n, fmt.Errorf("write answer: %w", err)
	}
	return n, nil
}

// Unwrap gives http.ResponseController access to the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
