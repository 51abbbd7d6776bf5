package estate

import (
	"context"
	"fmt"
	"slices"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/estate"
)

// forget deletes what is known of hosts that are no part of the target any more, or that no dry run has checked for
// long. What was reported after the run ended stays.
func (a *application) forget(ctx context.Context) error {
	if !a.AllHosts {
		return nil
	}
	var known []driftHost
	if err := a.q.NewSelect().Model(&known).Column("host", "checked_at").
		Where("d.target_id = ? AND d.reported_at < ?", a.Target.ID, a.Run.EndedAt).Scan(ctx); err != nil {
		return db.Wrap(err, "read the hosts of a target of drift")
	}
	have := make(map[string]bool, len(a.Inventory)+len(a.Checked.Hosts))
	for _, name := range a.Inventory {
		have[clean(name)] = true
	}
	for i := range a.Checked.Hosts {
		have[clean(a.Checked.Hosts[i].Host)] = true
	}
	var gone []string
	for _, d := range known {
		unlisted := a.Inventory != nil && !have[d.Host] && !implicit(d.Host)
		if unlisted || a.now.Sub(d.CheckedAt) > estate.KeepUnchecked {
			gone = append(gone, d.Host)
		}
	}
	for part := range slices.Chunk(gone, namesPerStatement) {
		for _, model := range []any{(*findingRow)(nil), (*driftHost)(nil)} {
			if _, err := db.Modify(ctx, a.q.NewDelete().Model(model).
				Where("target_id = ? AND host IN (?)", a.Target.ID, bun.In(part))); err != nil {
				return fmt.Errorf("delete the drift of hosts that are gone: %w", err)
			}
		}
	}
	return nil
}

// implicit reports whether Ansible knows a host without an inventory. A run that ends early may not get to its play.
func implicit(host string) bool {
	return host == "localhost" || host == "127.0.0.1" || host == "::1"
}
