package vault

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// failure explains an answer that is not a success.
func (r reply) failure() error {
	switch {
	case r.status == http.StatusServiceUnavailable && r.mentions("sealed"):
		return errors.New("the server is sealed")
	case r.status == http.StatusServiceUnavailable:
		return errors.New("the server does not serve now (503)")
	case r.status == http.StatusNotImplemented:
		return errors.New("the server was never initialised (501)")
	case r.status == http.StatusForbidden:
		return errors.New("permission denied")
	case r.status == http.StatusNotFound && r.versioned():
		return errors.New("the path is one of a KV engine of version 2")
	case r.status == http.StatusNotFound && present(r.Data):
		return errors.New("the newest version of the secret is deleted")
	case r.status == http.StatusNotFound:
		return errors.New("the path was not found")
	case r.status == http.StatusTooManyRequests:
		return errors.New("there are too many requests (429)")
	case r.status >= 300 && r.status < 400:
		return fmt.Errorf("the server sends elsewhere (%d), which is not followed: give the address of the active one",
			r.status)
	default:
		return fmt.Errorf("the server answered %d", r.status)
	}
}

// mentions looks for a word of Vault in the errors of an answer.
func (r reply) mentions(text string) bool {
	return slices.ContainsFunc(r.Errors, func(e string) bool { return strings.Contains(strings.ToLower(e), text) })
}

// versioned reports the warning of an engine of version 2 after a request of version 1.
func (r reply) versioned() bool {
	return slices.ContainsFunc(r.Warnings, func(w string) bool {
		return strings.Contains(w, "Invalid path for a versioned K/V secrets engine")
	})
}

// unknownLease reports that the lease does not exist any more.
func (r reply) unknownLease() bool {
	return r.status == http.StatusBadRequest && (r.mentions("lease not found") || r.mentions("invalid lease"))
}
