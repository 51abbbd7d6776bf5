package adviceview

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/fault"
)

// Advice is the answer of a language model, or why there is none.
type Advice struct {
	Text string
	// By names the model and its provider.
	By  string
	Cut bool
	// Problem says why there is no answer, nil if there is one. Wait is how many seconds later to ask again, 0 if that is
	// not known.
	Problem *httpapi.Problem
	Wait    int
}

// Ask calls an operation of advice for the viewer. The values are the members of the body.
func Ask(r *shell.Request, path string, values map[string]string) (*Advice, error) {
	body, err := json.Marshal(values)
	if err != nil {
		return nil, fault.BadField("body", "cannot be JSON")
	}
	if values == nil {
		body = nil
	}
	a := r.Call(httpapi.Call{Method: http.MethodPost, Path: path, Body: body})
	if !a.OK() {
		wait, _ := strconv.Atoi(a.Header.Get("Retry-After")) // it has none, or no number
		return &Advice{Problem: shell.Problem(a), Wait: wait}, nil
	}
	var got struct {
		Text, Model, Provider string
		Cut                   bool
	}
	if err := json.Unmarshal(a.Body, &got); err != nil {
		return nil, &fault.Error{Kind: fault.Internal, Message: "an answer of the API cannot be read", Cause: err}
	}
	return &Advice{Text: got.Text, By: got.Model + " of " + got.Provider, Cut: got.Cut}, nil
}
