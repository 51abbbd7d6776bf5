package cli

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/runs"
)

// Limits for the requests of a client.
const (
	answerTimeout = 60 * time.Second
	maxAnswer     = 64 << 20
)

const defaultServer = "http://127.0.0.1:8080"

// client calls the REST API of one server.
type client struct {
	base   string
	token  string
	at     endpoint
	http   *http.Client
	header http.Header   // of every request, in addition to the usual ones
	limit  time.Duration // how long an answer may take, 0 for answerTimeout
}

// apiError is an answer that is no success.
type apiError struct {
	Status int    `json:"-"`
	Text   string `json:"error"`
	Reason string `json:"reason"`
	Errors []struct {
		Location string `json:"location"`
		Message  string `json:"message"`
	} `json:"errors"`
	Reasons []runs.Reason `json:"reasons"`
}

func (e *apiError) Error() string {
	msg := cmp.Or(e.Text, http.StatusText(e.Status))
	if len(e.Errors) > 1 {
		for _, f := range e.Errors {
			if text := f.Location + ": " + f.Message; text != msg {
				msg += "\n  " + text
			}
		}
	}
	for _, r := range e.Reasons {
		for _, more := range []string{r.Text, r.Next} {
			if more != "" && !strings.Contains(msg, more) {
				msg += "\n  " + more
			}
		}
	}
	if e.Status == http.StatusUnauthorized && (e.Reason == "" || e.Reason == identity.BadToken.Name) {
		msg += " (sign in with 'writ login', or set WRIT_TOKEN or --token)"
	}
	return plainText(msg)
}

// request sends a request. An answer that is no success is an error.
func (c *client) request(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var raw []byte
	if body != nil {
		var err error
		if raw, err = json.Marshal(body); err != nil {
			return nil, fmt.Errorf("encode the request: %w", err)
		}
	}
	resp, err := c.send(ctx, method, path, raw)
	if err == nil && resp.StatusCode/100 != 2 {
		defer func() { _ = resp.Body.Close() }()
		return nil, readProblem(resp)
	}
	return resp, err
}

// send sends a request with a body in JSON, nil for none, and returns any answer.
func (c *client) send(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	var r io.Reader
	if body != nil {
		r = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, r)
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	req.Header.Set("User-Agent", "writ/"+readBuild().Version)
	for name, values := range c.header {
		req.Header[name] = values
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if err := late(ctx); err != nil {
			return nil, err
		}
		var ue *url.Error
		if errors.As(err, &ue) {
			err = ue.Err
		}
		if errors.Is(err, syscall.ECONNREFUSED) {
			return nil, fmt.Errorf("no answer from %s: nothing listens there (start it with 'writ serve', or name another "+
				"server with WRIT_SERVER or --server)", c.base)
		}
		if unknown := (x509.UnknownAuthorityError{}); errors.As(err, &unknown) {
			return nil, fmt.Errorf("no answer from %s: %w (trust a private authority with --ca-file)", c.base, err)
		}
		return nil, fmt.Errorf("no answer from %s: %w", c.base, err)
	}
	return resp, nil
}

func readProblem(resp *http.Response) error {
	e := &apiError{Status: resp.StatusCode}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); err == nil && strings.HasSuffix(kind, "json") {
		_ = json.Unmarshal(raw, e)
	}
	if e.Text == "" {
		e.Text = fmt.Sprintf("the server answered %s", resp.Status)
	}
	return e
}

// tooLate is the cause of the end of a request that the client waited for no longer.
type tooLate struct{ error }

// within bounds a request by how long its answer may take.
func (c *client) within(ctx context.Context, method string) (context.Context, context.CancelFunc) {
	limit := cmp.Or(c.limit, answerTimeout)
	next := "it is busy or does not run well: try again, or ask 'writ doctor'"
	if method != http.MethodGet {
		next = "it may still do what was asked: look at the result before you repeat it"
	}
	return context.WithTimeoutCause(ctx, limit, tooLate{
		fmt.Errorf("%s did not answer within %s; %s", c.base, limit, next)})
}

// late returns why the client waited no longer, nil if it was for no such reason.
func late(ctx context.Context) error {
	var cause tooLate
	if errors.As(context.Cause(ctx), &cause) {
		return cause
	}
	return nil
}

// call sends a request and decodes the answer into out, which may be nil.
func (c *client) call(ctx context.Context, method, path string, body, out any) error {
	raw, _, err := c.exchangeRaw(ctx, method, path, "", body)
	if err != nil {
		return err
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return fmt.Errorf("the answer of %s has an unknown format: %w", c.base, err)
	}
	return nil
}

func runPath(id, rest string) string { return "/v1/runs/" + url.PathEscape(id) + rest }
