package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
)

// receiptHeader names the entry that a request made in the audit trail.
const receiptHeader = "Audit-Receipt"

// The members of an operation's metadata that carry its action and whether its path is a secret.
const (
	actionKey = "action"
	secretKey = "secret"
)

// ObjectOf returns the object that an id names in the trail, the zero value if the text is not an id.
func ObjectOf(id string) audit.Object {
	if ids.Known(id) {
		return audit.Object{Kind: ids.KindOf(id), ID: id}
	}
	return audit.Object{}
}

// acting returns a context that names the request of the actor.
func acting(ctx context.Context, op *huma.Operation, req *http.Request) context.Context {
	path := req.URL.Path
	if secret, _ := op.Metadata[secretKey].(bool); secret {
		path = op.Path
	}
	return actor.WithRequest(ctx, actor.Request{ID: RequestID(ctx), Method: req.Method, Path: path,
		Agent: agentOf(req)})
}

// watch records later refusals of who if the operation changes something. In the returned context, refusals that a
// module records count as well.
func (r *Router) watch(
	ctx context.Context, op *huma.Operation, req *http.Request, st *request, who actor.Actor,
) context.Context {
	action, _ := op.Metadata[actionKey].(audit.Action)
	if action == "" || req.Method == http.MethodGet || req.Method == http.MethodHead {
		return ctx
	}
	admit := func() error {
		wait := r.refusals.count(who.ID)
		if wait == 0 {
			return nil
		}
		f := TooManyRefusals.New("too many changes were refused; try again later")
		f.RetryAfter = wait
		return f
	}
	st.denied = func(ctx context.Context, reason string) error {
		if err := admit(); err != nil {
			return err
		}
		return audit.Deny(acting(actor.With(ctx, who), op, req), r.unit, r.entries, audit.Entry{
			Action: action, Object: ObjectOf(req.PathValue("id")),
			Detail: map[string]any{"reason": reason, "operation": op.OperationID},
		})
	}
	return audit.WithLimit(ctx, admit)
}

// record records once that a known caller was refused a change. If recording fails, or if the caller was refused too
// often, the caller gets that error instead: in both cases nothing of the request was done.
func (st *request) record(ctx context.Context, p *Problem) error {
	if p.Status != http.StatusForbidden || st.denied == nil || p.recorded {
		return nil
	}
	denied := st.denied
	st.denied = nil
	return denied(ctx, p.Reason)
}

// May reports whether the caller of ctx may do act to objects of kind: for operations whose answers contain more for
// some callers. An error that is not a refusal is returned.
func (r *Router) May(ctx context.Context, kind, act string) (bool, error) {
	p, ok := identity.From(ctx)
	if !ok {
		return false, nil
	}
	err := r.authz.Authorize(ctx, p, identity.Need{Kind: kind, Act: act})
	if fault.Is(err, fault.Forbidden) {
		return false, nil
	}
	return err == nil, err
}
