package egress

import (
	"errors"
	"fmt"
	"io"
	"net/http"
)

// ErrTooLarge is in the error chain of an answer that is longer than the limit.
var ErrTooLarge = errors.New("the answer is too large")

// Capped returns a transport that limits the body of each answer to most bytes, after decompression. Reading more fails
// with ErrTooLarge; so does an answer whose Content-Length is larger.
func Capped(rt http.RoundTripper, most int64) http.RoundTripper { return &capped{rt, most} }

type capped struct {
	inner http.RoundTripper
	most  int64
}

func (c *capped) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := c.inner.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.ContentLength > c.most && req.Method != http.MethodHead {
		return nil, errors.Join(fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, resp.ContentLength, c.most),
			resp.Body.Close())
	}
	resp.Body = &cappedBody{inner: resp.Body, left: c.most}
	return resp, nil
}

// CloseIdleConnections lets http.Client close the idle connections of the wrapped transport.
func (c *capped) CloseIdleConnections() {
	if i, ok := c.inner.(interface{ CloseIdleConnections() }); ok {
		i.CloseIdleConnections()
	}
}

type cappedBody struct {
	inner io.ReadCloser
	left  int64
}

func (c *cappedBody) Read(b []byte) (int, error) {
	if c.left < 0 {
		return 0, ErrTooLarge
	}
	if int64(len(b)) > c.left {
		b = b[:c.left+1]
	}
	n, err := c.inner.Read(b)
	if c.left -= int64(n); c.left < 0 {
		return n - 1, ErrTooLarge
	}
	return n, err
}

func (c *cappedBody) Close() error { return c.inner.Close() }

// ReadAll reads the whole answer. It fails with ErrTooLarge if that is more than most bytes.
func ReadAll(r io.Reader, most int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > most {
		return nil, fmt.Errorf("%w: at most %d bytes", ErrTooLarge, most)
	}
	return b, nil
}
