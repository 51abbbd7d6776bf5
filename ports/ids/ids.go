// Package ids names the kinds of identifiers: a prefix and a lower-case ULID, opaque to clients.
package ids

import "strings"

// Prefix is the kind part of an id, with its underscore.
type Prefix string

// The prefixes of every kind of record.
const (
	Run            Prefix = "run_"
	Template       Prefix = "tpl_"
	Project        Prefix = "prj_"
	Inventory      Prefix = "inv_"
	Source         Prefix = "src_"
	Schedule       Prefix = "sch_"
	Trigger        Prefix = "trg_"
	Credential     Prefix = "crd_"
	CredentialType Prefix = "cty_"
	User           Prefix = "usr_"
	Token          Prefix = "tok_"
	Team           Prefix = "team_"
	Org            Prefix = "org_"
	Grant          Prefix = "grt_"
	Policy         Prefix = "pol_"
	Worker         Prefix = "wkr_"
	Audit          Prefix = "aud_"
	Message        Prefix = "msg_"
)

// Generator makes ids. Ids of one generator and prefix sort by the time at which they were made, and within one
// millisecond by the order in which they were made.
type Generator interface {
	New(p Prefix) string
}

const ulidLen = 26

// Valid reports whether id has the form of an id of kind p.
func Valid(p Prefix, id string) bool {
	rest, ok := strings.CutPrefix(id, string(p))
	if !ok || len(rest) != ulidLen {
		return false
	}
	for i := range len(rest) {
		c := rest[i]
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z') {
			return false
		}
	}
	return true
}
