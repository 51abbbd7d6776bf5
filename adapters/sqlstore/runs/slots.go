package runs

import (
	"context"
	"slices"
	"strings"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/runs"
)

// The states of a run at one of its keys are numbers in the statements: 0 for one that was not tried, 1 for one that
// waits, 2 for one that has its slot. The statements of slots are raw because they are a part of claims, and only
// repeated texts stay prepared.

// hostsKey is a key of every run with exclusive hosts, beside one for each host. It stands for no slot: it is the lock
// under which their hosts are compared. anyHost is the only key for a host of a run whose hosts are not known.
const (
	hostsKey = "hosts"
	anyHost  = runs.HostSlot + "*"
)

// keys are those of a run without a parent: named ones, which have no slots without a stored limit, and others.
type keys struct{ named, always []string }

// keysOf returns none for a run that has to wait for approval, has ended or has a parent. The objects of a run decide,
// since a limit that is set later finds its runs by them.
func keysOf(r *runs.Run) (k keys) {
	if r.ParentID != "" || r.Status != runs.Pending {
		return k
	}
	for _, o := range r.Objects {
		if queue, ok := access.QueueName(o); ok {
			k.named = append(k.named, runs.QueueSlot+queue)
		} else if strings.HasPrefix(o, string(ids.Template)) {
			k.named = append(k.named, runs.TemplateSlot+o)
		} else if strings.HasPrefix(o, string(ids.Inventory)) {
			k.named = append(k.named, runs.InventorySlot+o)
		}
	}
	for _, name := range r.Spec.Locks {
		k.always = append(k.always, runs.LockSlot+name)
	}
	if r.Spec.ExclusiveHosts {
		k.always = append(k.always, hostsKey)
	}
	k.always = slices.Compact(slices.Sorted(slices.Values(k.always)))
	return k
}

// objectOf returns the object of a named key.
func objectOf(key runs.SlotKey) (object string, ok bool) {
	for prefix, kind := range map[string]ids.Prefix{runs.TemplateSlot: ids.Template, runs.InventorySlot: ids.Inventory} {
		if id, ok := strings.CutPrefix(string(key), prefix); ok {
			return id, strings.HasPrefix(id, string(kind))
		}
	}
	queue, ok := strings.CutPrefix(string(key), runs.QueueSlot)
	return access.Queue(queue), ok && queue != ""
}

// limited is the column that tells whether one of the named keys has a limit. Its arguments are these keys.
func (k keys) limited() string {
	if len(k.named) == 0 {
		return "FALSE AS limits"
	}
	return "EXISTS (SELECT 1 FROM slot_limits WHERE key IN (" + marks(len(k.named)) + ")) AS limits"
}

// demand stores the keys of a pending run. limits tells that one of the named keys has a limit.
func (s *Store) demand(ctx context.Context, q bun.IDB, r *runs.Run, k keys, limits bool) error {
	rank := -int64(r.Spec.Priority)
	if limits {
		_, err := db.Exec(ctx, q, "INSERT INTO run_slots (run_seq, key, state, rank) SELECT CAST(? AS BIGINT), key, 0, "+
			"CAST(? AS INTEGER) FROM slot_limits WHERE key IN ("+marks(len(k.named))+")",
			append([]any{r.Seq, rank}, anys(k.named)...)...)
		if err != nil {
			return db.Wrap(err, "store the slots of run %s", r.ID)
		}
	}
	if err := s.putKeys(ctx, q, r.Seq, rank, 0, k.always); err != nil {
		return db.Wrap(err, "store the slots of run %s", r.ID)
	}
	if !limits && len(k.always) == 0 || r.Gated && r.Slotted {
		return nil
	}
	r.Gated, r.Slotted = true, true
	_, err := db.Exec(ctx, q, "UPDATE runs SET gated = TRUE, slotted = TRUE WHERE seq = ?", r.Seq)
	return db.Wrap(err, "gate run %s", r.ID)
}

// demandLate is demand for a run that was approved.
func (s *Store) demandLate(ctx context.Context, q bun.IDB, r *runs.Run) error {
	if r.ParentID != "" {
		return nil
	}
	k := keysOf(r)
	found, _, err := db.QueryRow[struct{ Limits bool }](ctx, q, "SELECT "+k.limited(), anys(k.named)...)
	if err != nil {
		return db.Wrap(err, "look for limits of run %s", r.ID)
	}
	return s.demand(ctx, q, r, k, found.Limits)
}

type slotRow struct {
	bun.BaseModel `bun:"table:run_slots,alias:s"`
	RunSeq        int64
	Key           string
	State         int
	Rank          int64
}

func (s *Store) putKeys(ctx context.Context, q bun.IDB, seq, rank int64, state int, list []string) error {
	rows := make([]slotRow, len(list))
	for i, key := range list {
		rows[i] = slotRow{RunSeq: seq, Key: key, State: state, Rank: rank}
	}
	return s.models.slots.Insert(ctx, q, rows, "")
}

// keysPerStatement bounds one statement's list.
const keysPerStatement = 200

func texts[T ~string](list []T) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = string(v)
	}
	return out
}
