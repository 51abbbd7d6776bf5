package identity

import (
	"context"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/object"
)

// NewGrantBody is a request for a grant.
type NewGrantBody struct {
	Subject string `json:"subject" doc:"user:<id> or team:<id>."`
	Object  string `json:"object" doc:"The id of a project, template, inventory or credential, or queue:<name>."`
	Level   string `json:"level" enum:"read,use,manage"`
}

// GrantBody is a grant of a level on an object to a subject.
type GrantBody struct {
	ID        string       `json:"id"`
	Subject   string       `json:"subject"`
	Object    string       `json:"object"`
	Level     access.Level `json:"level" enum:"read,use,manage"`
	CreatedAt time.Time    `json:"created_at"`
	CreatedBy string       `json:"created_by"`
}

func grantBody(g identity.Grant) GrantBody { return GrantBody(g) }

// WarningBody describes a consequence of a request.
type WarningBody struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// restricted returns the warning of an object's first grant.
func restricted() WarningBody {
	return WarningBody{
		Code: "object_restricted",
		Message: "the object carried no grant before; from now on it is restricted to admins, its organization's admins " +
			"and the subjects of its grants",
	}
}

// CreatedGrantBody is a created grant.
type CreatedGrantBody struct {
	GrantBody
	Warnings []WarningBody `json:"warnings" doc:"Present if this grant is the object's first and restricts it."`
}

// created is a new grant. first reports that its object had no grant before.
type created struct {
	identity.Grant
	first bool
}

func createdGrantBody(c created) CreatedGrantBody {
	b := CreatedGrantBody{GrantBody: grantBody(c.Grant), Warnings: []WarningBody{}}
	if c.first {
		b.Warnings = append(b.Warnings, restricted())
	}
	return b
}

func (h *handlers) createGrant(ctx context.Context, b *NewGrantBody) (c created, err error) {
	c.Grant, c.first, err = h.Grants.Create(ctx, b.Subject, b.Object, access.Level(b.Level))
	return c, err
}

// GrantsInput selects grants.
type GrantsInput struct {
	Subject string `query:"subject" doc:"Only those of this subject."`
	Object  string `query:"object" doc:"Only those on this object."`
	httpapi.Window
}

func (in *GrantsInput) filter() identity.GrantFilter {
	return identity.GrantFilter{Subject: in.Subject, Object: in.Object}
}

// GrantList lists grants in order of creation.
type GrantList struct {
	Grants []GrantBody `json:"grants"`
	httpapi.Listed
}

func grantList(rows []GrantBody, l httpapi.Listed) GrantList { return GrantList{rows, l} }

func (h *handlers) grants(r *httpapi.Router) {
	k := httpapi.Kind[identity.Grant, GrantBody]{
		Path: "/v1/grants", Noun: "grant", Tag: tag, Read: httpapi.Needs("grant", "read"),
		Write: httpapi.Needs("grant", "write"), Example: exampleGrant(), Body: grantBody,
		Record: func(g identity.Grant) object.Record { return httpapi.Unchanging(g.ID) },
	}
	fresh := httpapi.Kind[created, CreatedGrantBody]{
		Path: k.Path, Noun: k.Noun, Tag: tag, Write: k.Write, Request: exampleNewGrant(), Body: createdGrantBody,
		Example: CreatedGrantBody{GrantBody: exampleGrant(), Warnings: []WarningBody{restricted()}},
		Record:  func(c created) object.Record { return httpapi.Unchanging(c.ID) },
	}
	httpapi.Handle(r, fresh.Create(audit.GrantCreate, "Grant a level on an object to an account or a team",
		"The first grant on an object restricts it, which the answer says in warnings."),
		httpapi.Creator(fresh, httpapi.Self[NewGrantBody], h.createGrant))
	httpapi.HandleList(r, k.List("List grants", "In the order of their creation; subject and object narrow the list."),
		grantList, grantBody, httpapi.Filtered((*GrantsInput).filter, h.Grants.List), k.Example)
	httpapi.Handle(r, k.Get("Read one grant", "A grant never changes: it is made and taken back."),
		k.Getter(h.Grants.Get))
	httpapi.Handle(r, k.Delete(audit.GrantDelete, "Delete a grant",
		"With its last grant an object follows the global roles again."),
		httpapi.UnchangingDeleter(h.Grants.Get, h.Grants.Delete))
}
