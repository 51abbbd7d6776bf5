package audit

import (
	"context"
	"fmt"

	"github.com/writ-automation/writ/modules/audit/internal/install"
	"github.com/writ-automation/writ/ports/system"
)

// CheckKeys returns an error for a signing key that no server can use. No key is no error.
func CheckKeys(pem []byte) error {
	if len(pem) == 0 {
		return nil
	}
	_, _, err := install.ParseKeys(pem)
	return err
}

// HeadCheck checks at the start of a server that the chain continues the heads that were seen before: the one in the
// head file, the newest of each kind of anchor, and those that workers showed.
type HeadCheck struct{ who *install.Install }

var _ system.Check = (*HeadCheck)(nil)

// NewHeadCheck returns the check of the trail that c records.
func NewHeadCheck(c *Core) *HeadCheck { return &HeadCheck{who: c.who} }

func (*HeadCheck) Name() string { return "audit_heads" }

// Examine reads the roots of a few heads; it does not read the whole chain.
func (c *HeadCheck) Examine(ctx context.Context) (system.Examination, error) {
	seen, size, err := c.who.SeenHeads(ctx)
	if err != nil {
		return system.Examination{}, fmt.Errorf("compare the audit trail with its heads: %w", err)
	}
	var out system.Examination
	reported := make(map[install.Seen]bool, len(seen)) // an anchor may be among the newest of several kinds
	for _, s := range seen {
		if reported[s] {
			continue
		}
		reported[s] = true
		if out.Examined++; s.Met {
			continue
		}
		out.Findings = append(out.Findings, system.Finding{
			Severity: system.Error, Object: system.Subject{Kind: "audit trail"}, Link: "/v1/audit/verify",
			Problem: s.Problem(size),
			Fix: "the database was restored from a copy or changed: if that was meant stop the servers and run writ audit " +
				"accept-rollback, else keep everything and find out who did it",
		})
	}
	return out, nil
}
