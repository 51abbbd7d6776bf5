// Package inventory parses static inventories as Ansible's own plugins do.
//
// INI is parsed like the plugin ini, YAML and JSON like the plugin yaml, including their quirks: a run gets the same
// inventory as the one counted and shown on save. If Ansible ignores a part with a warning, this package ignores it
// too. If Ansible refuses the file, this package refuses it too, with the line. Tests compare both.
//
// It is stricter in a few cases and refuses: names of hosts that begin with - or have more than one line, numbers
// that JSON cannot represent (infinity, not a number), unpaired surrogates, bytes that are not UTF-8, a literal
// U+0000, a byte order mark before INI or JSON, range bounds in non-ASCII digits, character names (\N{...}), JSON
// that only a YAML parser accepts, and files that are encrypted as a whole. This package does not access files,
// environment variables or the network.
package inventory

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
)

// The limits. Content above a limit is refused before it is built.
const (
	maxContent  = 16 << 20  // bytes of content
	maxHosts    = 200_000   // hosts after the expansion of ranges
	maxGroups   = 100_000   // groups, including all and ungrouped
	maxMentions = 2_000_000 // total of hosts in groups and variables of hosts
	maxNames    = 64 << 20  // bytes of host names after the expansion of ranges
	maxNodes    = 2_000_000 // values in a YAML or JSON document
	maxAliased  = 500_000   // values in a YAML document that result from aliases only
	maxDepth    = 200       // nesting of values
)

// visits is the maximum number of visits of one value without aliases.
const visits = 4

// The groups that always exist.
const (
	all       = "all"
	ungrouped = "ungrouped"
)

// vaultMark is the start of a file that is encrypted as a whole.
const vaultMark = "$ANSIBLE_VAULT;"

// The members that mark encrypted values and values that are never templates in Ansible's JSON.
const (
	vaultKey  = "__ansible_vault"
	unsafeKey = "__ansible_unsafe"
)

// Parse parses an inventory. The values are as in catalog.InventoryContent; hosts of one range share them.
//
// An Invalid fault names the field content and contains the line, the column if it is known, and the expected input.
func Parse(content []byte, format catalog.Format) (*catalog.InventoryContent, error) {
	w := newBuilder(false)
	if err := read(content, format, w); err != nil {
		return nil, err
	}
	return w.content(), nil
}

// Count returns the number of hosts, and of groups without all and ungrouped. It does not build variables, so it
// accepts values that Parse refuses; its other faults are those of Parse.
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
		return fault.NoneOf("format", format, catalog.INI, catalog.YAML, catalog.JSON)
	}
	if err != nil {
		return err
	}
	return w.finish()
}

// checkBytes refuses content that is not text, for every format.
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
		return refuse(1, 1,
			"expected an inventory, got a file that is encrypted with Ansible Vault as a whole; encrypt single values "+
				"(!vault) instead")
	}
	return nil
}

// refuse returns the fault for a place. Lines and columns start at one, columns in characters; zero means unknown.
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

// refuseAt returns the fault for an offset in bytes.
func refuseAt(content []byte, offset int, format string, args ...any) error {
	line, column := position(content, offset)
	return refuse(line, column, format, args...)
}

// position converts an offset in bytes to a line and a column.
func position(content []byte, offset int) (line, column int) {
	before := content[:min(max(offset, 0), len(content))]
	line = bytes.Count(before, []byte{'\n'}) + 1
	return line, utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
}

// short shortens a part of the content for messages.
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
