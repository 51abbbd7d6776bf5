package httpapi

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
)

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

// CompareInput names an object and carries the content that would replace it.
type CompareInput[B any] struct {
	ID   string `path:"id"`
	Body B
}

// Output answers with a body.
type Output[B any] struct{ Body B }

// StreamOutput answers with a stream, or with bytes.
type StreamOutput = Output[func(huma.Context)]

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

// NoOutput is an answer without a body.
type NoOutput struct{}

// DifferenceBody lists the changes that an update would make.
type DifferenceBody struct {
	Changed []string `json:"changed" doc:"Members with secrets that the update would change."`
}

// Show returns a function that answers with the body of what a port returned, or with its error.
func Show[T, B any](body func(T) B) func(T, error) (*Output[B], error) {
	return func(t T, err error) (*Output[B], error) {
		if err != nil {
			return nil, err
		}
		return &Output[B]{Body: body(t)}, nil
	}
}

// Difference answers with the members that an update would change.
func Difference(changed []string, err error) (*Output[DifferenceBody], error) {
	return Show(func(list []string) DifferenceBody { return DifferenceBody{Changed: append([]string{}, list...)} })(
		changed, err)
}

// Show answers with an object.
func (k Kind[T, B]) Show(t T, err error) (*ObjectOutput[B], error) {
	if err != nil {
		return nil, err
	}
	return &ObjectOutput[B]{ETag: ETag(k.Record(t).Revision), Body: k.Body(t)}, nil
}

// ShowNew answers with a new object. Its location is below the path of the list.
func (k Kind[T, B]) ShowNew(t T, err error) (*NewObjectOutput[B], error) {
	if err != nil {
		return nil, err
	}
	r := k.Record(t)
	return &NewObjectOutput[B]{Location: k.Path + "/" + r.ID, ETag: ETag(r.Revision), Body: k.Body(t)}, nil
}

// Getter returns the handler that reads an object, or acts on one without more input.
func (k Kind[T, B]) Getter(
	get func(ctx context.Context, id string) (T, error),
) func(context.Context, *IDInput) (*ObjectOutput[B], error) {
	return func(ctx context.Context, in *IDInput) (*ObjectOutput[B], error) { return k.Show(get(ctx, in.ID)) }
}

// Self is the conversion of a body that the port's function reads itself.
func Self[B any](b *B) *B { return b }

// Creator returns the handler that makes an object of a body N.
func Creator[T, B, N, V any](
	k Kind[T, B], read func(*N) V, create func(context.Context, V) (T, error),
) func(context.Context, *NewInput[N]) (*NewObjectOutput[B], error) {
	return func(ctx context.Context, in *NewInput[N]) (*NewObjectOutput[B], error) {
		return k.ShowNew(create(ctx, read(&in.Body)))
	}
}

// Updater returns the handler that replaces an object by a body C, which must not change the members that only the
// server sets.
func Updater[T, B, V any, C stamped](
	k Kind[T, B], get func(ctx context.Context, id string) (T, error), read func(*C) V,
	update func(ctx context.Context, id string, revision int64, v V) (T, error),
) func(context.Context, *ChangeInput[C]) (*ObjectOutput[B], error) {
	return func(ctx context.Context, in *ChangeInput[C]) (*ObjectOutput[B], error) {
		err := in.Body.record().Unchanged(in.ID, func() (object.Record, error) {
			stored, err := get(ctx, in.ID)
			return k.Record(stored), err
		})
		if err != nil {
			return nil, err
		}
		return k.Show(update(ctx, in.ID, in.IfMatch.Revision(), read(&in.Body)))
	}
}

// Comparer returns the handler that compares an object with its replacement.
func Comparer[N, V any](
	read func(*N) V, compare func(ctx context.Context, id string, v V) ([]string, error),
) func(context.Context, *CompareInput[N]) (*Output[DifferenceBody], error) {
	return func(ctx context.Context, in *CompareInput[N]) (*Output[DifferenceBody], error) {
		return Difference(compare(ctx, in.ID, read(&in.Body)))
	}
}

// Deleter returns the handler that deletes an object.
func Deleter(
	del func(ctx context.Context, id string, revision int64) error,
) func(context.Context, *DeleteInput) (*NoOutput, error) {
	return func(ctx context.Context, in *DeleteInput) (*NoOutput, error) {
		return &NoOutput{}, del(ctx, in.ID, in.IfMatch.Revision())
	}
}

// Filtered returns a function for HandleList that calls a port with the filter and the window of the query.
func Filtered[I, F, T any, P interface {
	*I
	Page() page.Window
}](
	filter func(*I) F, list func(context.Context, F, page.Window) ([]T, int, error),
) func(context.Context, P) ([]T, int, error) {
	return func(ctx context.Context, in P) ([]T, int, error) { return list(ctx, filter(in), in.Page()) }
}

// HandleList registers a list with a body L of rows R. Its example has the given rows.
func HandleList[I, T, R, L any, P interface {
	*I
	Page() page.Window
}](
	r *Router, route Route, list func([]R, Listed) L, row func(T) R, find func(context.Context, P) ([]T, int, error),
	examples ...R,
) {
	route.Example = list(examples, Listed{Count: len(examples), Total: len(examples), Limit: page.MaxRows})
	Handle(r, route, func(ctx context.Context, in *I) (*Output[L], error) {
		found, total, err := find(ctx, in)
		if err != nil {
			return nil, err
		}
		rows := Rows(found, row)
		return &Output[L]{Body: list(rows, Listed{Count: len(rows), Total: total, Limit: P(in).Page().Limit})}, nil
	})
}
