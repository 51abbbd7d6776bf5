package notify

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/writ-automation/writ/platform/egress"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/notify"
)

const (
	// maxAnswer is how many bytes are read of an answer that is an error. Others are not read.
	maxAnswer = 64 << 10
	// maxExcerpt is how many characters of it are repeated.
	maxExcerpt = 160
	// unread lets the client hand out answers of any announced size, of which maxAnswer bytes are read: what was taken
	// is delivered, whatever is said about it.
	unread = math.MaxInt64 - 1
)

// errElsewhere is a redirect that asks somebody else, or something else.
var errElsewhere = fmt.Errorf("%w: a redirect to somewhere else", egress.ErrRefused)

// poster makes the requests of all channels that speak HTTP.
type poster struct {
	policy  egress.Policy
	options egress.Options
	agent   string
}

// request is one POST.
type request struct {
	kind    string
	address string // holds secrets
	header  map[string]string
	media   string
	body    []byte
	account [2]string // user and password of the request, empty for none
	secrets []string  // what no error repeats, beside all of the address but its host
}

// object is a JSON object to send.
type object map[string]any

// sendJSON posts a value that json.Marshal takes.
func (p *poster) sendJSON(ctx context.Context, r request, body any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return fault.Wrap(fault.Internal, err, "make the %s message", r.kind)
	}
	r.media, r.body = "application/json", b
	return p.send(ctx, r)
}

// send posts once. Redirects are followed only where they ask the same server the same thing. An answer of 2xx is
// success, whatever its body.
func (p *poster) send(ctx context.Context, r request) error {
	u, err := url.Parse(r.address)
	if err != nil || egress.CheckURL(u) != nil {
		return notify.Refused.New("the url of the %s target is no address of http or https that may be reached", r.kind)
	}
	u.Fragment = ""
	where := peer{kind: r.kind, host: clean(u.Host, maxName)}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(r.body))
	if err != nil {
		return notify.Refused.New("the url of the %s target is no address", r.kind)
	}
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	req.Header.Set("Content-Type", r.media)
	req.Header.Set("User-Agent", p.agent)
	if r.account[0] != "" {
		req.SetBasicAuth(r.account[0], r.account[1])
	}
	// A client of its own: deliveries are few, and no connection outlives one.
	client := egress.Client(p.policy, p.options)
	defer client.CloseIdleConnections()
	client.CheckRedirect = stay(client.CheckRedirect)
	resp, err := client.Do(req)
	if err != nil {
		return where.failed(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }() // what was not read is of no interest
	if resp.StatusCode/100 == 2 {
		return nil
	}
	return where.answered(resp, newScrubber(u, append(r.secrets, r.account[0], r.account[1])))
}

// stay follows a redirect only where it asks the same server the same thing again: one that turns a POST into a GET
// delivers nothing.
func stay(next func(*http.Request, []*http.Request) error) func(*http.Request, []*http.Request) error {
	return func(req *http.Request, via []*http.Request) error {
		if req.Method != http.MethodPost || req.URL.Host != via[0].URL.Host || req.URL.Scheme != via[0].URL.Scheme {
			return errElsewhere
		}
		return next(req, via)
	}
}

// peer is the other side as errors name it.
type peer struct{ kind, host string }

func (p peer) String() string { return fmt.Sprintf("the %s target at %s", p.kind, p.host) }

// answered makes the fault of an answer that is no success.
func (p peer) answered(resp *http.Response, s *scrubber) error {
	message := ""
	media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err == nil && (media == "text/plain" || media == "application/json" || strings.HasSuffix(media, "+json")) {
		b, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer)) // as much as came says enough
		message = s.excerpt(b)
	}
	if message != "" {
		message = ": " + message
	}
	return unavailable("%s answered with status %d%s", p, resp.StatusCode, message)
}

// failed makes the fault of an exchange that did not work out. What caused it is told by its sort alone, since its
// text may hold the address.
func (p peer) failed(ctx context.Context, err error) error {
	var cert *tls.CertificateVerificationError
	var dns *net.DNSError
	var timeout interface{ Timeout() bool }
	switch {
	case ctx.Err() != nil:
		return unavailable("%s did not answer in time", p).Because(ctx.Err())
	case errors.Is(err, errElsewhere):
		return notify.Refused.New("%s redirects to somewhere else, which is not followed", p)
	case errors.Is(err, egress.ErrRefused):
		return notify.Refused.New("%s may not be reached: its address is not allowed", p)
	case errors.As(err, &cert):
		return unavailable("%s has a certificate that is not trusted", p)
	case errors.As(err, &dns) && dns.IsNotFound:
		return unavailable("%s cannot be reached: there is no such host", p)
	case errors.As(err, &timeout) && timeout.Timeout():
		return unavailable("%s did not answer in time", p)
	case errors.Is(err, syscall.ECONNREFUSED):
		return unavailable("%s cannot be reached: it refuses the connection", p)
	default:
		return unavailable("%s cannot be reached or broke off", p)
	}
}

// unavailable makes the fault of a delivery that may succeed another time.
func unavailable(format string, args ...any) *fault.Error {
	return fault.Wrap(fault.Unavailable, nil, format, args...)
}
