package audit

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/proof/receipt"
)

// ReceiptInput selects a receipt of a run.
type ReceiptInput struct {
	ID     string         `path:"id" example:"run_01k0a8bq3vtx5zk9w2m4n6p8rs"`
	Sparse httpapi.Switch `query:"sparse" doc:"Given without a value, or 1 or true: only the run's own entries, each proved to belong to the whole chain."`
	From   httpapi.Count  `query:"from" doc:"Adds a proof that the chain only grew since it had this many entries."`
}

func (in *ReceiptInput) Resolve(ctx huma.Context) []error {
	u := ctx.URL()
	if q := u.Query(); q.Has("sparse") && in.Sparse == "" {
		in.Sparse = "true"
	}
	return blank(ctx, "from")
}

func (h *handlers) receipt(ctx context.Context, in *ReceiptInput) (*httpapi.StreamOutput, error) {
	q := audit.ReceiptQuery{Sparse: in.Sparse.On()}
	if in.From.Set {
		q.From = &in.From.N
	}
	var err error
	if q.Private, err = h.router.May(ctx, "audit", "read"); err != nil {
		return nil, err
	}
	if !q.Private {
		q.Audience = h.Audience
	}
	id := in.ID
	switch run, err := h.Runs.Get(ctx, id); {
	case err == nil:
		id = run.ID
	case !q.Private || !fault.Is(err, fault.NotFound):
		return nil, err
	}
	// Callers who may read the trail also get the receipt of a run whose record was deleted.
	got, err := h.Prover.Receipt(ctx, id, q)
	if err != nil {
		return nil, err
	}
	return httpapi.Whole(got.Body, "Content-Type", receipt.MediaType, "Service-Key-Id", got.KeyID,
		"Content-Disposition", attachment(id+".receipt.json")), nil
}

// EvidenceInput selects a run and the form of its dossier.
type EvidenceInput struct {
	ID     string `path:"id" example:"run_01k0a8bq3vtx5zk9w2m4n6p8rs"`
	Format string `query:"format" enum:"html,json" doc:"html if absent."`
}

func (h *handlers) evidence(ctx context.Context, in *EvidenceInput) (*httpapi.StreamOutput, error) {
	run, err := h.Runs.Get(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	e, err := h.Reporter.Evidence(ctx, run.ID)
	switch {
	case err != nil:
		return nil, err
	case in.Format == "json":
		return httpapi.Whole(e.JSON, "Content-Type", "application/json"), nil
	}
	return httpapi.Page(e.HTML, run.ID+"-evidence.html"), nil
}

// RegisterInput selects a period.
type RegisterInput struct {
	From string `query:"from" doc:"A date or an RFC 3339 instant; 90 days before to unless given."`
	To   string `query:"to" doc:"A date, whose whole day counts, or an RFC 3339 instant; now unless given."`
}

// period parses the bounds; an absent bound stays zero, for which the register has a default.
func (in *RegisterInput) period() (p audit.Period, err error) {
	if in.To != "" {
		if p.To, err = instant("to", in.To, true); err != nil {
			return p, err
		}
	}
	if in.From != "" {
		p.From, err = instant("from", in.From, false)
	}
	return p, err
}

func (h *handlers) register(ctx context.Context, in *RegisterInput) (*httpapi.StreamOutput, error) {
	p, err := in.period()
	if err != nil {
		return nil, err
	}
	html, err := h.Reporter.Register(ctx, p)
	if err != nil {
		return nil, err
	}
	return httpapi.Page(html, "change-register.html"), nil
}
