package inventories

import (
	"context"
	"errors"

	"github.com/writ-automation/writ/modules/catalog/internal/check"
	"github.com/writ-automation/writ/modules/catalog/internal/pattern"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
)

// Inventories implements catalog.Inventories. The embedded Protected returns inventories without their content.
type Inventories struct {
	object.Protected[catalog.Inventory, catalog.Filter]
	store   Contents
	indexes *Indexes
	// limits keeps how many runs on an inventory have a slot at a time; nil keeps no limits.
	limits runs.Limits
}

var _ catalog.Inventories = (*Inventories)(nil)

// New returns an Inventories on a store.
func New(
	kernel object.Kernel, p *object.Permissions, s Contents, x *Indexes, l runs.Limits,
) *Inventories {
	k := &Inventories{store: s, indexes: x, limits: l}
	k.Protected = object.Protect(kernel, p, s.InventoryByID, s.ListInventories, k.remove)
	k.Show = k.shown
	return k
}

// checked validates and normalizes the input, and measures the content if there is one.
func checked(i catalog.Inventory) (catalog.Inventory, error) {
	input := i
	input.Record, input.Hosts, input.Groups, input.Digest = object.Record{Org: i.Org}, 0, 0, ""
	var err error
	if input.Name, err = object.Name(i.Name); err != nil {
		return input, err
	}
	switch i.Format {
	case "", catalog.INI, catalog.YAML, catalog.JSON:
	default:
		return input, fault.NoneOf("format", i.Format, catalog.INI, catalog.YAML, catalog.JSON)
	}
	if err := check.IDs("credential_ids", ids.Credential, i.CredentialIDs); err != nil {
		return input, err
	}
	switch i.HostKeyPolicy {
	case "":
		input.HostKeyPolicy = catalog.AcceptNew
	case catalog.AcceptNew, catalog.Strict:
	default:
		return input, fault.NoneOf("host_key_policy", i.HostKeyPolicy, catalog.AcceptNew, catalog.Strict)
	}
	if err := checkKnownHosts(i.KnownHosts); err != nil {
		return input, err
	}
	if err := check.Concurrent(i.MaxConcurrent); err != nil {
		return input, err
	}
	if err := check.Queue(i.Queue); err != nil || i.Content == nil {
		return input, err
	}
	return input, Measure(&input)
}

func references(i catalog.Inventory) object.References {
	return object.References(nil).AddList("credential_ids", ids.Credential, i.CredentialIDs)
}

func entry(a audit.Action, i catalog.Inventory) audit.Entry {
	d := object.Detail{"hosts": i.Hosts, "groups": i.Groups, "max_concurrent": i.MaxConcurrent}
	d.Set("format", string(i.Format)).Set("digest", i.Digest).Set("queue", i.Queue).List("credential_ids", i.CredentialIDs)
	d.Set("host_key_policy", string(i.HostKeyPolicy))
	if len(i.KnownHosts) > 0 {
		d.Set("known_hosts_digest", check.Sum(i.KnownHosts))
	}
	return object.Entry(a, i.Record, d)
}

// An inventory without content is empty; a source may fill it.
func (k *Inventories) Create(ctx context.Context, i catalog.Inventory) (catalog.Inventory, error) {
	if i.Content == nil {
		i.Content = []byte{}
	}
	i, err := checked(i)
	if err != nil {
		return catalog.Inventory{}, err
	}
	if err := k.CheckOrgs(ctx, identity.KindInventory, i.Org); err != nil {
		return catalog.Inventory{}, err
	}
	if err := k.CheckReferences(ctx, references(i), nil); err != nil {
		return catalog.Inventory{}, err
	}
	k.Created(ctx, ids.Inventory, &i.Record)
	err = k.Store(ctx, "inventory created", i.Record, func(ctx context.Context) error {
		if err := k.store.InsertInventory(ctx, i); err != nil {
			return err
		}
		if err := k.store.KeepVersion(ctx, i.ID, edited(ctx, i.CreatedAt)); err != nil {
			return err
		}
		if err := check.NewLimit(ctx, k.limits, runs.InventorySlot+i.ID, i.MaxConcurrent); err != nil {
			return err
		}
		return k.Upsert(ctx, i.ID, references(i), entry(audit.InventoryCreate, i))
	})
	if err != nil {
		return catalog.Inventory{}, err
	}
	return i, nil
}

func (k *Inventories) Get(ctx context.Context, id string) (catalog.Inventory, error) {
	if _, err := k.Reach(ctx, access.Read, id); err != nil {
		return catalog.Inventory{}, err
	}
	i, err := k.whole(ctx, id)
	if err != nil {
		return catalog.Inventory{}, err
	}
	return k.shown(ctx, i)
}

// shown leaves out the credentials that the caller may not read.
func (k *Inventories) shown(ctx context.Context, i catalog.Inventory) (catalog.Inventory, error) {
	hidden, err := k.Hidden(ctx, i.ID, references(i))
	i.CredentialIDs = check.Without(i.CredentialIDs, hidden)
	return i, err
}

// whole returns an inventory with its content and its known hosts. It retries if a source fills the inventory between
// the two reads.
func (k *Inventories) whole(ctx context.Context, id string) (i catalog.Inventory, err error) {
	for range 3 {
		if i, err = k.store.InventoryByID(ctx, id); err != nil {
			return catalog.Inventory{}, err
		}
		text, err := k.store.InventoryText(ctx, id)
		if err != nil {
			return catalog.Inventory{}, err
		}
		if text.Format == i.Format && check.Sum(text.Content) == i.Digest && text.HostKeyPolicy == i.HostKeyPolicy {
			i.Content, i.KnownHosts = text.Content, text.KnownHosts
			return i, nil
		}
	}
	return catalog.Inventory{}, &fault.Error{Kind: fault.Unavailable,
		Message: "the inventory changes faster than it can be read"}
}

func (k *Inventories) Update(
	ctx context.Context, id string, revision int64, i catalog.Inventory,
) (catalog.Inventory, error) {
	i, err := checked(i)
	if err != nil {
		return catalog.Inventory{}, err
	}
	was, err := k.store.InventoryByID(ctx, id)
	if err != nil {
		return catalog.Inventory{}, err
	}
	if err := k.CheckChange(ctx, was.Record, i.Org); err != nil {
		return catalog.Inventory{}, err
	}
	if err := k.CheckReferences(ctx, references(i), references(was)); err != nil {
		return catalog.Inventory{}, err
	}
	k.Updated(was.Record, &i.Record)
	if err := k.measureStored(ctx, &i, was.Format); err != nil {
		return catalog.Inventory{}, err
	}
	var stored catalog.Inventory
	err = k.Store(ctx, "inventory changed", i.Record, func(ctx context.Context) (err error) {
		if stored, err = k.replace(ctx, i, revision); err != nil {
			return err
		}
		return k.Upsert(ctx, id, references(i), entry(audit.InventoryUpdate, stored))
	})
	if err != nil {
		return catalog.Inventory{}, err
	}
	return stored, nil
}

// replace stores a change in the open unit of work and returns the inventory with its content and its known hosts.
// Where the change has none these are the stored ones.
func (k *Inventories) replace(ctx context.Context, i catalog.Inventory, revision int64) (catalog.Inventory, error) {
	now, err := k.store.InventoryByID(ctx, i.ID)
	if err != nil {
		return catalog.Inventory{}, err
	}
	if i.Content == nil {
		i.Format, i.Hosts, i.Groups, i.Digest = now.Format, now.Hosts, now.Groups, now.Digest
	}
	var stored catalog.Inventory
	change := func() error {
		stored, err = k.store.UpdateInventory(ctx, i, revision)
		return err
	}
	if i.Content == nil {
		err = change()
	} else {
		err = k.store.Change(ctx, now, edited(ctx, i.UpdatedAt), change)
	}
	if err == nil {
		err = k.limit(ctx, i.ID, now.MaxConcurrent, stored.MaxConcurrent)
	}
	if err != nil {
		return catalog.Inventory{}, err
	}
	text, err := k.store.InventoryText(ctx, i.ID)
	stored.Content, stored.KnownHosts = text.Content, text.KnownHosts
	return stored, err
}

// measureStored measures the stored content for a change that keeps the content and sets another format.
func (k *Inventories) measureStored(ctx context.Context, i *catalog.Inventory, format catalog.Format) error {
	if i.Content != nil || i.Format == "" || i.Format == format {
		return nil
	}
	text, err := k.store.InventoryText(ctx, i.ID)
	if err != nil {
		return err
	}
	i.Content = text.Content
	err = Measure(i)
	var f *fault.Error
	if errors.As(err, &f) && f.Kind == fault.Invalid {
		return fault.BadField("format", "does not fit the stored content: %s", f.Message)
	}
	return err
}

func (k *Inventories) Delete(ctx context.Context, id string, revision int64) error {
	return k.Remove(ctx, id, revision,
		func(x catalog.Inventory) audit.Entry { return object.Deleted(audit.InventoryDelete, x.Record) })
}

func (k *Inventories) Hosts(ctx context.Context, id string, w page.Window) ([]catalog.HostEntry, int, error) {
	e, err := k.index(ctx, id)
	if err != nil {
		return nil, 0, err
	}
	return e.Hosts(ctx, w.Offset, w.Rows())
}

func (k *Inventories) Groups(ctx context.Context, id string) ([]catalog.GroupEntry, error) {
	e, err := k.index(ctx, id)
	if err != nil {
		return nil, err
	}
	return e.Groups(), nil
}

func (k *Inventories) Resolve(ctx context.Context, id, limit string) (catalog.Resolution, error) {
	if err := pattern.Check(limit); err != nil {
		return catalog.Resolution{}, err
	}
	e, err := k.index(ctx, id)
	if err != nil {
		return catalog.Resolution{}, err
	}
	return e.Resolve(ctx, limit)
}

// index returns the parsed index of an inventory that the caller may read.
func (k *Inventories) index(ctx context.Context, id string) (*pattern.Index, error) {
	i, err := k.Reach(ctx, access.Read, id)
	if err != nil {
		return nil, err
	}
	return k.indexes.of(ctx, i)
}

// remove deletes an inventory and the limit of the runs on it.
func (k *Inventories) remove(ctx context.Context, id string, revision int64) error {
	was, err := k.store.InventoryByID(ctx, id)
	if err != nil {
		return err
	}
	if err := k.store.DeleteInventory(ctx, id, revision); err != nil {
		return err
	}
	return k.limit(ctx, id, was.MaxConcurrent, 0)
}

// limit passes on a changed limit in the open unit.
func (k *Inventories) limit(ctx context.Context, id string, was, is int) error {
	return check.Limit(ctx, k.limits, runs.InventorySlot+id, was, is)
}
