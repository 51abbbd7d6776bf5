package headers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

// document is what is sealed of a source.
type document struct {
	Origin  string            `json:"origin"` // the server for which the values were given
	Headers map[string]string `json:"headers"`
}

// Seal returns a source whose headers have their values as it is stored: with the mask in place of each, and all of
// them sealed. KeyLost where there is no key to seal with.
func Seal(ctx context.Context, sealer secrets.Sealer, s catalog.InventorySource) (catalog.InventorySource, error) {
	s.Sealed = nil
	if len(s.Config.Headers) == 0 {
		return s, nil
	}
	plain, err := json.Marshal(document{Origin: Origin(s.Config.URL), Headers: s.Config.Headers})
	if err != nil {
		return catalog.InventorySource{}, fmt.Errorf("write the headers of an inventory source: %w", err)
	}
	defer clear(plain)
	if s.Sealed, err = sealer.Seal(ctx, catalog.SourceRecord(s.ID), plain); err != nil {
		return catalog.InventorySource{}, fmt.Errorf("seal the headers of an inventory source: %w", err)
	}
	s.Config.Headers = Masked(s.Config.Headers)
	return s, nil
}

// Open returns the headers of a stored source with their values. KeyLost names the source; an Internal fault where
// what is sealed was altered, or was given for another source, for another server or for headers of other names. A
// source that was stored before values were sealed has them itself.
func Open(ctx context.Context, sealer secrets.Sealer, s catalog.InventorySource) (map[string]string, error) {
	if len(s.Sealed) == 0 {
		return s.Config.Headers, nil
	}
	plain, err := sealer.Open(ctx, catalog.SourceRecord(s.ID), s.Sealed)
	if f, ok := errors.AsType[*fault.Error](err); ok && secrets.KeyLost.Is(err) {
		return nil, secrets.KeyLost.New("the headers of the inventory source %q (%s) cannot be opened: %s", s.Name, s.ID, f.Message).With("source_id", s.ID)
	}
	if err != nil {
		return nil, fmt.Errorf("open the headers of the inventory source %s: %w", s.ID, err)
	}
	defer clear(plain)
	var d document
	if json.Unmarshal(plain, &d) != nil || d.Origin != Origin(s.Config.URL) || !named(d.Headers, s.Config.Headers) {
		// What failed to be read may hold values: nothing of it is told.
		return nil, fmt.Errorf("open the headers of the inventory source %s: they are not those that it names for its server", s.ID)
	}
	return d.Headers, nil
}

// named reports whether two lists have the same names.
func named(a, b map[string]string) bool {
	for name := range a {
		if _, ok := b[name]; !ok {
			return false
		}
	}
	return len(a) == len(b)
}

// Masked returns headers as they are read.
func Masked(list map[string]string) map[string]string {
	if len(list) == 0 {
		return list
	}
	out := make(map[string]string, len(list))
	for name := range list {
		out[name] = secret.Mask
	}
	return out
}

// Origin is the server of an address.
func Origin(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Scheme + "://" + u.Host)
}
