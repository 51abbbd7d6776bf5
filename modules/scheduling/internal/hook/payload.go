package hook

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"net/url"
	"strings"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/scheduling"
)

// text is a string of a body. Any other value is recorded as invalid, and refused only when it is needed.
type text struct {
	s       string
	present bool
	wrong   bool
}

func (t *text) UnmarshalJSON(raw []byte) error {
	if bytes.Equal(raw, []byte("null")) {
		return nil
	}
	t.present = true
	t.wrong = json.Unmarshal(raw, &t.s) != nil
	return nil
}

// part is an object of a body; any other value counts as an empty one.
type part[T any] struct{ v T }

func (p *part[T]) UnmarshalJSON(raw []byte) error {
	if len(raw) == 0 || raw[0] != '{' {
		return nil
	}
	return json.Unmarshal(raw, &p.v)
}

type account struct {
	Login    text `json:"login"`
	Name     text `json:"name"`
	Username text `json:"username"`
}

type end struct {
	Ref text `json:"ref"`
	SHA text `json:"sha"`
}

type repository struct {
	FullName text `json:"full_name"`
	Path     text `json:"path_with_namespace"`
}

// payload contains the fields that are read from a body, by the names of all forges.
type payload struct {
	Ref        text             `json:"ref"`
	After      text             `json:"after"`
	Checkout   text             `json:"checkout_sha"`
	Deleted    json.RawMessage  `json:"deleted"`
	Repository part[repository] `json:"repository"`
	Project    part[repository] `json:"project"`
	Pusher     part[account]    `json:"pusher"`
	Sender     part[account]    `json:"sender"`
	User       part[account]    `json:"user"`
	UserName   text             `json:"user_username"`
	HeadCommit part[struct {
		ID text `json:"id"`
	}] `json:"head_commit"`
	PullRequest part[struct {
		Head part[end] `json:"head"`
		Base part[end] `json:"base"`
	}] `json:"pull_request"`
	Attributes part[struct {
		Source text `json:"source_branch"`
		Target text `json:"target_branch"`
		Last   part[struct {
			ID text `json:"id"`
		}] `json:"last_commit"`
	}] `json:"object_attributes"`
	EventName  text `json:"event_name"`
	ObjectKind text `json:"object_kind"`
}

// decode parses a body: JSON, or a form with JSON in payload. Invalid faults name Content-Type, payload or body.
func decode(d *scheduling.Delivery) (*payload, error) {
	body, err := document(d)
	if err != nil {
		return nil, err
	}
	var p payload
	dec := json.NewDecoder(bytes.NewReader(body))
	if err := dec.Decode(&p); err != nil || bytes.TrimLeft(body, " \t\r\n")[0] != '{' {
		return nil, fault.BadField("body", "is no JSON object")
	}
	if _, err := dec.Token(); err != io.EOF { //nolint:errorlint // the decoder returns it bare
		return nil, fault.BadField("body", "has something behind its JSON object")
	}
	return &p, nil
}

func document(d *scheduling.Delivery) ([]byte, error) {
	raw := d.Header.Get("Content-Type")
	media, _, err := mime.ParseMediaType(raw)
	switch {
	case raw == "", err == nil && media == "application/json":
		return d.Body, nil
	case err != nil || media != "application/x-www-form-urlencoded":
		return nil, fault.BadField("Content-Type", "expected application/json or application/x-www-form-urlencoded")
	}
	form, err := url.ParseQuery(string(d.Body))
	if err != nil || len(form["payload"]) != 1 {
		return nil, fault.BadField("payload", "expected a form with the one member payload")
	}
	return []byte(form.Get("payload")), nil
}

// event returns the event if the header leaves it to the body.
func (p *payload) event(header string) string {
	if header != system {
		return header
	}
	for _, t := range []text{p.EventName, p.ObjectKind} {
		if t.present && !t.wrong {
			return strings.ToLower(t.s)
		}
	}
	return system
}

// first returns the first text that is present.
func first(list ...text) text {
	for _, t := range list {
		if t.present {
			return t
		}
	}
	return text{}
}
