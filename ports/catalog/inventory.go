package catalog

import (
	"context"
	"time"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/secret"
)

// Format is the format of an inventory's content.
type Format string

// The formats that Ansible reads.
const (
	INI  Format = "ini"
	YAML Format = "yaml"
	JSON Format = "json"
)

// HostKeyPolicy decides about a host whose key is not known. A key that differs from the known one is never accepted.
type HostKeyPolicy string

// The policies of a first contact.
const (
	AcceptNew HostKeyPolicy = "accept-new" // the key is accepted, for the run alone
	Strict    HostKeyPolicy = "strict"     // the host is not reached
)

// The maximum sizes of an inventory and of its known hosts in bytes.
const (
	MaxInventory  = 8 << 20
	MaxKnownHosts = 1 << 20
)

// Inventory is a stored inventory. Lists leave Content and KnownHosts empty.
type Inventory struct {
	object.Record
	Content       []byte
	Format        Format
	CredentialIDs []string
	Queue         string // for runs that name no queue; empty means the default queue
	Hosts, Groups int    // Groups does not count all and ungrouped
	// Digest is the SHA-256 of the content, in hex.
	Digest string
	// KnownHosts are the keys of hosts in the format of OpenSSH's known_hosts.
	KnownHosts    []byte
	HostKeyPolicy HostKeyPolicy
	// MaxConcurrent limits how many runs on it have a slot at a time, 0 for any number; see Limits of package runs.
	MaxConcurrent int
}

// InventoryText is what an inventory says to a run.
type InventoryText struct {
	Content       []byte
	Format        Format
	KnownHosts    []byte
	HostKeyPolicy HostKeyPolicy
}

// HostEntry is a host of an inventory with its groups. Parents of groups are included; all and ungrouped are not.
type HostEntry struct {
	Name   string
	Groups []string
	Vars   map[string]any // set on the host itself
}

// Resolution is the set of hosts that a host pattern selects.
type Resolution struct {
	Count    int
	Groups   []string // the groups of the selected hosts, by name
	Sample   []string // the first MaxSample hosts in inventory order
	Warnings []string
}

// GroupEntry is a group of an inventory: its hosts, with those of the groups below it, and the groups directly below.
type GroupEntry struct {
	Name     string
	Hosts    int
	Children []string
}

// MaxSample is the maximum number of hosts that a Resolution lists.
const MaxSample = 100

// Inventories manages inventories. A caller without the right to read an inventory gets InventoryNotFound, and a caller
// without the right to change it gets NotAllowed. The right to use an inventory includes the use of its credentials. To
// add a credential, the caller needs the right to use that credential; otherwise the fault is UseRequired of package
// runs.
type Inventories interface {
	// Create stores an inventory. An empty policy is AcceptNew. Errors: Invalid naming the member (for content and known
	// hosts also the line), NameTaken.
	Create(ctx context.Context, i Inventory) (Inventory, error)
	// Get returns an inventory with its content.
	Get(ctx context.Context, id string) (Inventory, error)
	// List returns inventories by name, without their contents, and the total number.
	List(ctx context.Context, f Filter, w page.Window) ([]Inventory, int, error)
	// Update replaces the members that a caller may set; nil content and nil known hosts keep the stored ones. The error
	// is RevisionChanged if the revision is neither 0 nor the stored one.
	Update(ctx context.Context, id string, revision int64, i Inventory) (Inventory, error)
	// Delete deletes an inventory. The error is InUse while another object refers to it.
	Delete(ctx context.Context, id string, revision int64) error
	// Hosts returns hosts in inventory order and the total number.
	Hosts(ctx context.Context, id string, w page.Window) ([]HostEntry, int, error)
	// Groups returns all groups from the root downwards, each once: all, ungrouped, and then in the order of the content.
	Groups(ctx context.Context, id string) ([]GroupEntry, error)
	// Resolve returns the hosts that a limit, an Ansible host pattern, selects; an empty limit selects all. An Invalid
	// fault names limit.
	Resolve(ctx context.Context, id, limit string) (Resolution, error)
}

// InventoryStore stores inventories. Writes join the unit of work in ctx.
type InventoryStore interface {
	// InsertInventory stores an inventory with its content. Errors: NameTaken.
	InsertInventory(ctx context.Context, i Inventory) error
	// InventoryByID returns an inventory without its content and its known hosts.
	InventoryByID(ctx context.Context, id string) (Inventory, error)
	// InventoryText returns what an inventory says, as of one moment.
	InventoryText(ctx context.Context, id string) (InventoryText, error)
	ListInventories(ctx context.Context, s access.Scope, f Filter, w page.Window) ([]Inventory, int, error)
	// UpdateInventory stores the members that a caller may set, and the content and the known hosts if they are not nil.
	// It increments the revision and returns the inventory without them. Errors: RevisionChanged, NameTaken,
	// InventoryNotFound.
	UpdateInventory(ctx context.Context, i Inventory, revision int64) (Inventory, error)
	// DeleteInventory deletes an inventory. Errors: RevisionChanged, InventoryNotFound.
	DeleteInventory(ctx context.Context, id string, revision int64) error
	// FillInventory replaces only content, format, counts and digest; the refresh of a source calls it. Changed content
	// increments the revision, so a caller cannot overwrite it with an older version, and sets UpdatedAt. Errors:
	// InventoryNotFound.
	FillInventory(ctx context.Context, i Inventory) error
}

// SourceKind is the origin of a source's hosts.
type SourceKind string

// The kinds of sources.
const (
	PluginSource  SourceKind = "plugin"  // an Ansible inventory plugin
	ScriptSource  SourceKind = "script"  // a program that prints Ansible's dynamic inventory
	ProjectSource SourceKind = "project" // a file of a project
	HTTPSource    SourceKind = "http"    // a document at a URL
)

// SourceConfig configures a source. The comment of each member names the kinds that take it.
type SourceConfig struct {
	Plugin  map[string]any `json:"plugin,omitempty"`  // plugin: the plugin's YAML as an object, with the member plugin
	Content string         `json:"content,omitempty"` // script: the program, if the source has no path
	URL     string         `json:"url,omitempty"`     // http
	// Headers are sent with requests, for the kind http. Their values are secret: a stored or returned value is the
	// mask of package secret, and Sealed contains the values.
	Headers map[string]string `json:"headers,omitempty"`
}

// InventorySource fills an inventory from elsewhere. A failed refresh keeps the previous content.
type InventorySource struct {
	object.Record
	Kind           SourceKind
	Config         SourceConfig
	Path           string // a file of the project, for the kinds project and script
	ProjectID      string
	CredentialID   string
	InventoryID    string // the inventory that the source fills
	UpdateOnLaunch bool
	SyncInterval   int // seconds between refreshes, 0 for none; at least MinSyncInterval
	// Trusted means that what the source returns is as if an admin had saved it: Ansible evaluates templates in it, and
	// it steers connections. Otherwise it is data, without the reserved names of package reserved.
	Trusted bool
	// Sealed contains the secret members of Config, sealed for SourceRecord; nil if there are none. Only stores use it:
	// callers neither set nor get it. A source with headers and without Sealed dates from before sealing; its Config
	// contains the values.
	Sealed []byte

	SyncedAt  time.Time // the time of the last successful refresh
	LastError string    // one sentence about the last refresh; empty after a success
	Dropped   string    // the reserved names that the last good content had and that were dropped; empty for none
}

// SourceRecord returns the record name for which the secrets of a source are sealed.
func SourceRecord(id string) string { return "source/" + id }

// MinSyncInterval is the minimum number of seconds between two refreshes by interval.
const MinSyncInterval = 60

// Sources manages inventory sources. To read a source, a caller needs the right to read its inventory and its project;
// to refresh it, the right to use the inventory; to change it, the right to manage the inventory. The faults are the
// same as in Projects, with SourceNotFound. To set another credential, or to keep the credential while the queried
// server or request changes, the caller needs the right to use the credential. Only an admin may set Trusted, or change
// what a trusted source queries or fills; otherwise the fault is NotAllowed.
type Sources interface {
	Create(ctx context.Context, s InventorySource) (InventorySource, error)
	Get(ctx context.Context, id string) (InventorySource, error)
	List(ctx context.Context, f Filter, w page.Window) ([]InventorySource, int, error)
	// Update replaces the members that a caller may set. An empty or masked header value keeps the stored value, which
	// is only ever sent to the server it was set for. The error is KeyLost of package secrets if a kept value cannot be
	// opened or, as in Create, a value cannot be sealed.
	Update(ctx context.Context, id string, revision int64, s InventorySource) (InventorySource, error)
	// Compare returns the changed members among those that contain secrets, which is config. The caller needs the right
	// to change the source.
	Compare(ctx context.Context, id string, s InventorySource) ([]string, error)
	Delete(ctx context.Context, id string, revision int64) error
	// Refresh fills the inventory now. RefreshFailed, a Conflict, contains the reason of a failure, also for a
	// credential.
	Refresh(ctx context.Context, id string) (InventorySource, error)
}

// SourceStore stores inventory sources. Writes join the unit of work in ctx.
type SourceStore interface {
	// InsertSource stores a source with its sealed secrets. Errors: NameTaken.
	InsertSource(ctx context.Context, s InventorySource) error
	SourceByID(ctx context.Context, id string) (InventorySource, error)
	// ListSources returns the sources whose inventory and project, if any, the scope may read.
	ListSources(ctx context.Context, s access.Scope, f Filter, w page.Window) ([]InventorySource, int, error)
	// UpdateSource stores the members that a caller may set, and Sealed; an empty Sealed removes the stored one.
	// Errors: RevisionChanged, NameTaken, SourceNotFound.
	UpdateSource(ctx context.Context, s InventorySource, revision int64) (InventorySource, error)
	DeleteSource(ctx context.Context, id string, revision int64) error
	// SourcesOf returns the sources that fill an inventory, by id.
	SourcesOf(ctx context.Context, inventoryID string) ([]InventorySource, error)
	// TakeDue returns one source whose interval has passed by the store's clock, and schedules its next refresh, so
	// that only one of several servers takes it. If no source is due, ok is false. wait is the time until the next
	// source is due, 0 if no source has an interval.
	TakeDue(ctx context.Context) (s InventorySource, ok bool, wait time.Duration, err error)
	// NoteRefresh stores the result of a refresh; an empty failure is a success, and only a success replaces Dropped. A
	// deleted source is not an error.
	NoteRefresh(ctx context.Context, id, failure, dropped string, at time.Time) error
}

// Collection is the input of a Collector.
type Collection struct {
	Kind SourceKind
	// Config contains the plain values of the headers.
	Config SourceConfig
	// Tree is the root of the checkout and Path a file below it; both are empty if the source has no project.
	Tree, Path string
	// Access comes from the source's credential.
	Access Access
}

// Access is the part of a credential that a program or a request for an inventory uses.
type Access struct {
	Env     map[string]secret.Text // for programs
	Headers map[string]secret.Text // for requests, unless the source itself sets the header
	// Files are private files for programs by name, which may be dir/file with one directory level. In Env,
	// secret.FileMark(name) stands for the path of a file, and secret.FileMark("dir/") for the path of its directory.
	Files map[string]secret.Text
}

// Collector fetches the inventories of sources. It runs programs and uses the network, with limits of time and size.
// Its errors are RefreshFailed with one sentence without secrets.
type Collector interface {
	Collect(ctx context.Context, c Collection) (content []byte, f Format, err error)
}
