package audit

import (
	"context"
	"time"

	"github.com/writ-automation/writ/ports/tx"
)

// denyTime bounds the recording of a refusal, which goes on where its caller goes away: who hangs up at once would
// leave no trace else.
const denyTime = 10 * time.Second

// Deny records in a unit of its own that an entry's action was denied: the unit that was refused is rolled back, and
// would take the entry along. Its receipt is none of the request. The error is Unrecorded where there is no entry.
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
