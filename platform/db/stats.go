package db

import (
	"database/sql"
	"sync/atomic"
)

// GroupBounds are the upper bounds of Stats.GroupSizes; a last count holds larger groups.
var GroupBounds = [...]int{1, 2, 4, 8, 16, 32, 64, 128}

// Stats are counts since the database was opened.
type Stats struct {
	Units        uint64 // units of work that were committed
	Failed       uint64 // attempts that were rolled back
	Retries      uint64 // attempts after a conflict
	Commits      uint64 // COMMITs that were answered
	CommitErrors uint64 // COMMITs whose outcome is unknown
	Reopened     uint64 // times that the writer opened a new connection after such a COMMIT
	Stalled      uint64 // units that were given up because they took too long
	Reconnects   uint64 // times that the LISTEN connection was reopened
	// GroupSizes counts commits by the number of units that shared them, per GroupBounds.
	GroupSizes [len(GroupBounds) + 1]uint64
	Reads      sql.DBStats // the pool; on Postgres also for units after a conflict
}

type counters struct {
	units, failed, retries, commits, commitErrors, reopened, stalled, reconnects atomic.Uint64
	groups                                                                       [len(GroupBounds) + 1]atomic.Uint64
}

func (c *counters) group(units int) {
	c.commits.Add(1)
	c.units.Add(uint64(units))
	for i, bound := range GroupBounds {
		if units <= bound {
			c.groups[i].Add(1)
			return
		}
	}
	c.groups[len(GroupBounds)].Add(1)
}

// Stats returns the counts at this moment.
func (d *DB) Stats() Stats {
	c := &d.stats
	s := Stats{
		Units: c.units.Load(), Failed: c.failed.Load(), Retries: c.retries.Load(), Commits: c.commits.Load(),
		CommitErrors: c.commitErrors.Load(), Reopened: c.reopened.Load(), Stalled: c.stalled.Load(),
		Reconnects: c.reconnects.Load(), Reads: d.reads.Stats(),
	}
	for i := range c.groups {
		s.GroupSizes[i] = c.groups[i].Load()
	}
	return s
}
