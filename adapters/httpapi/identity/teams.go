package identity

import (
	"context"
	"net/http"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/object"
)

// TeamList lists teams by name.
type TeamList struct {
	Teams []GroupBody `json:"teams"`
	httpapi.Listed
}

func teamList(rows []GroupBody, l httpapi.Listed) TeamList { return TeamList{rows, l} }

// TeamMemberBody adds an account as a member.
type TeamMemberBody struct {
	UserID string `json:"user_id"`
}

// TeamMemberInput is the request with a TeamMemberBody.
type TeamMemberInput struct {
	ID   string `path:"id"`
	Body TeamMemberBody
}

func (h *handlers) teams(r *httpapi.Router) {
	k := httpapi.Kind[identity.Team, GroupBody]{
		Path: "/v1/teams", Noun: "team", Tag: tag, Read: httpapi.Needs("team", "read"),
		Write: httpapi.Needs("team", "write"), Example: exampleTeam(), Request: NameBody{Name: "web"}, Body: teamBody,
		Record: func(t identity.Team) object.Record { return httpapi.Unchanging(t.ID) },
	}
	create := k.Create(audit.TeamCreate, "Create a team", "Names are unique. Grants may name the team as team:<id>.")
	create.Errors = []int{http.StatusConflict}
	httpapi.Handle(r, create, httpapi.Creator(k, (*NameBody).name, h.Teams.Create))
	httpapi.HandleList(r, k.List("List teams", "Ordered by name. Members have a list of their own."),
		teamList, teamBody, unfiltered(h.Teams.List), k.Example)
	httpapi.Handle(r, k.Get("Read one team", "Its members have a list of their own."), k.Getter(h.Teams.Get))
	httpapi.Handle(r, k.Delete(audit.TeamDelete, "Delete a team with its memberships and grants",
		"Rights that came from it end at once."), httpapi.UnchangingDeleter(h.Teams.Get, h.Teams.Delete))

	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPost, Path: k.Path + "/{id}/members", ID: "add-team-member", Action: audit.TeamMemberAdd,
		Tag: tag, Summary: "Add an account to a team", Description: "The account has the team's grants at once.",
		Access: k.Write, Status: http.StatusCreated, Example: exampleMember(""),
		Request: TeamMemberBody{UserID: exampleUserID}, Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, func(ctx context.Context, in *TeamMemberInput) (*httpapi.NewObjectOutput[MemberBody], error) {
		m, err := h.Teams.AddMember(ctx, in.ID, in.Body.UserID)
		return member(k.Path+"/"+in.ID, m, err)
	})
	httpapi.HandleList(r, httpapi.Route{
		Method: http.MethodGet, Path: k.Path + "/{id}/members", ID: "list-team-members", Tag: tag,
		Summary: "List a team's members", Description: "For members and admins.", Access: k.Read, Status: http.StatusOK,
		Errors: []int{http.StatusNotFound},
	}, memberList, memberBody, membersOf(h.Teams.Members), exampleMember(""))
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodDelete, Path: k.Path + "/{id}/members/{userID}", ID: "remove-team-member",
		Action: audit.TeamMemberDrop, Tag: tag, Summary: "Remove an account from a team",
		Description: "Rights that came from the team end at once.", Access: k.Write, Status: http.StatusNoContent,
		Errors: []int{http.StatusNotFound, http.StatusPreconditionFailed},
	}, memberRemover(h.Teams.Get, h.Teams.RemoveMember))
}
