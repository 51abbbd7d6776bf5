package overview

import (
	"context"
	"time"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/proof"
	"github.com/writ-automation/writ/ports/system"
)

// verifiedUnasked is the size up to which the trail is verified for this page. A larger one is verified on request.
const verifiedUnasked = 20_000

// endsSoon is when a token or a licence is listed before its end.
const endsSoon = 14 * 24 * time.Hour

// checks are what takes long to find out. The page shows it once it is known.
type checks struct {
	// Trail is the verdict about the trail; Verified is false where it was not made.
	Trail    audit.ChainVerdict
	Verified bool
	At       time.Time
	// Report, Tokens and License are for administrators. Tokens are those that end soon.
	Report  system.Report
	Tokens  []identity.Token
	License system.LicenseStatus
}

// check makes the checks and answers with the parts of the page that show them.
func (h *handlers) check(r *shell.Request) (*shell.Page, error) {
	if _, ok := h.checks.get(r.Viewer.ID, r.Now); !ok {
		c, err := h.examine(r)
		if err != nil {
			return nil, err
		}
		h.checks.put(r.Viewer.ID, r.Now, c)
	}
	return h.home(r)
}

func (h *handlers) examine(r *shell.Request) (c checks, err error) {
	ctx := r.Context()
	c.At = r.Now
	size, err := h.Checks.Trail.Size(ctx)
	if err != nil {
		return c, err
	}
	if size <= verifiedUnasked && r.May("audit", "verify") {
		if c.Trail, err = h.Checks.Prover.Verify(ctx, proof.Trust{}); err != nil {
			return c, err
		}
		c.Verified = true
	}
	if !r.Viewer.Admin() {
		return c, nil
	}
	if c.Report, err = h.Checks.Doctor.Examine(ctx); err != nil {
		return c, err
	}
	c.License = h.Checks.Licenses.License(ctx)
	c.Tokens, err = h.ending(ctx, r.Now)
	return c, err
}

// ending lists the tokens of programs that end soon, of the first page.MaxRows.
func (h *handlers) ending(ctx context.Context, now time.Time) ([]identity.Token, error) {
	list, _, err := h.Checks.Tokens.List(ctx, page.Window{})
	var out []identity.Token
	for _, t := range list {
		if t.Kind == identity.APIToken && !t.ExpiresAt.IsZero() && t.ExpiresAt.After(now) &&
			t.ExpiresAt.Sub(now) < endsSoon {
			out = append(out, t)
		}
	}
	return out, err
}
