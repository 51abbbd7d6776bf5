package audit

import (
	"context"
	"time"

	"github.com/writ-automation/writ/ports/tx"
)

// denyTime bounds the recording of a refusal. It continues after the caller has disconnected, so that disconnecting
// does not avoid the entry.
const denyTime = 10 * time.Second

// Deny records a denied action in a unit of its own, since the refused unit is rolled back. The request does not get
// the receipt. The error is Unrecorded if no entry was made.
func Deny(ctx context.Context, u tx.Unit, r Recorder, e Entry) error {
	e.Outcome = Denied
	ctx, _ = WithCollector(context.WithoutCancel(ctx))
	ctx, cancel := context.WithTimeout(ctx, denyTime)
	defer cancel()
	err := u.Do(ctx, func(ctx context.Context) error { return r.Record(ctx, e) })
	if err != nil && !Unrecorded.Is(err) {
		return Unrecorded.New("the audit trail cannot be written, so that nothing was done").Because(err)
	}
	return err
}

type limitKey struct{}

// WithLimit returns a context in which Refuse asks admit before it records. An error of admit takes the place of the
// refusal and of its entry, so that a caller in a loop does not fill the trail.
func WithLimit(ctx context.Context, admit func() error) context.Context {
	return context.WithValue(ctx, limitKey{}, admit)
}

// Refuse is Deny for a refusal that the caller passes on: it returns the refusal, Unrecorded, or the error of the limit
// of ctx.
func Refuse(ctx context.Context, u tx.Unit, r Recorder, e Entry, refusal error) error {
	if admit, ok := ctx.Value(limitKey{}).(func() error); ok {
		if err := admit(); err != nil {
			return err
		}
	}
	if err := Deny(ctx, u, r, e); err != nil {
		return err
	}
	return refusal
}

// RefusedSignIn is the entry of a refused sign-in by a method.
func RefusedSignIn(method, reason string) Entry {
	return Entry{Action: AuthLogin, Detail: map[string]any{"method": method, "reason": reason}}
}
