package query

import (
	"context"

	"github.com/writ-automation/writ/modules/runs/internal/record"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// preview adds to the record of a run what its preview has found.
func (q *Reader) preview(ctx context.Context, r *runs.Run) error {
	if r.Approvals == nil || r.Approvals.Preview == nil {
		return nil
	}
	p := &runs.Preview{PreviewOf: *r.Approvals.Preview}
	r.Preview = p
	for _, now := range []runs.Parts{r.Approvals.Current, r.Approvals.Approved} {
		if now != nil {
			p.Stale = now.Digest() != p.Digest
			break
		}
	}
	s, err := q.side(ctx, p.RunID)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	p.Status, p.Error, p.Hosts = s.Run.Status, record.Redact(s.Run).Error, runs.HostCounts{}
	for _, h := range s.Hosts {
		p.Hosts[h.Worst]++
		if h.Changed == 0 {
			continue
		}
		if p.Changes++; len(p.ChangedHosts) < runs.MaxPreviewed {
			p.ChangedHosts = append(p.ChangedHosts, h.Host)
		}
	}
	for _, t := range s.Tasks {
		if t.Changed > 0 && len(p.Tasks) < runs.MaxPreviewed {
			p.Tasks = append(p.Tasks, runs.PreviewedTask{Play: t.Play, Task: t.Task, Hosts: t.Changed})
		}
	}
	return nil
}
