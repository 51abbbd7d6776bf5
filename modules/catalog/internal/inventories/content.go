package inventories

import (
	"bytes"
	"encoding/json"
	"errors"

	"gopkg.in/yaml.v3"

	"github.com/writ-automation/writ/modules/catalog/internal/check"
	"github.com/writ-automation/writ/modules/catalog/internal/inventory"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
)

// maxSniffed bounds how much of a content is read to tell its format.
const maxSniffed = 64 << 10

// Measure fills what is stored about the content of an inventory: the format where none is given, the counts and the
// digest. An Invalid fault names content, with the line, or format.
func Measure(i *catalog.Inventory) error {
	if len(i.Content) > catalog.MaxInventory {
		return fault.BadField("content", "has %d bytes, at most %d are allowed", len(i.Content), catalog.MaxInventory)
	}
	if i.Format == "" {
		i.Format = detect(i.Content)
	}
	var err error
	if i.Hosts, i.Groups, err = inventory.Count(i.Content, i.Format); err != nil {
		return err
	}
	i.Digest = check.Sum(i.Content)
	return nil
}

// detect tells in which format a content is written: JSON where it reads as an object, YAML where it begins a
// document or says what groups say, and INI otherwise. What begins as an object and is none of these is taken for
// JSON, which then says what is wrong with it.
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

// groups reports whether a content is a mapping of YAML whose members are groups. Of a long one the beginning decides.
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

// unreadable is the error of a stored content that cannot be shown: what is counted when it is saved is less than
// what is shown.
func unreadable(err error) error {
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != fault.Invalid {
		return err
	}
	return fault.Wrap(fault.Conflict, err, "the inventory cannot be shown: %s", f.Message)
}
