package identity

import (
	"context"
	"net/http"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/object"
)

// OrgList lists organizations by name.
type OrgList struct {
	Orgs []GroupBody `json:"orgs"`
	httpapi.Listed
}

func orgList(rows []GroupBody, l httpapi.Listed) OrgList { return OrgList{rows, l} }

// OrgMemberBody adds an account as a member, or changes the role of a member.
type OrgMemberBody struct {
	UserID string `json:"user_id"`
	Role   string `json:"role" enum:"member,admin"`
}

// OrgMemberInput is the request with an OrgMemberBody.
type OrgMemberInput struct {
	ID   string `path:"id"`
	Body OrgMemberBody
}

func (h *handlers) orgs(r *httpapi.Router) {
	k := httpapi.Kind[identity.Org, GroupBody]{
		Path: "/v1/orgs", Noun: "org", Tag: tag, Read: httpapi.Needs("org", "read"),
		Write: httpapi.Needs("org", "write"), Example: exampleOrg(), Request: NameBody{Name: "retail"}, InUse: true,
		Body: orgBody, Record: func(o identity.Org) object.Record { return httpapi.Unchanging(o.ID) },
	}
	create := k.Create(audit.OrgCreate, "Create an organization", "Names are unique. Objects join it by their org_id.")
	create.Errors = []int{http.StatusConflict}
	httpapi.Handle(r, create, httpapi.Creator(k, (*NameBody).name, h.Orgs.Create))
	httpapi.HandleList(r, k.List("List organizations", "Ordered by name. Members have a list of their own."),
		orgList, orgBody, unfiltered(h.Orgs.List), k.Example)
	httpapi.Handle(r, k.Get("Read one organization", "Its members have a list of their own."), k.Getter(h.Orgs.Get))
	httpapi.Handle(r, k.Delete(audit.OrgDelete, "Delete an empty organization with its memberships",
		"A conflict says that objects belong to it."), httpapi.UnchangingDeleter(h.Orgs.Get, h.Orgs.Delete))

	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPost, Path: k.Path + "/{id}/members", ID: "put-org-member", Action: audit.OrgMemberSet,
		Tag: tag, Summary: "Add an account to an organization, or give a member another role",
		Description: "Its admins may create and change what belongs to the organization.", Access: k.Write,
		Status: http.StatusCreated, Example: exampleMember("admin"),
		Request: OrgMemberBody{UserID: exampleUserID, Role: "admin"},
		Errors:  []int{http.StatusNotFound, http.StatusConflict},
	}, func(ctx context.Context, in *OrgMemberInput) (*httpapi.NewObjectOutput[MemberBody], error) {
		m, err := h.Orgs.PutMember(ctx, in.ID, in.Body.UserID, identity.OrgRole(in.Body.Role))
		return member(k.Path+"/"+in.ID, m, err)
	})
	httpapi.HandleList(r, httpapi.Route{
		Method: http.MethodGet, Path: k.Path + "/{id}/members", ID: "list-org-members", Tag: tag,
		Summary: "List an organization's members and their roles", Description: "For members and admins.",
		Access: k.Read, Status: http.StatusOK, Errors: []int{http.StatusNotFound},
	}, memberList, memberBody, membersOf(h.Orgs.Members), exampleMember("admin"))
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodDelete, Path: k.Path + "/{id}/members/{userID}", ID: "remove-org-member",
		Action: audit.OrgMemberDrop, Tag: tag, Summary: "Remove an account from an organization",
		Description: "Rights that came from the membership end at once.", Access: k.Write,
		Status: http.StatusNoContent, Errors: []int{http.StatusNotFound, http.StatusPreconditionFailed},
	}, memberRemover(h.Orgs.Get, h.Orgs.RemoveMember))
}
