// Package ids declares the kinds of identifiers. An id is a prefix and a lower-case ULID, opaque to clients.
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
	Window         Prefix = "win_"
	Finding        Prefix = "drf_"
	DriftIgnore    Prefix = "dig_"
	Worker         Prefix = "wkr_"
	WorkerToken    Prefix = "wkt_"
	Audit          Prefix = "aud_"
	Message        Prefix = "msg_"
	Install        Prefix = "in_"
	Anchor         Prefix = "anc_"
	Delivery       Prefix = "nty_"
	NotifyTarget   Prefix = "ntg_"
	Lease          Prefix = "lse_"
	DeadLetter     Prefix = "dlt_"
)

// Generator creates ids. Ids of one generator and prefix sort by their time of creation, and within one millisecond in
// the order of creation.
type Generator interface {
	New(p Prefix) string
}

const ulidLen = 26

// Known reports whether id is a well-formed id of a kind that KindOf returns.
func Known(id string) bool {
	i := strings.IndexByte(id, '_')
	return KindOf(id) != "" && Valid(Prefix(id[:i+1]), id)
}

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

// KindOf returns the kind of a record by the prefix of its id: the noun in the API, grants and the trail. It is empty
// for an unknown prefix.
func KindOf(id string) string {
	prefix, _, ok := strings.Cut(id, "_")
	if !ok {
		return ""
	}
	switch Prefix(prefix + "_") {
	case Run:
		return "run"
	case Template:
		return "template"
	case Project:
		return "project"
	case Inventory:
		return "inventory"
	case Source:
		return "inventory_source"
	case Schedule:
		return "schedule"
	case Trigger:
		return "trigger"
	case Credential:
		return "credential"
	case CredentialType:
		return "credential_type"
	case User:
		return "user"
	case Token:
		return "token"
	case Team:
		return "team"
	case Org:
		return "org"
	case Grant:
		return "grant"
	case Policy:
		return "policy"
	case Window:
		return "window"
	case DriftIgnore:
		return "drift_ignore"
	case Worker:
		return "worker"
	case WorkerToken:
		return "worker_token"
	case DeadLetter:
		return "dead_letter"
	default:
		return ""
	}
}
