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
	"github.com/writ-automation/writ/ports/plaintext"
)

const (
	// maxAnswer is how many bytes are read of an answer that is an error. Others are not read.
	maxAnswer = 64 << 10
	// maxExcerpt is how many characters of it are repeated.
	maxExcerpt = 160
	// unread allows answers of any size, of which maxAnswer bytes are read: an accepted message is delivered, whatever
	// the answer contains.
	unread = math.MaxInt64 - 1
)

// poster sends the requests of all HTTP channels.
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
	secrets []string  // hidden in errors, in addition to the address after its host
}

// object is a JSON object to send.
type object map[string]any

// sendJSON posts a value as JSON.
func (p *poster) sendJSON(ctx context.Context, r request, body any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return fault.Wrap(fault.Internal, err, "make the %s message", r.kind)
	}
	r.media, r.body = "application/json", b
	return p.send(ctx, r)
}

// send posts once. It follows only redirects that repeat the request to the same server. An answer of 2xx is success,
// whatever its body.
func (p *poster) send(ctx context.Context, r request) error {
	u, err := url.Parse(r.address)
	if err != nil || egress.CheckURL(u) != nil {
		return notify.Refused.New("the url of the %s target is not an http or https address that the server may connect to",
			r.kind)
	}
	u.Fragment = ""
	where := peer{kind: r.kind, host: plaintext.Line(u.Host, maxName)}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(r.body))
	if err != nil {
		return notify.Refused.New("the url of the %s target is not an address", r.kind)
	}
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	req.Header.Set("Content-Type", r.media)
	req.Header.Set("User-Agent", p.agent)
	if r.account[0] != "" {
		req.SetBasicAuth(r.account[0], r.account[1])
	}
	// Deliveries are few: each has its own client, and no connection outlives it.
	client := egress.Client(p.policy, p.options)
	defer client.CloseIdleConnections()
	egress.Stay(client)
	resp, err := client.Do(req)
	if err != nil {
		return where.failed(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }() // the rest of the body is not needed
	if resp.StatusCode/100 == 2 {
		return nil
	}
	return where.answered(resp, newScrubber(u, append(r.secrets, r.account[0], r.account[1])))
}

// peer is the other side as errors name it.
type peer struct{ kind, host string }

func (p peer) String() string { return fmt.Sprintf("the %s target at %s", p.kind, p.host) }

// answered returns the fault of an answer that is not a success.
func (p peer) answered(resp *http.Response, s *scrubber) error {
	message := ""
	media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err == nil && (media == "text/plain" || media == "application/json" || strings.HasSuffix(media, "+json")) {
		b, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer)) // an error still leaves the part that was read
		message = s.excerpt(b)
	}
	if message != "" {
		message = ": " + message
	}
	return unavailable("%s answered with status %d%s", p, resp.StatusCode, message)
}

// failed returns the fault of an exchange without an answer. It names only the kind of the cause, whose text may
// contain the address.
func (p peer) failed(ctx context.Context, err error) error {
	var cert *tls.CertificateVerificationError
	var dns *net.DNSError
	var timeout interface{ Timeout() bool }
	switch {
	case ctx.Err() != nil:
		return unavailable("%s did not answer in time", p).Because(ctx.Err())
	case errors.Is(err, egress.ErrElsewhere):
		return notify.Refused.New("%s redirects to somewhere else, which is not followed", p)
	case errors.Is(err, egress.ErrRefused):
		return notify.Refused.New("%s may not be reached: its address is not allowed", p)
	case errors.As(err, &cert):
		return unavailable("%s has a certificate that is not trusted", p)
	case errors.As(err, &dns) && dns.IsNotFound:
		return unavailable("%s cannot be reached: the host does not exist", p)
	case errors.As(err, &timeout) && timeout.Timeout():
		return unavailable("%s did not answer in time", p)
	case errors.Is(err, syscall.ECONNREFUSED):
		return unavailable("%s cannot be reached: it refuses the connection", p)
	default:
		return unavailable("%s cannot be reached or broke off", p)
	}
}

// unavailable returns the fault of a delivery that may succeed later.
func unavailable(format string, args ...any) *fault.Error {
	return fault.Wrap(fault.Unavailable, nil, format, args...)
}
