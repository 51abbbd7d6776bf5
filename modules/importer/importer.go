package importer

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/writ-automation/writ/modules/importer/internal/plan"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/importer"
	"github.com/writ-automation/writ/ports/object"
)

// kind is the name of imports in decisions. Only admins have rights on it.
const kind = "import"

type imports struct {
	Params
	formats map[string]importer.Format
	planner plan.Planner
}

func (i *imports) Import(ctx context.Context, r importer.Request) (importer.Plan, error) {
	if err := (&object.Permissions{Owners: i.Rights}).CheckOrgs(ctx, kind, ""); err != nil {
		return importer.Plan{}, err
	}
	format := i.formats[r.Format]
	if format == nil {
		return importer.Plan{}, importer.UnknownFormat.New("the format %q is not one of %s", r.Format,
			strings.Join(slices.Sorted(maps.Keys(i.formats)), ", "))
	}
	if len(r.Body) > importer.MaxBody {
		return importer.Plan{}, &fault.Error{Kind: fault.TooLarge, Message: fmt.Sprintf(
			"the export has more than %d MiB; writ import takes larger ones", importer.MaxBody>>20)}
	}
	if err := i.target(ctx, format, &r.Export); err != nil {
		return importer.Plan{}, err
	}
	r.Now = i.Clock.Now().In(cmp.Or(i.Local, time.UTC))
	draft, err := format.Read(ctx, r.Export)
	if err != nil {
		return importer.Plan{}, err
	}
	if n := written(draft.Objects); n > importer.MaxObjects {
		return importer.Plan{}, &fault.Error{Kind: fault.TooLarge, Message: fmt.Sprintf(
			"the export has %d objects, and at most %d are imported at a time", n, importer.MaxObjects)}
	}
	planner := i.planner
	planner.Record = func(ctx context.Context, p importer.Plan) error { return i.record(ctx, r, p) }
	return planner.Make(ctx, r.Format, plan.Order(draft.Objects), r.Apply)
}

// written returns how many objects are to be written.
func written(list []importer.Object) (n int) {
	for _, o := range list {
		if o.Spec != nil {
			n++
		}
	}
	return n
}

// target checks the inventory on which the jobs of an export run, by its id or its name, and sets its name. A name that
// means another inventory than the id is refused, since drafts name objects.
func (i *imports) target(ctx context.Context, f importer.Format, e *importer.Export) error {
	if e.Inventory == "" {
		return nil
	}
	if !f.Targeted() {
		return fault.BadField("inventory", "the format %s takes no inventory", f.Name())
	}
	name := e.Inventory
	byID, err := i.Inventories.Get(ctx, e.Inventory)
	switch {
	case err == nil:
		name = byID.Name
	case !catalog.InventoryNotFound.Is(err):
		return err
	}
	id, err := i.planner.Find(ctx, importer.Inventory, name)
	switch {
	case object.NotFound.Is(err):
		return catalog.InventoryNotFound.New("inventory: no inventory %q", e.Inventory)
	case errors.Is(err, plan.ErrSeveral), err == nil && byID.ID != "" && byID.ID != id:
		return fault.BadField("inventory", "several inventories have the name %q", name)
	}
	e.Inventory = name
	return err
}

// record records an applied import with the digest of the export, so that a reader can tell what was imported.
func (i *imports) record(ctx context.Context, r importer.Request, p importer.Plan) error {
	digest := sha256.Sum256(r.Body)
	return i.Recorder.Record(ctx, audit.Entry{
		Action: audit.ImportApply, Object: audit.Object{Kind: kind, ID: r.Format, Name: r.Format},
		Detail: map[string]any{
			"format": r.Format, "sha256": hex.EncodeToString(digest[:]), "created": p.Counts.Create,
			"updated": p.Counts.Update, "skipped": p.Counts.Skip,
		},
	})
}
