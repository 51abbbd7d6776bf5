package runs

import (
	"context"

	"github.com/writ-automation/writ/ports/fault"
)

// SlotKey names something of which only a number of runs may have a slot at a time: a template, an inventory, a queue,
// a lock or a host. A run without a parent takes a slot of each of its keys at once, when the first of its executions
// is claimed, and keeps them until it ends. Runs below a parent take none of their own.
type SlotKey string

// Prefixes of keys. The rest is an id, a name, or the name of a host.
const (
	TemplateSlot  = "template:"
	InventorySlot = "inventory:"
	QueueSlot     = "queue:"
	LockSlot      = "lock:"
	HostSlot      = "host:"
)

// MaxConcurrent is the greatest limit of a key, MaxLocks how many locks a run may name.
const (
	MaxConcurrent = 10_000
	MaxLocks      = 16
)

// ScheduleLock returns the lock of a schedule whose runs wait for each other. No request can name it.
func ScheduleLock(id string) string { return "schedule:" + id }

// Limits keeps how many runs may have a slot of a key at a time. A key without a limit has 0, which is any number.
// Locks and hosts always have 1, and none is stored for them.
type Limits interface {
	// SetLimit must be called in the unit that stores the object of the key. Runs that are executed keep their slots.
	// Those that wait are bound by the new limit, and start at once where it allows that.
	SetLimit(ctx context.Context, key SlotKey, limit int) error
	// AddLimit is SetLimit for an object that the unit creates. It makes no submission wait, since there is no run of
	// the object.
	AddLimit(ctx context.Context, key SlotKey, limit int) error
	// Limits returns the limits of keys, without those that have none.
	Limits(ctx context.Context, keys ...SlotKey) (map[SlotKey]int, error)
}

// WhenBusy is what happens to a launch of a template of which as many runs as it allows are pending or running. Held
// runs do not count.
type WhenBusy string

// BusyQueue is the usual one: the run waits. BusySkip refuses the launch with TemplateBusy. BusyReplace cancels the
// oldest of the other runs if the caller may cancel them, and waits otherwise.
const (
	BusyQueue   WhenBusy = "queue"
	BusySkip    WhenBusy = "skip"
	BusyReplace WhenBusy = "replace"
)

// TemplateBusy refuses a launch that is to be skipped while its template is busy.
var TemplateBusy = fault.Code{Name: "template_busy", Kind: fault.Conflict}

// LimitStore stores the limits of keys.
type LimitStore interface {
	// PutLimit stores the limit of a template, an inventory or a queue; any other key is an Invalid fault. 0 deletes it.
	// Runs that wait or execute get the key if it had no limit: the latter have slots at once. It returns the queues in
	// which runs became claimable.
	PutLimit(ctx context.Context, key SlotKey, limit int) (opened []string, err error)
	// AddLimit is PutLimit for an object that the unit creates, and locks nothing. The unit does not read the limit, and
	// does not change it again.
	AddLimit(ctx context.Context, key SlotKey, limit int) error
	// Limits returns the limits of keys, without those that have none.
	Limits(ctx context.Context, keys ...SlotKey) (map[SlotKey]int, error)
}

// SlotStore stores the limits of keys and the slots of runs. Store.Insert gives a pending run without a parent its
// keys, Store.Move one that is approved, and Queue.Claim takes the slots.
type SlotStore interface {
	LimitStore
	// Release deletes the slots of ended runs and lets the next ones in. left are keys that another unit is about to
	// change: Wake must be called for them after the commit.
	Release(ctx context.Context, ended []int64) (opened []string, left []SlotKey, err error)
	// Waiting returns the next key after the given one for which runs wait, or "".
	Waiting(ctx context.Context, after SlotKey) (SlotKey, error)
	// Wake lets the runs in that wait first for a key, as many as have slots. It waits for units that change the key.
	Wake(ctx context.Context, key SlotKey) (opened []string, err error)
	// WakeChildren makes at most limit runs claimable whose parents have their slots, and that were missed then.
	WakeChildren(ctx context.Context, limit int) (opened []string, err error)
	// Launches returns the unfinished runs of a key, the oldest first. Until the unit ends, other callers for the key
	// wait.
	Launches(ctx context.Context, key SlotKey) ([]string, error)
	// Busy tells for each key of a pending run without a parent that it waits for, who is before it. Of hosts it tells
	// at most five.
	Busy(ctx context.Context, seq int64) ([]BusyKey, error)
}

// BusyKey is a key of which a run has no slot yet, and could have none now.
type BusyKey struct {
	Key   SlotKey
	Limit int
	// Holders are the ids of runs that have the slots, the oldest first, at most ten. Ahead counts the runs that wait
	// before this one, and First is the id of the first of them.
	Holders []string
	Ahead   int
	First   string
}
