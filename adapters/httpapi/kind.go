package httpapi

import (
	"net/http"
	"path"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/object"
)

// Kind declares what the routes of one kind of objects share: T is the type of the port, B the body of an answer.
type Kind[T, B any] struct {
	// Path is that of the list, such as /v1/projects. Its last element is the plural in operation ids.
	Path string
	// Noun is the singular in operation ids.
	Noun        string
	Tag         string
	Read, Write Access
	Example     B   // in answers
	Request     any // an example of a body of a request
	MaxBody     int64
	// InUse tells that a deletion is refused while something refers to the object.
	InUse  bool
	Body   func(T) B
	Record func(T) object.Record
}

func (k Kind[T, B]) route(method, path, id, summary, description string) Route {
	return Route{
		Method: method, Path: path, ID: id, Tag: k.Tag, Summary: summary, Description: description, Access: k.Write,
		Status: http.StatusOK, Example: k.Example, Errors: []int{http.StatusNotFound},
	}
}

// List returns the route of the list. HandleList gives it an example.
func (k Kind[T, B]) List(summary, description string) Route {
	r := k.route(http.MethodGet, k.Path, "list-"+path.Base(k.Path), summary, description)
	r.Access, r.Errors = k.Read, []int{http.StatusServiceUnavailable}
	return r
}

// Get returns the route that reads an object.
func (k Kind[T, B]) Get(summary, description string) Route {
	r := k.route(http.MethodGet, k.Path+"/{id}", "get-"+k.Noun, summary, description)
	r.Access = k.Read
	return r
}

// Create returns the route that makes an object.
func (k Kind[T, B]) Create(a audit.Action, summary, description string) Route {
	r := k.route(http.MethodPost, k.Path, "create-"+k.Noun, summary, description)
	r.Action, r.Status, r.Request, r.MaxBody = a, http.StatusCreated, k.Request, k.MaxBody
	r.Errors = append(r.Errors, http.StatusConflict)
	return r
}

// Update returns the route that replaces an object.
func (k Kind[T, B]) Update(a audit.Action, summary, description string) Route {
	r := k.route(http.MethodPut, k.Path+"/{id}", "update-"+k.Noun, summary, description)
	r.Action, r.Request, r.MaxBody = a, k.Request, k.MaxBody
	r.Errors = append(r.Errors, http.StatusConflict, http.StatusPreconditionFailed)
	return r
}

// Delete returns the route that deletes an object.
func (k Kind[T, B]) Delete(a audit.Action, summary, description string) Route {
	r := k.route(http.MethodDelete, k.Path+"/{id}", "delete-"+k.Noun, summary, description)
	r.Action, r.Status, r.Example = a, http.StatusNoContent, nil
	if r.Errors = append(r.Errors, http.StatusPreconditionFailed); k.InUse {
		r.Errors = append(r.Errors, http.StatusConflict)
	}
	return r
}

// Act returns the route of another action on an object.
func (k Kind[T, B]) Act(verb string, a audit.Action, summary, description string) Route {
	r := k.route(http.MethodPost, k.Path+"/{id}/"+verb, verb+"-"+k.Noun, summary, description)
	r.Action, r.Errors = a, append(r.Errors, http.StatusConflict)
	return r
}

// Compare returns the route that compares an object with its replacement. noun is the word for the object in the
// description.
func (k Kind[T, B]) Compare(noun string) Route {
	r := k.Act("compare", "", "List the members with secrets that an update would change",
		"It takes the right to change the "+noun+", and a whole body of an update. What reads back masked is compared with "+
			"what is stored; nothing of that is told.")
	r.Harmless, r.Example, r.Request, r.MaxBody = true, DifferenceBody{Changed: []string{}}, k.Request, k.MaxBody
	return r
}
