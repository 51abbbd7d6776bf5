package source

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

// document is the plain text of a sealed value.
type document struct {
	Origin  string            `json:"origin"` // the server for which the values were set
	Headers map[string]string `json:"headers"`
}

// sealHeaders returns a source in its stored form, with masked headers and sealed values. The error is KeyLost if there
// is no key to seal with.
func sealHeaders(
	ctx context.Context, sealer secrets.Sealer, s catalog.InventorySource,
) (catalog.InventorySource, error) {
	s.Sealed = nil
	if len(s.Config.Headers) == 0 {
		return s, nil
	}
	plain, err := json.Marshal(document{Origin: origin(s.Config.URL), Headers: s.Config.Headers})
	if err != nil {
		return catalog.InventorySource{}, fmt.Errorf("write the headers of an inventory source: %w", err)
	}
	defer clear(plain)
	if s.Sealed, err = sealer.Seal(ctx, catalog.SourceRecord(s.ID), plain); err != nil {
		return catalog.InventorySource{}, fmt.Errorf("seal the headers of an inventory source: %w", err)
	}
	s.Config.Headers = maskedHeaders(s.Config.Headers)
	return s, nil
}

// openHeaders returns the headers of a stored source with their values. KeyLost names the source. The error is Internal
// if the sealed text was altered, or was sealed for another source, another server or other header names. A source from
// before sealing contains the values itself.
func openHeaders(ctx context.Context, sealer secrets.Sealer, s catalog.InventorySource) (map[string]string, error) {
	if len(s.Sealed) == 0 {
		return s.Config.Headers, nil
	}
	plain, err := sealer.Open(ctx, catalog.SourceRecord(s.ID), s.Sealed)
	if f, ok := errors.AsType[*fault.Error](err); ok && secrets.KeyLost.Is(err) {
		return nil, secrets.KeyLost.New("the headers of the inventory source %q (%s) cannot be opened: %s", s.Name, s.ID,
			f.Message).With("source_id", s.ID)
	}
	if err != nil {
		return nil, fmt.Errorf("open the headers of the inventory source %s: %w", s.ID, err)
	}
	defer clear(plain)
	var d document
	if json.Unmarshal(plain, &d) != nil || d.Origin != origin(s.Config.URL) || !sameNames(d.Headers, s.Config.Headers) {
		// The unreadable text may contain values, so the error does not include it.
		return nil, fmt.Errorf("open the headers of the inventory source %s: they are not those that it names for its server",
			s.ID)
	}
	return d.Headers, nil
}

// sameNames reports whether two maps have the same names.
func sameNames(a, b map[string]string) bool {
	for name := range a {
		if _, ok := b[name]; !ok {
			return false
		}
	}
	return len(a) == len(b)
}

// maskedHeaders returns headers with masked values.
func maskedHeaders(list map[string]string) map[string]string {
	if len(list) == 0 {
		return list
	}
	out := make(map[string]string, len(list))
	for name := range list {
		out[name] = secret.Mask
	}
	return out
}

// origin returns the server of an address.
func origin(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Scheme + "://" + u.Host)
}
