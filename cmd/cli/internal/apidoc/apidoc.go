// Package apidoc describes the operations of the REST API for the command line, as the API's own document has them.
package apidoc

import "slices"

// Operation is a method of a path.
type Operation struct {
	ID          string // the operationId
	Method      string
	Path        string // with parameters in braces
	Tag         string
	Summary     string
	Description string
	Query       []Member
	Body        []Member
	// List is the member of the answer that holds rows; empty for an answer that is no list.
	List string
	// Answer are the members of a row of a list, else of the answer.
	Answer []Member
}

// Member is a member of a body or an answer, or a parameter.
type Member struct {
	Name        string
	Type        string // as in JSON schema; empty is any value
	Items       string // type of the items of an array, or of the values of an object
	Format      string // date-time, password
	Description string
	Enum        []string
	Required    bool
	ReadOnly    bool
	Members     []Member // of an object, or of the items of an array
}

// Operations lists all operations by path and method. The slice is shared and must not be changed.
func Operations() []Operation { return operations }

// Find returns the operation with an operationId.
func Find(id string) (Operation, bool) {
	i := slices.IndexFunc(operations, func(o Operation) bool { return o.ID == id })
	if i < 0 {
		return Operation{}, false
	}
	return operations[i], true
}
