package hosts

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/writ-automation/writ/modules/estate/internal/query"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/reserved"
)

// Queries implements estate.HostQueries.
type Queries struct {
	Facts       estate.FactStore
	Inventories catalog.InventoryReferences
	Guard       access.Guard
	Clock       clock.Clock
}

var _ estate.HostQueries = (*Queries)(nil)

func (q *Queries) Check(text string) error {
	_, err := query.Parse(text)
	return err
}

func (q *Queries) Select(ctx context.Context, text string) ([]estate.SelectedHost, error) {
	var out []estate.SelectedHost
	err := q.each(ctx, text, nil, func(r estate.Reading) error {
		out = append(out, estate.SelectedHost{Host: r.Host, InventoryID: r.InventoryID})
		return nil
	})
	return out, err
}

// each yields the hosts that a query fits, with the facts of its keys and of others.
func (q *Queries) each(ctx context.Context, text string, keys []string, yield func(estate.Reading) error) error {
	selected, err := query.Parse(text)
	if err != nil {
		return err
	}
	reader, err := q.Guard.Scope(ctx)
	if err != nil {
		return fmt.Errorf("decide what may be read: %w", err)
	}
	at := estate.AtQuery{At: q.Clock.Now(), Keys: append(keys, selected.Keys()...)}
	return q.Facts.At(ctx, at, reader, func(r estate.Reading) error {
		if !selected.Fits(r.Host, r.Facts) {
			return nil
		}
		return yield(r)
	})
}

// Inventory leaves a host out whose name Ansible could read as a template.
func (q *Queries) Inventory(
	ctx context.Context, text string, yield func(host string, vars map[string]any) error,
) error {
	known := make(map[string]func(host string) map[string]any)
	return q.each(ctx, text, query.NamedKeys(), func(r estate.Reading) error {
		if reserved.Templated(r.Host) {
			return nil
		}
		stored, ok := known[r.InventoryID]
		if !ok {
			var err error
			if stored, err = q.variables(ctx, r.InventoryID); err != nil {
				return err
			}
			known[r.InventoryID] = stored
		}
		vars := make(map[string]any)
		for name, v := range stored(r.Host) {
			if plain(v) {
				vars[name] = v
			}
		}
		vars[estate.FactsVariable] = query.Named(r.Facts, unsafe)
		return yield(r.Host, vars)
	})
}

// variables returns what an inventory says about connections, nothing if the caller may not read it.
func (q *Queries) variables(ctx context.Context, inventory string) (func(host string) map[string]any, error) {
	none := func(string) map[string]any { return nil }
	if inventory == "" {
		return none, nil
	}
	may, err := q.Guard.May(ctx, access.Read, inventory)
	if err != nil || !may {
		return none, err
	}
	of, err := q.Inventories.Variables(ctx, inventory, estate.ConnectionVariables()...)
	if fault.Is(err, fault.NotFound) {
		return none, nil
	}
	return of, err
}

// plain reports whether a value is no template, and nothing encrypted.
func plain(v any) bool {
	switch v := v.(type) {
	case string:
		return !reserved.Templated(v)
	case int64, json.Number:
		return true
	default:
		return false
	}
}

// unsafe marks a text of a host, so that Ansible never reads it as a template.
func unsafe(text string) any { return map[string]string{"__ansible_unsafe": text} }
