package ai

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/writ-automation/writ/platform/egress"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/lazyregexp"
)

const (
	broken = "the answer of the AI provider broke off"
	large  = "the answer of the AI provider is too large"
)

// protocol is the API of a provider.
type protocol interface {
	// place returns the usual address, the path below an address, and whether there is no use without a key.
	place() (home, path string, keyed bool)
	// sign adds the key.
	sign(h http.Header, key string)
	// question returns the body of a request.
	question(model string, r extension.AIRequest, stream bool) any
	// whole reads the body of an answer.
	whole(body []byte) (part, error)
	// next reads an element of a stream: the data of an event, or a line.
	next(data []byte) (part, error)
	// lines reports whether the elements of a stream are lines, not server-sent events.
	lines() bool
}

// part is what an answer, or an element of a stream, says.
type part struct {
	text       string
	end        bool // nothing is missing
	cut        bool // the limit of tokens was reached
	asked, got int  // tokens as known so far, 0 if the part does not tell
	failed     string
}

// provider asks one model.
type provider struct {
	Config
	protocol
	model, url, key string
}

var (
	_ extension.AIProvider = (*provider)(nil)
	_ extension.AIStreamer = (*provider)(nil)
)

// Complete asks for the whole answer at once.
func (p *provider) Complete(ctx context.Context, r extension.AIRequest) (extension.AIAnswer, error) {
	var total collected
	err := p.ask(ctx, r, false, func(body io.Reader) error {
		b, err := egress.ReadAll(body, p.Options.MaxAnswer)
		if err != nil {
			return brokeOff(err)
		}
		one, err := p.whole(b)
		if err != nil {
			return unreadable(err)
		}
		one.end = true
		return total.add(one)
	})
	return total.answer(err)
}

// Stream asks for the answer piece by piece.
func (p *provider) Stream(
	ctx context.Context, r extension.AIRequest, write func(text string) error,
) (extension.AIAnswer, error) {
	var total collected
	err := p.ask(ctx, r, true, func(body io.Reader) error {
		return elements(body, p.lines(), func(data []byte) error {
			one, err := p.next(data)
			if err != nil {
				return unreadable(err)
			}
			if err := total.add(one); err != nil || one.text == "" {
				return err
			}
			return write(one.text)
		})
	})
	return total.answer(err)
}

// collected are the parts of an answer so far.
type collected struct {
	part
	all strings.Builder
}

func (c *collected) add(p part) error {
	if p.failed != "" {
		return &extension.AIError{Message: "the AI provider failed" + code(p.failed)}
	}
	if c.all.Len()+len(p.text) > maxText {
		return &extension.AIError{Message: large}
	}
	c.all.WriteString(p.text)
	c.end, c.cut = c.end || p.end, c.cut || p.cut
	c.asked, c.got = max(c.asked, p.asked), max(c.got, p.got)
	return nil
}

// answer returns the whole answer, or an error if its end is missing.
func (c *collected) answer(err error) (extension.AIAnswer, error) {
	if err == nil && !c.end {
		err = &extension.AIError{Message: broken}
	}
	if err != nil {
		return extension.AIAnswer{}, err
	}
	return extension.AIAnswer{Text: c.all.String(), Tokens: c.asked + c.got, Cut: c.cut}, nil
}

// ask sends a request and passes the body of its answer. Questions are few: each has its own client, and no connection
// outlives it.
func (p *provider) ask(ctx context.Context, r extension.AIRequest, stream bool, read func(io.Reader) error) error {
	body, err := json.Marshal(p.question(p.model, r, stream))
	if err != nil {
		return &extension.AIError{Message: "the request cannot be written", Cause: err}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(body))
	if err != nil {
		return &extension.AIError{Message: "the address of the AI provider is no address"}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", p.Agent)
	p.sign(req.Header, p.key)
	client := egress.Client(p.Policy, p.Options)
	defer client.CloseIdleConnections()
	egress.Stay(client)
	resp, err := client.Do(req)
	if err != nil {
		return unanswered(err)
	}
	defer func() { _ = resp.Body.Close() }() // the rest of the body is not needed
	if resp.StatusCode != http.StatusOK {
		return refused(resp)
	}
	return read(resp.Body)
}

// elements passes the elements of a stream: its lines, or the data of its server-sent events.
func elements(body io.Reader, lines bool, yield func(data []byte) error) error {
	s := bufio.NewScanner(body)
	s.Buffer(nil, maxLine)
	var data []byte
	for s.Scan() {
		line := bytes.TrimSuffix(s.Bytes(), []byte("\r"))
		if !lines {
			value, ok := bytes.CutPrefix(line, []byte("data:"))
			switch {
			case ok && len(data)+len(value) > maxLine:
				return &extension.AIError{Message: large}
			case ok && data != nil:
				data = append(append(data, '\n'), bytes.TrimPrefix(value, []byte(" "))...)
			case ok:
				data = append([]byte{}, bytes.TrimPrefix(value, []byte(" "))...)
			}
			if len(line) > 0 { // an empty line ends an event
				continue
			}
			line, data = data, nil
		}
		if len(line) == 0 {
			continue
		}
		if err := yield(line); err != nil {
			return err
		}
	}
	switch err := s.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return &extension.AIError{Message: large}
	case err != nil:
		return brokeOff(err)
	}
	return nil
}

// unanswered returns the error of an exchange without an answer.
func unanswered(err error) error {
	short := egress.Unanswered(err)
	return &extension.AIError{Message: "the AI provider did not answer: " + short.Error(), Cause: short}
}

// brokeOff returns the error of an answer whose end cannot be read.
func brokeOff(err error) error {
	if errors.Is(err, egress.ErrTooLarge) || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return unanswered(err)
	}
	return &extension.AIError{Message: broken}
}

// unreadable returns the error of an answer that is not one of the protocol. The cause holds no text of the answer.
func unreadable(err error) error {
	return &extension.AIError{Message: "the answer of the AI provider cannot be read", Cause: err}
}

// refused returns the error of an answer that is no success.
func refused(resp *http.Response) error {
	var body struct {
		Error json.RawMessage `json:"error"`
	}
	b, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // an error still leaves the part that was read
	_ = json.Unmarshal(b, &body)                          // a body of another form has no code
	out := &extension.AIError{RetryAfter: retryAfter(resp.Header)}
	what := "answered with status " + strconv.Itoa(resp.StatusCode)
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		what = "does not accept the key"
	case http.StatusNotFound:
		what = "does not know the model, or has another address"
	case http.StatusTooManyRequests:
		what = "is asked too often"
	}
	out.Message = fmt.Sprintf("the AI provider %s%s", what, code(failure(body.Error)))
	return out
}

// failure returns the code of an error's document. The words in it are not read.
func failure(doc json.RawMessage) string {
	var e struct {
		Type string `json:"type"`
		Code any    `json:"code"`
	}
	if json.Unmarshal(doc, &e) != nil {
		return ""
	}
	if text, ok := e.Code.(string); ok && text != "" {
		return text
	}
	return e.Type
}

var codeForm = lazyregexp.New(`^[a-z][a-z_]{2,40}$`)

// code returns the code of an error in brackets. What is no plain word is left out.
func code(text string) string {
	if !codeForm.MatchString(text) {
		return ""
	}
	return " (" + text + ")"
}

// retryAfter reads the header in seconds, which is the form that the providers document.
func retryAfter(h http.Header) time.Duration {
	n, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || n < 0 {
		return 0
	}
	return min(time.Duration(n), 3600) * time.Second
}

// message is one message of a conversation, in the form that all providers share.
type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// bearer adds the key as a bearer token, if there is one.
func bearer(h http.Header, key string) {
	if key != "" {
		h.Set("Authorization", "Bearer "+key)
	}
}

// failed returns the code of an error within an answer, which is never empty.
func failed(doc json.RawMessage) string { return cmp.Or(failure(doc), "error") }
