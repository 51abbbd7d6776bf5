package httpapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/ports/fault"
)

// DefaultBody is the limit of a request body, unless its route sets another one.
const DefaultBody = 1 << 20

// bodyTime is how long a body may take to arrive, for each mebibyte that is allowed of it.
const bodyTime = 10 * time.Second

// drain is how much of a body beyond its cap is read and dropped before the refusal.
const drain = 4 << 20

// The members of an operation's metadata for the limit of its body, for the media types of a body that is not JSON, and
// for the flags that the body contains program output, and that its handler reads it.
const (
	bodyKey     = "body"
	consumesKey = "consumes"
	verbatimKey = "verbatim"
	unreadKey   = "unread"
)

// gate is the middleware that reads a body within its limit, refuses a body that is not strict JSON (or not of the
// media type that the route consumes), and passes the bytes on.
func (r *Router) gate(ctx huma.Context, next func(huma.Context)) {
	if m := ctx.Method(); m == http.MethodGet || m == http.MethodHead {
		next(ctx)
		return
	}
	req, w := humago.Unwrap(ctx)
	limit, _ := ctx.Operation().Metadata[bodyKey].(int64)
	leave, err := r.bodies.enter(ctx.Operation(), req, limit)
	if err != nil {
		r.refuse(ctx, err)
		return
	}
	defer leave()
	media, _ := ctx.Operation().Metadata[consumesKey].([]string)
	if unread, _ := ctx.Operation().Metadata[unreadKey].(bool); unread {
		if err := typed(req.Header.Get("Content-Type"), media...); err != nil {
			r.refuse(ctx, err)
			return
		}
		req.Body = &unreadBody{ReadCloser: req.Body, ctl: http.NewResponseController(w), limit: limit}
		next(ctx)
		return
	}
	body, err := read(req, w, limit)
	verbatim, _ := ctx.Operation().Metadata[verbatimKey].(bool)
	if verbatim && !utf8.Valid(body) {
		body = bytes.ToValidUTF8(body, []byte("\uFFFD"))
	}
	switch {
	case err != nil:
	case len(media) > 0:
		err = foreign(req.Header, body, media)
	default:
		err = admissible(req.Header, body, ctx.Operation().RequestBody, verbatim)
	}
	if err != nil {
		r.refuse(ctx, err)
		return
	}
	if len(body) > 0 && len(media) == 0 {
		requestOf(ctx.Context()).digest = digestOf(body)
		// huma compares media types byte by byte.
		req.Header.Set("Content-Type", "application/json")
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	next(ctx)
}

// largeBodies is the number of bodies above DefaultBody that are held at once, for each of three groups: known callers,
// workers and all others. A body is in memory from its first byte to the end of its answer.
const largeBodies = 24

// bodyLimiter holds the free places for large bodies.
type bodyLimiter struct{ public, known, workers chan struct{} }

func newBodyLimiter() *bodyLimiter {
	return &bodyLimiter{public: make(chan struct{}, largeBodies), known: make(chan struct{}, largeBodies),
		workers: make(chan struct{}, largeBodies)}
}

// enter takes a place for a body that is large or of unknown size. It returns a temporary Unavailable fault if there is
// none.
func (m *bodyLimiter) enter(op *huma.Operation, req *http.Request, limit int64) (leave func(), err error) {
	if limit <= DefaultBody || req.ContentLength >= 0 && req.ContentLength <= DefaultBody {
		return func() {}, nil
	}
	places := m.known
	switch access, _ := op.Metadata[accessKey].(Access); {
	case access.public:
		places = m.public
	case access.worker:
		places = m.workers
	}
	select {
	case places <- struct{}{}:
		return func() { <-places }, nil
	default:
		return nil, &fault.Error{Kind: fault.Unavailable, Message: "too many large requests at once; try again",
			RetryAfter: time.Second}
	}
}

// unreadBody is a body that its handler reads. It keeps the limits of read.
type unreadBody struct {
	io.ReadCloser
	ctl         *http.ResponseController
	done, limit int64
	err         error
}

func (b *unreadBody) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	if b.done == 0 {
		_ = b.ctl.SetReadDeadline(clock.Deadline(bodyTime * time.Duration(1+b.limit>>20)))
	}
	n, err := b.ReadCloser.Read(p)
	b.done += int64(n)
	if err == nil && b.done <= b.limit {
		return n, nil
	}
	if b.done > b.limit {
		_, _ = io.CopyN(io.Discard, b.ReadCloser, max(drain, 3*b.limit)) // as read does; its sender is known
		err = tooLarge(b.limit)
	} else if !errors.Is(err, io.EOF) {
		err = unreadable(err)
	}
	_ = b.ctl.SetReadDeadline(time.Time{})
	b.err = err
	return n, err
}

// read reads at most limit bytes.
func read(req *http.Request, w http.ResponseWriter, limit int64) ([]byte, error) {
	if enc := req.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return nil, plainProblem(http.StatusUnsupportedMediaType, "unsupported_media_type",
			"request bodies must have no Content-Encoding")
	}
	ctl := http.NewResponseController(w)
	// A connection without deadlines comes from a test; the timeouts of the server apply as well.
	_ = ctl.SetReadDeadline(clock.Deadline(bodyTime * time.Duration(1+limit>>20)))
	// A body of known size is not copied while it grows.
	buf := bytes.NewBuffer(make([]byte, 0, min(max(req.ContentLength, 0), limit)+bytes.MinRead))
	_, err := buf.ReadFrom(io.LimitReader(req.Body, limit+1))
	body := buf.Bytes()
	if int64(len(body)) > limit {
		// A client that is still sending when the connection closes cannot read the answer.
		_, _ = io.CopyN(io.Discard, req.Body, drain)
	}
	// A deadline left behind would cancel the context of a handler that works longer than the body took.
	_ = ctl.SetReadDeadline(time.Time{})
	switch {
	case int64(len(body)) > limit:
		return nil, tooLarge(limit)
	case err != nil:
		return nil, unreadable(err)
	}
	return body, nil
}

// unreadable says why a body could not be read.
func unreadable(err error) error {
	var late net.Error
	if errors.As(err, &late) && late.Timeout() {
		return plainProblem(http.StatusRequestTimeout, "request_timeout", "the request body did not arrive in time")
	}
	return badBody("", "could not be read")
}

func tooLarge(limit int64) error {
	return (&fault.Error{Kind: fault.TooLarge, Message: "the request body is too large"}).With("limit", limit)
}

// admissible checks the type and the form of a body. Operations that take none accept an empty object.
func admissible(h http.Header, body []byte, form *huma.RequestBody, verbatim bool) error {
	wanted := form != nil
	if len(bytes.TrimSpace(body)) == 0 {
		switch {
		case wanted && len(body) > 0:
			return badBody("", "is not JSON")
		case wanted && form.Required:
			return badBody("", "is required")
		}
		return nil
	}
	if ct := h.Get("Content-Type"); ct != "" {
		if err := typed(ct, "application/json"); err != nil {
			return err
		}
	}
	if err := scan(body, verbatim); err != nil {
		return err
	}
	if !wanted {
		var none map[string]json.RawMessage
		if json.Unmarshal(body, &none) != nil || len(none) > 0 {
			return badBody("", "this operation has no request body")
		}
	}
	return nil
}

// foreign checks the media type of a body that only its handler reads. The handler checks the content.
func foreign(h http.Header, body []byte, media []string) error {
	if err := typed(h.Get("Content-Type"), media...); err != nil {
		return err
	}
	if len(body) == 0 {
		return badBody("", "is required")
	}
	return nil
}

func typed(contentType string, want ...string) error {
	media, params, err := mime.ParseMediaType(contentType)
	charset := params["charset"]
	if err != nil || !slices.Contains(want, media) || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return plainProblem(http.StatusUnsupportedMediaType, "unsupported_media_type",
			"request bodies are "+strings.Join(want, " or ")+" in UTF-8")
	}
	return nil
}

func digestOf(body []byte) [sha256.Size]byte {
	var b bytes.Buffer
	if json.Compact(&b, body) != nil {
		return sha256.Sum256(body)
	}
	return sha256.Sum256(b.Bytes())
}
