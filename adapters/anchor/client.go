package anchor

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/writ-automation/writ/platform/egress"
	"github.com/writ-automation/writ/ports/audit"
)

// What an exchange may take.
const (
	timeout   = 30 * time.Second
	maxAnswer = 64 << 10
)

// Options say how an outsider is reached. The zero value is good for one on the public network.
type Options struct {
	// Policy says which addresses may be dialled: the zero value public ones alone. An authority or a witness of the own
	// network takes egress.PrivateAllowed, or an Allow with its network.
	Policy egress.Policy
	// TLS is for authorities of the own; nil is the machine's trust.
	TLS *tls.Config
	// Timeout is that of a whole exchange; zero is 30 seconds.
	Timeout time.Duration
}

// peer is who is asked: one address, by POST.
type peer struct {
	client  *http.Client
	address string
}

// newPeer refuses an address that is none of http or https with an Invalid fault.
func newPeer(address, field string, o Options) (*peer, *url.URL, error) {
	u, err := url.Parse(address)
	if err == nil {
		err = egress.CheckURL(u)
	}
	if err == nil && u.Fragment != "" {
		err = errors.New("a fragment is never sent")
	}
	if err != nil {
		return nil, nil, badAddress(field, err)
	}
	if o.Timeout <= 0 || o.Timeout > timeout {
		o.Timeout = timeout
	}
	client := egress.Client(o.Policy, egress.Options{Timeout: o.Timeout, MaxAnswer: maxAnswer, TLS: o.TLS})
	client.CheckRedirect = stay(client.CheckRedirect)
	return &peer{client: client, address: u.String()}, u, nil
}

// stay follows a redirect only where it asks the same server the same thing again.
func stay(next func(*http.Request, []*http.Request) error) func(*http.Request, []*http.Request) error {
	return func(req *http.Request, via []*http.Request) error {
		if req.Method != http.MethodPost || req.URL.Host != via[0].URL.Host || req.URL.Scheme != via[0].URL.Scheme {
			return fmt.Errorf("%w: a redirect to somewhere else", egress.ErrRefused)
		}
		return next(req, via)
	}
}

// answer is what came back.
type answer struct {
	status int
	media  string
	body   []byte
}

// post sends a body and reads the answer to its end.
func (p *peer) post(ctx context.Context, media string, body []byte) (a answer, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.address, bytes.NewReader(body))
	if err != nil {
		return answer{}, bare(err)
	}
	req.Header.Set("Content-Type", media)
	resp, err := p.client.Do(req)
	if err != nil {
		return answer{}, bare(err)
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	b, err := egress.ReadAll(resp.Body, maxAnswer)
	if err != nil {
		return answer{}, err
	}
	return answer{status: resp.StatusCode, media: resp.Header.Get("Content-Type"), body: b}, nil
}

// bare takes the address out of an error, since it may hold a secret.
func bare(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// failed makes the fault of an exchange that did not work out.
func failed(who string, err error) error {
	switch {
	case errors.Is(err, egress.ErrRefused):
		return audit.AnchorFailed.New("%s may not be asked: the address is not allowed", who).Because(err)
	case errors.Is(err, egress.ErrTooLarge):
		return audit.AnchorFailed.New("%s answered with more than %d bytes", who, maxAnswer).Because(err)
	default:
		return audit.AnchorFailed.New("%s cannot be reached", who).Because(err)
	}
}
