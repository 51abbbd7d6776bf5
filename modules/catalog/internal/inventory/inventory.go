// Package inventory reads static inventories as Ansible's own plugins read them.
//
// INI is read as the plugin ini reads it, YAML and JSON as the plugin yaml does, quirks included: what a run will see
// is what was counted and shown when the inventory was saved. Where Ansible passes over something with a warning, so
// does this package; where Ansible refuses the file, so does this package, with the line. Tests compare both.
//
// It is stricter in few places, all of them refusals: numbers that JSON cannot hold (infinity, not a number), halves of
// surrogate pairs, bytes that are no UTF-8, U+0000 as it stands, a byte order mark before INI or JSON, range bounds in
// other digits than ASCII, names of characters (\N{...}), JSON that only a YAML reader would take, and whole files in
// a vault. Nothing here reads a file, a variable of the environment or the network.
package inventory

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
)

// The bounds. Whatever goes beyond one is refused before it is built.
const (
	maxContent  = 16 << 20  // bytes of content
	maxHosts    = 200_000   // hosts after the ranges were expanded
	maxGroups   = 100_000   // groups, all and ungrouped included
	maxMentions = 2_000_000 // hosts in groups and variables of hosts, all counted together
	maxNames    = 64 << 20  // bytes of the names of hosts after the ranges were expanded
	maxNodes    = 2_000_000 // values in a YAML or JSON document
	maxAliased  = 500_000   // values in a YAML document that it has through aliases alone
	maxDepth    = 200       // of values in values
)

// visits is how often a value is looked at without any alias, at most.
const visits = 4

// Names that always exist.
const (
	all       = "all"
	ungrouped = "ungrouped"
)

// vaultMark begins a file that is encrypted as a whole.
const vaultMark = "$ANSIBLE_VAULT;"

// The members by which Ansible's JSON tells encrypted values and values that are never templates.
const (
	vaultKey  = "__ansible_vault"
	unsafeKey = "__ansible_unsafe"
)

// Parse reads an inventory. Values are as catalog.InventoryContent says; hosts of one range share theirs.
//
// An Invalid fault names the field content, the line, the column where it is known, and what was expected.
func Parse(content []byte, format catalog.Format) (*catalog.InventoryContent, error) {
	w := newBuilder(false)
	if err := read(content, format, w); err != nil {
		return nil, err
	}
	return w.content(), nil
}

// Count counts the hosts, and the groups other than all and ungrouped. It builds no variables, so it accepts values
// that Parse refuses; apart from those its faults are Parse's.
func Count(content []byte, format catalog.Format) (hosts, groups int, err error) {
	w := newBuilder(true)
	if err := read(content, format, w); err != nil {
		return 0, 0, err
	}
	return len(w.order), len(w.groups) - 2, nil
}

func read(content []byte, format catalog.Format, w *builder) error {
	if err := checkBytes(content); err != nil {
		return err
	}
	var err error
	switch format {
	case catalog.INI:
		err = readINI(string(content), w)
	case catalog.YAML:
		err = readYAML(content, w)
	case catalog.JSON:
		err = readJSON(content, w)
	default:
		return fault.BadField("format", "has to be ini, yaml or json, not %q", format)
	}
	if err != nil {
		return err
	}
	return w.finish()
}

// checkBytes refuses what is no text, whatever the format.
func checkBytes(content []byte) error {
	if len(content) > maxContent {
		return fault.BadField("content", "has %d bytes, at most %d are allowed", len(content), maxContent)
	}
	if !utf8.Valid(content) {
		at := 0
		for at < len(content) {
			r, n := utf8.DecodeRune(content[at:])
			if r == utf8.RuneError && n <= 1 {
				break
			}
			at += n
		}
		return refuseAt(content, at, "expected text in UTF-8, got the byte 0x%02x", content[at])
	}
	if at := bytes.IndexByte(content, 0); at >= 0 {
		return refuseAt(content, at, "expected text, got U+0000")
	}
	if bytes.HasPrefix(content, []byte(vaultMark)) {
		return refuse(1, 1, "expected an inventory, got a file that is encrypted with Ansible Vault as a whole; encrypt single values (!vault) instead")
	}
	return nil
}

// refuse makes the fault of a place. Lines and columns count from one, columns in characters; zero says nothing.
func refuse(line, column int, format string, args ...any) error {
	where := ""
	switch {
	case line > 0 && column > 0:
		where = fmt.Sprintf("line %d, column %d: ", line, column)
	case line > 0:
		where = fmt.Sprintf("line %d: ", line)
	}
	return fault.BadField("content", "%s%s", where, fmt.Sprintf(format, args...))
}

// refuseAt is refuse for an offset in bytes.
func refuseAt(content []byte, offset int, format string, args ...any) error {
	line, column := position(content, offset)
	return refuse(line, column, format, args...)
}

// position turns an offset in bytes into a line and a column.
func position(content []byte, offset int) (line, column int) {
	before := content[:min(max(offset, 0), len(content))]
	line = bytes.Count(before, []byte{'\n'}) + 1
	return line, utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
}

// short cuts what a message repeats of the content.
func short(s string) string {
	const limit = 80
	if len(s) <= limit {
		return s
	}
	cut := limit
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return strings.ToValidUTF8(s[:cut], "") + "..."
}
