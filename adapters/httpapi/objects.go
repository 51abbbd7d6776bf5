package httpapi

import "context"

// IDInput names an object.
type IDInput struct {
	ID string `path:"id"`
}

// NewInput carries a new object.
type NewInput[B any] struct{ Body B }

// ChangeInput names an object, the revision that the client holds, and the new content.
type ChangeInput[B any] struct {
	ID      string  `path:"id"`
	IfMatch IfMatch `header:"If-Match"`
	Body    B
}

// DeleteInput names an object and the revision that the client holds.
type DeleteInput struct {
	ID      string  `path:"id"`
	IfMatch IfMatch `header:"If-Match"`
}

// ObjectOutput answers with an object.
type ObjectOutput[B any] struct {
	ETag string `header:"ETag"`
	Body B
}

// NewObjectOutput answers with an object that was made.
type NewObjectOutput[B any] struct {
	Location string `header:"Location"`
	ETag     string `header:"ETag"`
	Body     B
}

// ListOutput answers with objects.
type ListOutput[L any] struct{ Body L }

// NoOutput is an answer without a body.
type NoOutput struct{}

// Deleted answers a deletion.
func Deleted(
	ctx context.Context, in *DeleteInput, del func(ctx context.Context, id string, revision int64) error,
) (*NoOutput, error) {
	if err := del(ctx, in.ID, in.IfMatch.Revision()); err != nil {
		return nil, err
	}
	return &NoOutput{}, nil
}

// CompareInput names an object and carries the content that would replace it.
type CompareInput[B any] struct {
	ID   string `path:"id"`
	Body B
}

// DifferenceBody lists the changes that an update would make.
type DifferenceBody struct {
	Changed []string `json:"changed" doc:"Members with secrets that the update would change."`
}

// DifferenceOutput answers with the changes that an update would make.
type DifferenceOutput struct{ Body DifferenceBody }

// Difference answers with the members that an update would change.
func Difference(changed []string, err error) (*DifferenceOutput, error) {
	if err != nil {
		return nil, err
	}
	return &DifferenceOutput{Body: DifferenceBody{Changed: append([]string{}, changed...)}}, nil
}
