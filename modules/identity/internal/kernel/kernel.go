// Package kernel has what every change of this context uses: the services of the process, the account as an object of
// the audit trail, and faults that name a member of the request.
package kernel

import (
	"log/slog"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/tx"
)

// Kernel is the services of the process that a change uses.
//
// Entries keep the names of users, tokens and groups in the name of their object, which is private. Their details have
// ids, roles, names of members and counts, and never a password, a hash, a secret or a value of a profile.
type Kernel struct {
	Unit  tx.Unit
	Clock clock.Clock
	IDs   ids.Generator
	Log   *slog.Logger
	// Recorder records each change in its unit of work.
	Recorder audit.Recorder
}

// User returns an account as an object of the audit trail. The zero user is no object.
func User(u identity.User) audit.Object {
	if u.ID == "" {
		return audit.Object{}
	}
	return audit.Object{Kind: "user", ID: u.ID, Name: u.Username}
}

// Naming adds the field and the message to err if it is a fault of the code, and returns any other err unchanged.
func Naming(err error, c fault.Code, field, message string) error {
	if !c.Is(err) {
		return err
	}
	f := c.New("%s: %s", field, message)
	f.Fields = []fault.Field{{Location: field, Message: message}}
	return f
}
