package httpapi

import (
	"context"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/object"
)

// onlyRevision is the revision of objects that never change.
const onlyRevision = 1

// Unchanging describes an object that never changes.
func Unchanging(id string) object.Record { return object.Record{ID: id, Revision: onlyRevision} }

// UnchangingDeleter returns the handler that deletes an object that never changes: only one revision matches, and a
// missing object is reported before a wrong revision.
func UnchangingDeleter[T any](
	get func(context.Context, string) (T, error), del func(ctx context.Context, id string) error,
) func(context.Context, *DeleteInput) (*NoOutput, error) {
	return func(ctx context.Context, in *DeleteInput) (*NoOutput, error) {
		if err := CheckUnchanging(ctx, in.ID, in.IfMatch, get); err != nil {
			return nil, err
		}
		return &NoOutput{}, del(ctx, in.ID)
	}
}

// CheckUnchanging returns an error if a write is for another revision than the only one.
func CheckUnchanging[T any](
	ctx context.Context, id string, m IfMatch, get func(context.Context, string) (T, error),
) error {
	if rev := m.Revision(); rev == 0 || rev == onlyRevision {
		return nil
	}
	if _, err := get(ctx, id); err != nil {
		return err
	}
	return access.RevisionChanged.New("the object is not at the revision that If-Match names")
}
