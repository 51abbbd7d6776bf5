package egress

import (
	"errors"
	"fmt"
	"io"
	"net/http"
)

// ErrTooLarge is in the chain of the error of reading more of an answer than is taken.
var ErrTooLarge = errors.New("the answer is too large")

// Capped returns a transport whose answers have bodies of at most that many bytes, after decompression; reading on ends
// with ErrTooLarge, and an answer that announces more is none.
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
		return nil, errors.Join(fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, resp.ContentLength, c.most), resp.Body.Close())
	}
	resp.Body = &cappedBody{inner: resp.Body, left: c.most}
	return resp, nil
}

// CloseIdleConnections is what http.Client's method of that name calls.
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

// ReadAll reads what an answer holds, and fails with ErrTooLarge where that is more than a number of bytes.
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
