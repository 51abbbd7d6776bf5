package importer

import (
	"context"
	"time"
)

// MaxBody is the largest export that a server takes, in bytes.
const MaxBody = 25 << 20

// MaxObjects is how many objects an export may have that are written: they are written in one transaction, for which
// the other changes of a server with SQLite wait.
const MaxObjects = 10_000

// Export is the input of a Format.
type Export struct {
	// File is the name of the file that the body comes from, empty if it is not known. It names objects that have no
	// name of their own, and nothing depends on its ending.
	File string
	Body []byte
	// Inventory is the name of the inventory on which the jobs run, empty for none. Only formats with Targeted take it.
	Inventory string
	// System tells that a crontab has a column with accounts; nil leaves it to the format to find out.
	System *bool
	// Now is the time after which Fires are computed.
	Now time.Time
}

// Format reads the exports of one product. It uses neither the network nor the file system, and its work and memory
// are bounded for any body.
type Format interface {
	// Name is the identifier of the format: "awx".
	Name() string
	// Targeted reports whether an import takes the inventory on which its jobs run.
	Targeted() bool
	// Read returns what an export says. An Invalid fault tells why the body as a whole is refused, and names the place
	// in it: the line, or the entry of an archive. NothingFound is an export without a single object. TooLarge faults
	// name the limit that an archive exceeds. A single bad object is an object of the draft without a Spec.
	Read(ctx context.Context, e Export) (Draft, error)
}

// Action is what an import does with an object.
type Action string

// The actions.
const (
	Create Action = "create"
	Update Action = "update"
	Skip   Action = "skip" // unchanged, or of the class NoHome
)

// Planned is an object of a plan.
type Planned struct {
	Object
	Action Action
	ID     string // of the stored object; of a new one only after it was created
	// Changes are the members that an update sets, sorted.
	Changes []string
	// Fires are the next times at which the schedule fires in Writ; Object.Fires are those of its product.
	Fires []time.Time
}

// Counts counts the objects of a plan.
type Counts struct {
	Create int `json:"create"`
	Update int `json:"update"`
	Skip   int `json:"skip"`

	Same     int `json:"same"`
	Adapted  int `json:"adapted"`
	NeedsYou int `json:"needs_you"`
	NoHome   int `json:"no_home"`
}

// Add counts an object.
func (c *Counts) Add(o Planned) {
	switch o.Action {
	case Create:
		c.Create++
	case Update:
		c.Update++
	case Skip:
		c.Skip++
	}
	switch o.Class {
	case Same:
		c.Same++
	case Adapted:
		c.Adapted++
	case NeedsYou:
		c.NeedsYou++
	case NoHome:
		c.NoHome++
	}
}

// Plan is what an import does, or did if it was applied. The objects are in the order in which they are written,
// followed by those that are not.
type Plan struct {
	Format  string
	Applied bool
	Objects []Planned
	Counts  Counts
}

// Request is an import.
type Request struct {
	Format string
	Export
	Apply bool
}

// Importer imports exports. Only admins may use it; the fault for others is NotAllowed of package access.
type Importer interface {
	// Import reads an export and compares it with the stored objects by their kinds and names. A preview does all that
	// an import does and writes nothing, so that it shows what the server would refuse: such an object is skipped, with
	// the reason, and so is an object that needs it. With Apply all objects are written in one transaction, or none.
	//
	// The members that a draft leaves empty keep what is stored. Secrets are never set: a credential without secrets is
	// created, and the secrets of a stored one stay. Importing an export again changes nothing.
	//
	// Errors: UnknownFormat, the faults of Format.Read, InventoryNotFound of package catalog, Invalid naming inventory
	// for a format that takes none, TooLarge for more than MaxBody bytes or MaxObjects objects.
	Import(ctx context.Context, r Request) (Plan, error)
}
