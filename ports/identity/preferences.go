package identity

import (
	"context"
	"encoding/json"
)

// MaxPreferences limits the preferences of an account, in bytes of their JSON without white space.
const MaxPreferences = 32 << 10

// FirstRevision is the revision of the preferences of an account that never saved any.
const FirstRevision = 1

// Preferences are settings that clients keep for an account. The server does not interpret them.
type Preferences struct {
	Document json.RawMessage // a JSON object; {} if the account never saved any
	Revision int64           // counts the saves, from FirstRevision
}

// OwnPreferences are the preferences of the caller.
type OwnPreferences interface {
	// Preferences returns those of the caller of ctx. Errors: NotAllowed for a caller without an account.
	Preferences(ctx context.Context) (Preferences, error)
	// SavePreferences replaces them by a JSON object. A revision of zero matches any. Errors: Invalid for another
	// document; TooLarge beyond MaxPreferences; RevisionChanged for another revision; NotAllowed as Preferences.
	SavePreferences(ctx context.Context, document json.RawMessage, revision int64) (Preferences, error)
}

// SharedPreferences are the preferences that a team shares.
type SharedPreferences struct {
	Team Team
	Preferences
}

// TeamPreferences are settings that the members of a team share, as OwnPreferences are those of one account. Members
// and admins read and save them. Errors of both: TeamNotFound; NotAllowed for others.
type TeamPreferences interface {
	Preferences(ctx context.Context, teamID string) (Preferences, error)
	// SavePreferences replaces them, with the errors of OwnPreferences.
	SavePreferences(ctx context.Context, teamID string, document json.RawMessage, revision int64) (Preferences, error)
	// Shared returns those of all teams of the caller, by the name of the team: none without an account.
	Shared(ctx context.Context) ([]SharedPreferences, error)
}

// PreferenceStore stores preferences by account and by team.
type PreferenceStore interface {
	// PreferencesOf returns an empty object at FirstRevision for an account that never saved any.
	PreferencesOf(ctx context.Context, userID string) (Preferences, error)
	// SavePreferences replaces the preferences of an account and returns their revision. They end with the account. A
	// revision of zero matches any. Errors: RevisionChanged for another revision, UserNotFound.
	SavePreferences(ctx context.Context, userID string, document json.RawMessage, revision int64) (int64, error)
	// TeamPreferencesOf and SaveTeamPreferences do the same for a team. An unknown one is TeamNotFound for a save.
	TeamPreferencesOf(ctx context.Context, teamID string) (Preferences, error)
	SaveTeamPreferences(ctx context.Context, teamID string, document json.RawMessage, revision int64) (int64, error)
	// SharedWith returns those of all teams of an account, by the name of the team. Of a team, ID and Name are set.
	SharedWith(ctx context.Context, userID string) ([]SharedPreferences, error)
}
