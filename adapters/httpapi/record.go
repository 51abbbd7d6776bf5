package httpapi

import (
	"time"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/object"
)

// Stamps are the members of an object that only the server sets. Embed them in the body of GET and of PUT, so that a
// client may send back the object that it read.
type Stamps struct {
	ID        string    `json:"id" readOnly:"true"`
	CreatedAt time.Time `json:"created_at" readOnly:"true"`
	UpdatedAt time.Time `json:"updated_at" readOnly:"true"`
}

// Record is Stamps with the creator.
type Record struct {
	Stamps
	CreatedBy string `json:"created_by" readOnly:"true"`
}

func (s Stamps) record() Record { return Record{Stamps: s} }
func (r Record) record() Record { return r }

// stamped is a body that embeds Stamps or a Record.
type stamped interface{ record() Record }

// RecordOf returns the members of a record that the server sets.
func RecordOf(r object.Record) Record {
	return Record{Stamps: Stamps{ID: r.ID, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt}, CreatedBy: r.CreatedBy}
}

// ExampleTime is the time in examples of the API document.
func ExampleTime() time.Time { return time.Date(2026, time.January, 5, 8, 30, 0, 0, time.UTC) }

// ExampleRecord is a record in an example of the API document.
func ExampleRecord(id string) Record {
	at := ExampleTime()
	return Record{Stamps: Stamps{ID: id, CreatedAt: at, UpdatedAt: at}, CreatedBy: "usr_01k0a0000vtx5zk9w2m4n6p8rs"}
}

// Fixed returns an Invalid fault if a PUT changes a read-only member. An absent member is not changed.
func Fixed(member, sent, stored string) error {
	if sent == "" || sent == stored {
		return nil
	}
	return fault.BadField(member, "cannot be changed")
}

// Unchanged returns an Invalid fault if the members of a PUT of the object id differ from the stored ones. It calls
// read only if it needs the stored ones, and returns its errors.
func (r Record) Unchanged(id string, read func() (object.Record, error)) error {
	if err := Fixed("id", r.ID, id); err != nil || r.CreatedBy == "" && r.CreatedAt.IsZero() {
		return err
	}
	stored, err := read()
	if err != nil {
		return err
	}
	if !r.CreatedAt.IsZero() && !r.CreatedAt.Equal(stored.CreatedAt) {
		return fault.BadField("created_at", "cannot be changed")
	}
	return Fixed("created_by", r.CreatedBy, stored.CreatedBy)
}
