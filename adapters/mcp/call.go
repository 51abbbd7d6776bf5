package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
)

// refusal is an answer of the API that is no success.
type refusal struct {
	Status int    `json:"-"`
	Text   string `json:"error"`
	Reason string `json:"reason"`
	Errors []struct {
		Location string `json:"location"`
		Message  string `json:"message"`
	} `json:"errors"`
}

func (e *refusal) Error() string {
	text := fmt.Sprintf("the server refused (%d %s): %s", e.Status, e.Reason, e.Text)
	for _, f := range e.Errors {
		text += "\n" + f.Location + ": " + f.Message
	}
	return text
}

// ask sends a request and returns the answer of a success.
func ask(ctx context.Context, api API, c Call) (Answer, error) {
	a, err := api(ctx, c)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return a, fmt.Errorf("no answer within %s", callTime)
	case err != nil:
		return a, fmt.Errorf("no answer: %w", err)
	case a.Status/100 == 2:
		return a, nil
	}
	e := &refusal{Status: a.Status}
	if json.Unmarshal(a.Body, e) != nil || e.Text == "" {
		e.Text = http.StatusText(a.Status)
	}
	return a, e
}

// document sends a request and decodes the document that answers it.
func document(ctx context.Context, api API, c Call) (any, error) {
	a, err := ask(ctx, api, c)
	if err != nil {
		return nil, err
	}
	var out any
	return out, decode(a.Body, &out)
}

func decode(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		return errors.New("the answer of the server is no JSON")
	}
	return nil
}

// path joins segments, the second of which is of the agent and stays one segment.
func path(collection, id, rest string) (string, error) {
	if id == "" || id == "." || id == ".." {
		return "", errors.New("expected an id or a name, not an empty text")
	}
	return collection + "/" + url.PathEscape(id) + rest, nil
}

// query makes a query of the values that are set.
type query url.Values

func (q query) text(name, value string) query {
	if value != "" {
		q[name] = []string{value}
	}
	return q
}

// count adds a number: absent if there is neither a number nor an absent one's value, and at most limit.
func (q query) count(name string, n, absent, limit int) query {
	if n <= 0 {
		n = absent
	}
	if n > 0 {
		q[name] = []string{strconv.Itoa(min(n, limit))}
	}
	return q
}

func (q query) flag(name string, on bool) query {
	if on {
		q[name] = []string{"1"}
	}
	return q
}

func (q query) after(path string) string {
	if len(q) == 0 {
		return path
	}
	return path + "?" + url.Values(q).Encode()
}
