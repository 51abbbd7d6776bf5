package inventories

import (
	"bytes"
	"encoding/json"
	"errors"

	"go.yaml.in/yaml/v3"

	"github.com/writ-automation/writ/modules/catalog/internal/check"
	"github.com/writ-automation/writ/modules/catalog/internal/inventory"
	"github.com/writ-automation/writ/modules/catalog/internal/untrusted"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
)

// maxSniffed is how many bytes of a content are read to detect its format.
const maxSniffed = 64 << 10

// Measure sets the values that depend on the content of an inventory: the format if it is empty, the counts and the
// digest. An Invalid fault names content, with the line, or format.
func Measure(i *catalog.Inventory) error {
	if err := bound(i); err != nil {
		return err
	}
	return measure(i)
}

// MeasureUntrusted turns the content of an inventory into data, which may be larger, and then is Measure. dropped lists
// the reserved names that the content had.
func MeasureUntrusted(i *catalog.Inventory) (dropped []string, err error) {
	if err := bound(i); err != nil {
		return nil, err
	}
	if i.Content, i.Format, dropped, err = untrusted.Inventory(i.Content, i.Format); err != nil {
		return nil, err
	}
	return dropped, measure(i)
}

// bound limits the size of a content and detects its format.
func bound(i *catalog.Inventory) error {
	if len(i.Content) > catalog.MaxInventory {
		return fault.BadField("content", "has %d bytes, at most %d are allowed", len(i.Content), catalog.MaxInventory)
	}
	if i.Format == "" {
		i.Format = detect(i.Content)
	}
	return nil
}

func measure(i *catalog.Inventory) (err error) {
	if i.Hosts, i.Groups, err = inventory.Count(i.Content, i.Format); err != nil {
		return err
	}
	i.Digest = check.Sum(i.Content)
	return nil
}

// detect detects the format of a content: JSON for a JSON object, YAML for the start of a document or a mapping of
// groups, and INI otherwise. Content that begins like an object and has none of these forms counts as JSON, so that the
// JSON parser reports the error.
func detect(content []byte) catalog.Format {
	text := bytes.TrimSpace(content)
	if bytes.HasPrefix(text, []byte("{")) && json.Valid(text) {
		return catalog.JSON
	}
	if bytes.HasPrefix(text, []byte("---")) || bytes.Contains(text, []byte("\n---\n")) || groups(content) {
		return catalog.YAML
	}
	if bytes.HasPrefix(text, []byte("{")) {
		return catalog.JSON
	}
	return catalog.INI
}

// groups reports whether a content is a YAML mapping whose members are groups. For a long content, only its beginning
// is examined.
func groups(content []byte) bool {
	if len(content) > maxSniffed {
		content = content[:maxSniffed]
		content = content[:bytes.LastIndexByte(content, '\n')+1]
	}
	var doc yaml.Node
	if yaml.Unmarshal(content, &doc) != nil || len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return false
	}
	top := doc.Content[0].Content
	for i := 0; i+1 < len(top); i += 2 {
		if top[i].Value == "all" {
			return true
		}
		group := top[i+1]
		for k := 0; group.Kind == yaml.MappingNode && k < len(group.Content); k += 2 {
			if name := group.Content[k].Value; name == "hosts" || name == "children" || name == "vars" {
				return true
			}
		}
	}
	return false
}

// unreadable returns the error for a stored content that cannot be shown: validation on save covers less than parsing.
func unreadable(err error) error {
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != fault.Invalid {
		return err
	}
	return fault.Wrap(fault.Conflict, err, "the inventory cannot be shown: %s", f.Message)
}
