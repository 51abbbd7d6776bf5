package relayclient

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/secret"
)

// Bounds of an exchange.
const (
	connectTime  = 10 * time.Second
	answerTime   = 30 * time.Second // for a response, in addition to the wait of a claim
	callTime     = 60 * time.Second // for a whole call, if its caller allows more
	makingTime   = 15 * time.Minute // for the first byte of content that the server has to fetch itself
	idleTime     = 90 * time.Second
	pingTime     = 15 * time.Second // after which an idle connection is checked
	idleConns    = 16
	headerBytes  = 256 << 10
	smallAnswer  = 1 << 20
	largeAnswer  = 64 << 20
	problemBytes = 64 << 10
)

// server makes calls to one server.
type server struct {
	base  *url.URL
	token secret.Text
	calls *http.Client // responds at once, or after the wait of a claim
	slow  *http.Client // may have to fetch the content first
}

func newServer(base *url.URL, token secret.Text, roots *x509.CertPool, wait time.Duration) *server {
	return &server{
		base: base, token: token,
		calls: newClient(roots, wait+answerTime), slow: newClient(roots, makingTime),
	}
}

// newClient makes a client that follows no redirects, since the target would get the token.
func newClient(roots *x509.CertPool, answer time.Duration) *http.Client {
	dialer := &net.Dialer{Timeout: connectTime}
	t := &http.Transport{
		Proxy:                  proxy,
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    connectTime,
		ResponseHeaderTimeout:  answer,
		IdleConnTimeout:        idleTime,
		MaxIdleConns:           idleConns,
		MaxIdleConnsPerHost:    idleConns,
		MaxResponseHeaderBytes: headerBytes,
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: pingTime, PingTimeout: pingTime},
	}
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
}

// proxy returns the proxy of the environment, for https only. Without encryption a proxy could read the token.
func proxy(req *http.Request) (*url.URL, error) {
	if req.URL.Scheme != "https" {
		return nil, nil
	}
	u, err := http.ProxyFromEnvironment(req)
	if err != nil { // the error contains the address, which may hold a password
		return nil, errors.New("the proxy of the environment is no address")
	}
	return u, nil
}

func (s *server) close() {
	s.calls.CloseIdleConnections()
	s.slow.CloseIdleConnections()
}

// call is one exchange.
type call struct {
	method     string
	path       []string
	capability secret.Text
	body       []byte // JSON
	slow       bool
	once       bool  // a repetition would have another effect
	limit      int64 // bytes of the answer
	most       int   // bytes of the body, 0 for RelayBody
}

// get and post make calls about a run, whose id was checked at the claim.
func get(runID string, verb ...string) call {
	return call{method: http.MethodGet, path: append([]string{"runs", runID}, verb...)}
}

func post(runID, verb string, body []byte) call {
	return call{method: http.MethodPost, path: []string{"runs", runID, verb}, body: body}
}

// encode marshals v without HTML escapes.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, &fault.Error{Kind: fault.Invalid, Message: "what is to be reported is no JSON"}
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// do makes a call and decodes its response into out, unless out is nil. Errors: the server's faults, and Unavailable.
func (s *server) do(ctx context.Context, c call, out any) error {
	if !c.slow {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, callTime)
		defer cancel()
	}
	resp, err := s.send(ctx, c)
	if err != nil {
		return err
	}
	defer done(resp)
	return read(resp, out, max(c.limit, smallAnswer))
}

// send makes a call and returns its successful response. The reader of the response calls done.
func (s *server) send(ctx context.Context, c call) (*http.Response, error) {
	if most := cmp.Or(c.most, execution.RelayBody); len(c.body) > most {
		text := fmt.Sprintf("a report has %d bytes, at most %d are taken", len(c.body), most)
		return nil, &fault.Error{Kind: fault.TooLarge, Message: text}
	}
	req, err := s.request(ctx, c)
	if err != nil {
		return nil, err
	}
	client := s.calls
	if c.slow {
		client = s.slow
	}
	resp, err := client.Do(req) //nolint:bodyclose // its reader calls done
	if err != nil {
		return nil, unreachable(err)
	}
	if resp.StatusCode/100 != 2 {
		defer done(resp)
		return nil, s.refusal(resp, c.capability)
	}
	return resp, nil
}

func (s *server) request(ctx context.Context, c call) (*http.Request, error) {
	to := s.base.JoinPath(append([]string{"relay", "v1"}, c.path...)...)
	var body io.Reader
	if c.body != nil {
		body = bytes.NewReader(c.body)
	}
	req, err := http.NewRequestWithContext(ctx, c.method, to.String(), body)
	if err != nil {
		return nil, errors.New("the address of a call cannot be made")
	}
	req.Header.Set("Authorization", "Bearer "+s.token.Reveal())
	req.Header.Set("Accept", "application/json, application/problem+json, application/x-tar")
	if c.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.capability != "" {
		req.Header.Set(execution.CapabilityHeader, c.capability.Reveal())
	}
	if !c.once {
		// Reports can be repeated. A header without values is not sent, and it allows net/http to repeat the request on
		// a new connection if the old one was closed meanwhile.
		req.Header["Idempotency-Key"] = nil
	}
	return req, nil
}

// done reads the rest of a response, if it is short, so that its connection can be used again.
func done(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, problemBytes)
	_ = resp.Body.Close()
}

// read decodes a successful response. If out is nil, the response has no body, or JSON without meaning.
func read(resp *http.Response, out any, limit int64) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	switch {
	case err != nil:
		return unreachable(err)
	case int64(len(body)) > limit:
		return unusable("the server's answer has more than %d bytes", limit)
	case out == nil && len(body) == 0:
		return nil
	case media(resp) != "application/json":
		return unusable("what answered (HTTP %d) is not the relay of a server", resp.StatusCode)
	case out == nil:
		return nil
	}
	if json.Unmarshal(body, out) != nil { // the error may quote a secret
		return unusable("the server's answer (HTTP %d) is not what was asked for", resp.StatusCode)
	}
	return nil
}

// media returns a response's media type, without parameters.
func media(resp *http.Response) string {
	m, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return strings.ToLower(m)
}
