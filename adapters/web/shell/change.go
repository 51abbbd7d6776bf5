package shell

import (
	"encoding/json"
	"net/http"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/fault"
)

// Change reads a record from the API, changes members of it and writes it back, unless another change came between. The
// error is that of the API.
func (r *Request) Change(path string, change func(record map[string]any)) error {
	read := r.Call(httpapi.Call{Method: http.MethodGet, Path: path})
	record := map[string]any{}
	if err := decode(read, &record); err != nil {
		return err
	}
	change(record)
	_, err := r.Send(http.MethodPut, path, record, "If-Match", read.Header.Get("ETag"))
	return err
}

// Send calls an operation with a body and with headers, which come in pairs. The error is that of the API.
func (r *Request) Send(method, path string, body any, header ...string) (httpapi.Answer, error) {
	b, err := json.Marshal(body)
	if err != nil {
		return httpapi.Answer{}, &fault.Error{Kind: fault.Internal, Message: "a form cannot be written as JSON", Cause: err}
	}
	c := httpapi.Call{Method: method, Path: path, Header: http.Header{}, Body: b}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i+1] != "" {
			c.Header.Set(header[i], header[i+1])
		}
	}
	a := r.Call(c)
	if !a.OK() {
		return a, problemIn(a)
	}
	return a, nil
}
