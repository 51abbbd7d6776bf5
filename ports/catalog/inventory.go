package catalog

import (
	"context"
	"time"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/secret"
)

// Format is how an inventory is written.
type Format string

// The formats, as Ansible reads them.
const (
	INI  Format = "ini"
	YAML Format = "yaml"
	JSON Format = "json"
)

// MaxInventory is how many bytes an inventory has at most.
const MaxInventory = 8 << 20

// Inventory is a stored inventory. Lists leave Content out.
type Inventory struct {
	object.Record
	Content       []byte
	Format        Format
	CredentialIDs []string
	Queue         string // of runs that name none; empty: the default one
	Hosts, Groups int    // groups beside all and ungrouped
	// Digest is the SHA-256 of the content, in hex.
	Digest string
}

// HostEntry is a host of an inventory with the groups that it is in, parents included, but for all and ungrouped.
type HostEntry struct {
	Name   string
	Groups []string
	Vars   map[string]any // its own
}

// Resolution is what a host pattern selects.
type Resolution struct {
	Count    int
	Groups   []string // that have at least one of the hosts, by name
	Sample   []string // the first MaxSample in inventory order
	Warnings []string
}

// MaxSample is how many hosts a resolution names.
const MaxSample = 100

// Inventories keeps inventories. Without the right to read one it is InventoryNotFound, without the right to change
// one NotAllowed. Whoever may use one is lent its credentials: to name one that it did not name before takes the
// right to use that, UseRequired of package runs.
type Inventories interface {
	// Create stores an inventory. Invalid faults name the member, content with its line; NameTaken.
	Create(ctx context.Context, i Inventory) (Inventory, error)
	// Get returns an inventory with its content.
	Get(ctx context.Context, id string) (Inventory, error)
	// List returns inventories by name without their contents and how many there are.
	List(ctx context.Context, f Filter, w page.Window) ([]Inventory, int, error)
	// Update replaces what a caller may set; nil content keeps the stored one. RevisionChanged where the revision is not
	// 0 and not the stored one.
	Update(ctx context.Context, id string, revision int64, i Inventory) (Inventory, error)
	// Delete forgets an inventory. InUse while something names it.
	Delete(ctx context.Context, id string, revision int64) error
	// Hosts lists hosts in inventory order and how many there are.
	Hosts(ctx context.Context, id string, w page.Window) ([]HostEntry, int, error)
	// Resolve tells which hosts a limit selects, by Ansible's host patterns; an empty one selects all. Invalid naming
	// limit.
	Resolve(ctx context.Context, id, limit string) (Resolution, error)
}

// InventoryStore keeps inventories. Writes join the unit of ctx.
type InventoryStore interface {
	// InsertInventory stores an inventory with its content. NameTaken.
	InsertInventory(ctx context.Context, i Inventory) error
	// InventoryByID returns one without its content.
	InventoryByID(ctx context.Context, id string) (Inventory, error)
	// InventoryContent returns the content and its format.
	InventoryContent(ctx context.Context, id string) ([]byte, Format, error)
	ListInventories(ctx context.Context, s access.Scope, f Filter, w page.Window) ([]Inventory, int, error)
	// UpdateInventory stores what a caller may set, with the content where it is not nil, counts the revision up and
	// returns it without the content. RevisionChanged, NameTaken, InventoryNotFound.
	UpdateInventory(ctx context.Context, i Inventory, revision int64) (Inventory, error)
	// DeleteInventory removes it. RevisionChanged, InventoryNotFound.
	DeleteInventory(ctx context.Context, id string, revision int64) error
	// FillInventory replaces content, format, counts and digest and nothing else, as a source does. Another content
	// counts the revision up: who read the one before must not write it back unseen. InventoryNotFound.
	FillInventory(ctx context.Context, i Inventory) error
}

// SourceKind is where a source takes its hosts from.
type SourceKind string

// The kinds of sources.
const (
	PluginSource  SourceKind = "plugin"  // an inventory plugin of Ansible
	ScriptSource  SourceKind = "script"  // a program that prints Ansible's dynamic inventory
	ProjectSource SourceKind = "project" // a file of a checkout
	HTTPSource    SourceKind = "http"    // a document at an address
)

// SourceConfig is what a source is told. Which members a kind takes is said beside them.
type SourceConfig struct {
	Plugin  map[string]any `json:"plugin,omitempty"`  // plugin: its YAML as an object, the member plugin included
	Content string         `json:"content,omitempty"` // script: the program, unless the source has a path
	URL     string         `json:"url,omitempty"`     // http
	// Headers are those of the requests, http. Their values are secrets: stored and read back, each is the mask of
	// package secret, and what they are is in Sealed.
	Headers map[string]string `json:"headers,omitempty"`
}

// InventorySource fills an inventory from somewhere else. A refresh that fails keeps what was there.
type InventorySource struct {
	object.Record
	Kind           SourceKind
	Config         SourceConfig
	Path           string // a file of the project: of the kinds project and script
	ProjectID      string
	CredentialID   string
	InventoryID    string // that it fills
	UpdateOnLaunch bool
	SyncInterval   int // seconds between refreshes, 0 for none; at least MinSyncInterval
	// Sealed is what of Config is secret, sealed for the SourceRecord; nil for nothing. Stores have it alone: callers
	// neither say nor read it. A source with headers and nothing sealed was stored before they were, with their values
	// in Config.
	Sealed []byte

	SyncedAt  time.Time // of the last refresh that succeeded
	LastError string    // of the last one, one sentence; empty where it succeeded
}

// SourceRecord is for which record what is secret of a source is sealed.
func SourceRecord(id string) string { return "source/" + id }

// MinSyncInterval is how many seconds lie between two refreshes by interval at least.
const MinSyncInterval = 60

// Sources keeps inventory sources. A source is read by whoever may read its inventory and its project, refreshed by
// whoever may use the inventory, and changed by whoever may manage that. The faults are those of Projects, with
// SourceNotFound. To name another credential takes the right to use it, and so does to keep one where what is asked
// changes.
type Sources interface {
	Create(ctx context.Context, s InventorySource) (InventorySource, error)
	Get(ctx context.Context, id string) (InventorySource, error)
	List(ctx context.Context, f Filter, w page.Window) ([]InventorySource, int, error)
	// Update replaces what a caller may set; an omitted header value (empty) and the mask keep the stored one, which
	// goes to no other server than before. KeyLost of package secrets where a value that is kept cannot be opened, and
	// where none can be sealed, as in Create.
	Update(ctx context.Context, id string, revision int64, s InventorySource) (InventorySource, error)
	// Compare lists the members that an update would change, of those that hold secrets, which is config. It takes the
	// right to change the source.
	Compare(ctx context.Context, id string, s InventorySource) ([]string, error)
	Delete(ctx context.Context, id string, revision int64) error
	// Refresh fills the inventory now. RefreshFailed, which is a Conflict, says why it could not, of a credential too.
	Refresh(ctx context.Context, id string) (InventorySource, error)
}

// SourceStore keeps inventory sources. Writes join the unit of ctx.
type SourceStore interface {
	// InsertSource stores a source with what is sealed of it. NameTaken.
	InsertSource(ctx context.Context, s InventorySource) error
	SourceByID(ctx context.Context, id string) (InventorySource, error)
	// ListSources lists those whose inventory, and project if any, the scope may read.
	ListSources(ctx context.Context, s access.Scope, f Filter, w page.Window) ([]InventorySource, int, error)
	// UpdateSource stores what a caller may set, and Sealed: nothing sealed leaves nothing of what was. RevisionChanged,
	// NameTaken, SourceNotFound.
	UpdateSource(ctx context.Context, s InventorySource, revision int64) (InventorySource, error)
	DeleteSource(ctx context.Context, id string, revision int64) error
	// SourcesOf lists the sources that fill an inventory, by id.
	SourcesOf(ctx context.Context, inventoryID string) ([]InventorySource, error)
	// TakeDue returns at most one source whose interval has passed, by the store's clock, and books its next refresh, so
	// that of several servers one takes it; ok is false where none is due. wait is how long until the next one is, 0
	// where none ever is.
	TakeDue(ctx context.Context) (s InventorySource, ok bool, wait time.Duration, err error)
	// NoteRefresh stores how a refresh ended: an empty failure is a success. A source that is gone is no error.
	NoteRefresh(ctx context.Context, id, failure string, at time.Time) error
}

// Collection is what a collector is to fetch.
type Collection struct {
	Kind SourceKind
	// Config has the values of the headers themselves.
	Config SourceConfig
	// Tree is the checkout's root and Path a file below it; both empty where the source has no project.
	Tree, Path string
	// Access is what the source's credential gives.
	Access Access
}

// Access is what a credential gives to what fetches an inventory.
type Access struct {
	Env     map[string]secret.Text // of programs
	Headers map[string]secret.Text // of requests, unless the source sets them itself
	// Files are private files of programs by name, which may be dir/file with one level of directories. In Env the texts
	// of secret.FileMark(name) stand for their paths, and those of secret.FileMark("dir/") for the paths of their
	// directories.
	Files map[string]secret.Text
}

// Collector fetches what sources name: it runs programs and uses the network, within bounds of time and size. Its
// errors are RefreshFailed with one sentence that holds no secret.
type Collector interface {
	Collect(ctx context.Context, c Collection) (content []byte, f Format, err error)
}
