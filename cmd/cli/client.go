package cli

import (
	"bytes"
	"cmp"
	"context"
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

	"github.com/spf13/cobra"

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
	http   *http.Client
	header http.Header // of every request, in addition to the usual ones
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
			msg += "\n  " + f.Location + ": " + f.Message
		}
	}
	for _, r := range e.Reasons {
		for _, more := range []string{r.Text, r.Next} {
			if more != "" && !strings.Contains(msg, more) {
				msg += "\n  " + more
			}
		}
	}
	if e.Status == http.StatusUnauthorized {
		msg += " (set WRIT_TOKEN or --token)"
	}
	return plainText(msg)
}

// connection are the flags that every client command has.
type connection struct{ server, token string }

func (f *connection) register(c *cobra.Command) {
	c.Flags().StringVar(&f.server, "server", "", "address of the server (WRIT_SERVER, else "+defaultServer+")")
	c.Flags().StringVar(&f.token, "token", "", "bearer token (prefer WRIT_TOKEN: other users see flags)")
}

func (f *connection) client(w environment) (*client, error) {
	base, token := cmp.Or(f.server, w.env("WRIT_SERVER"), defaultServer), cmp.Or(f.token, w.env("WRIT_TOKEN"))
	if !strings.Contains(base, "://") {
		base = "http://" + base
	}
	u, err := url.Parse(base)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, usagef("--server: expected an http or https address")
	}
	return &client{base: strings.TrimRight(u.String(), "/"), token: strings.TrimSpace(token), http: &http.Client{
		// A redirect would send the token to another server.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

func (c *client) request(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var r io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("encode the request: %w", err)
		}
		r = bytes.NewReader(raw)
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
		var ue *url.Error
		if errors.As(err, &ue) {
			err = ue.Err
		}
		if errors.Is(err, syscall.ECONNREFUSED) {
			return nil, fmt.Errorf("no answer from %s: nothing listens there (start it with 'writ serve', or name another "+
				"server with WRIT_SERVER or --server)", c.base)
		}
		return nil, fmt.Errorf("no answer from %s: %w", c.base, err)
	}
	if resp.StatusCode/100 != 2 {
		defer func() { _ = resp.Body.Close() }()
		return nil, readProblem(resp)
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

// call sends a request and decodes the answer into out, which may be nil.
func (c *client) call(ctx context.Context, method, path string, body, out any) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	resp, err := c.request(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
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
