package identity

import (
	"context"
	"net/http"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/identity"
)

const orgsPath = "/v1/orgs"

// OrgList lists organizations by name.
type OrgList struct {
	Orgs []GroupBody `json:"orgs"`
	httpapi.Listed
}

// OrgsOutput is the answer with organizations.
type OrgsOutput struct{ Body OrgList }

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

func (h *handlers) createOrg(ctx context.Context, in *NameInput) (*NewGroupOutput, error) {
	o, err := h.Orgs.Create(ctx, in.Body.Name)
	return newGroupOutput(orgsPath, orgBody(o), err)
}

func (h *handlers) getOrg(ctx context.Context, in *httpapi.IDInput) (*GroupOutput, error) {
	o, err := h.Orgs.Get(ctx, in.ID)
	return group(orgBody(o), err)
}

func (h *handlers) listOrgs(ctx context.Context, in *ListInput) (*OrgsOutput, error) {
	list, total, err := h.Orgs.List(ctx, in.Page())
	if err != nil {
		return nil, err
	}
	rows, listed := httpapi.List(list, total, in.Window, orgBody)
	return &OrgsOutput{Body: OrgList{Orgs: rows, Listed: listed}}, nil
}

func (h *handlers) deleteOrg(ctx context.Context, in *httpapi.DeleteInput) (*httpapi.NoOutput, error) {
	return remove(ctx, in, only(h.Orgs.Get), h.Orgs.Delete)
}

func (h *handlers) putOrgMember(ctx context.Context, in *OrgMemberInput) (*httpapi.NewObjectOutput[MemberBody], error) {
	m, err := h.Orgs.PutMember(ctx, in.ID, in.Body.UserID, identity.OrgRole(in.Body.Role))
	return member(orgsPath+"/"+in.ID, m, err)
}

func (h *handlers) orgMembers(ctx context.Context, in *MembersInput) (*httpapi.ListOutput[MemberList], error) {
	list, total, err := h.Orgs.Members(ctx, in.ID, in.Page())
	return members(in, list, total, err)
}

func (h *handlers) removeOrgMember(ctx context.Context, in *MemberInput) (*httpapi.NoOutput, error) {
	return removeMember(ctx, in, only(h.Orgs.Get), h.Orgs.RemoveMember)
}

func (h *handlers) orgs(r *httpapi.Router) {
	read, write := httpapi.Needs("org", "read"), httpapi.Needs("org", "write")
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPost, Path: orgsPath, ID: "create-org", Action: audit.OrgCreate, Tag: tag,
		Description: "Names are unique. Objects join it by their org_id.",
		Summary:     "Create an organization", Access: write,
		Status: http.StatusCreated, Example: exampleOrg(), Request: NameBody{Name: "retail"},
		Errors: []int{http.StatusConflict},
	}, h.createOrg)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: orgsPath, ID: "list-orgs", Tag: tag, Summary: "List organizations", Access: read,
		Description: "Ordered by name. Members have a list of their own.",
		Status:      http.StatusOK, Example: OrgList{Orgs: []GroupBody{exampleOrg()}, Listed: httpapi.ExampleListed()},
		Errors: listStatuses(),
	}, h.listOrgs)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: orgsPath + "/{id}", ID: "get-org", Tag: tag, Summary: "Read one organization",
		Access:      read,
		Description: "Its members have a list of their own.",
		Status:      http.StatusOK, Example: exampleOrg(), Errors: getStatuses(),
	}, h.getOrg)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodDelete, Path: orgsPath + "/{id}", ID: "delete-org", Action: audit.OrgDelete, Tag: tag,
		Description: "The answer is a conflict if objects belong to it.",
		Summary:     "Delete an empty organization with its memberships", Access: write, Status: http.StatusNoContent,
		Errors: append(deleteStatuses(), http.StatusConflict),
	}, h.deleteOrg)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPost, Path: orgsPath + "/{id}/members", ID: "put-org-member", Action: audit.OrgMemberSet, Tag: tag,
		Description: "Its admins may create and change the objects of the organization.",
		Summary:     "Add an account to an organization, or give a member another role", Access: write,
		Status:  http.StatusCreated,
		Example: exampleMember("admin"), Request: OrgMemberBody{UserID: exampleUserID, Role: "admin"},
		Errors: createStatuses(),
	}, h.putOrgMember)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: orgsPath + "/{id}/members", ID: "list-org-members", Tag: tag,
		Summary: "List an organization's members and their roles", Description: "For members and admins.", Access: read,
		Status: http.StatusOK, Example: MemberList{Members: []MemberBody{exampleMember("admin")},
			Listed: httpapi.ExampleListed()}, Errors: getStatuses(),
	}, h.orgMembers)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodDelete, Path: orgsPath + "/{id}/members/{userID}", ID: "remove-org-member",
		Action: audit.OrgMemberDrop, Tag: tag,
		Description: "Rights that came from the membership end at once.",
		Summary:     "Remove an account from an organization", Access: write, Status: http.StatusNoContent,
		Errors: deleteStatuses(),
	}, h.removeOrgMember)
}
