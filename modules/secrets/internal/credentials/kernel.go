package credentials

import (
	"maps"
	"slices"

	"github.com/writ-automation/writ/ports/fault"
)

// names returns the names of members, sorted.
func names[V any](members map[string]V) []string { return slices.Sorted(maps.Keys(members)) }

// naming returns a fault that refers to a member of the request.
func naming(field string, f *fault.Error) error {
	message := f.Message
	f.Message = field + ": " + message
	f.Fields = []fault.Field{{Location: field, Message: message}}
	return f
}
