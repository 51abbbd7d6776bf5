package anchor

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/writ-automation/writ/platform/egress"
	"github.com/writ-automation/writ/ports/audit"
)

// The bounds of an exchange.
const (
	timeout   = 30 * time.Second
	maxAnswer = 64 << 10
)

// Options configures the connection to an outsider. The zero value suits the public network.
type Options struct {
	// Policy restricts the addresses: the zero value allows only public ones. An authority or a witness in the local
	// network needs egress.PrivateAllowed, or an Allow with its network.
	Policy egress.Policy
	// TLS is for private authorities; nil uses the system's roots.
	TLS *tls.Config
	// Timeout bounds a whole exchange; zero is 30 seconds.
	Timeout time.Duration
}

// peer is the called server: one address, by POST.
type peer struct {
	client  *http.Client
	address string
}

// newPeer refuses an address that is neither http nor https with an Invalid fault.
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
	egress.Stay(client)
	return &peer{client: client, address: u.String()}, u, nil
}

// answer is the response.
type answer struct {
	status int
	media  string
	body   []byte
}

// post sends a body and reads the whole answer.
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

// bare removes the address from an error, since it may contain a secret.
func bare(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// failed makes the fault of a failed exchange.
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
