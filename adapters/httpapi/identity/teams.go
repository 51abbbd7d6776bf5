package identity

import (
	"context"
	"net/http"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
)

const teamsPath = "/v1/teams"

// TeamList lists teams by name.
type TeamList struct {
	Teams []GroupBody `json:"teams"`
	httpapi.Listed
}

// TeamsOutput is the answer with teams.
type TeamsOutput struct{ Body TeamList }

// TeamMemberBody adds an account as a member.
type TeamMemberBody struct {
	UserID string `json:"user_id"`
}

// TeamMemberInput is the request with a TeamMemberBody.
type TeamMemberInput struct {
	ID   string `path:"id"`
	Body TeamMemberBody
}

func (h *handlers) createTeam(ctx context.Context, in *NameInput) (*NewGroupOutput, error) {
	t, err := h.Teams.Create(ctx, in.Body.Name)
	return newGroupOutput(teamsPath, teamBody(t), err)
}

func (h *handlers) getTeam(ctx context.Context, in *httpapi.IDInput) (*GroupOutput, error) {
	t, err := h.Teams.Get(ctx, in.ID)
	return group(teamBody(t), err)
}

func (h *handlers) listTeams(ctx context.Context, in *ListInput) (*TeamsOutput, error) {
	list, total, err := h.Teams.List(ctx, in.Page())
	if err != nil {
		return nil, err
	}
	rows, listed := httpapi.List(list, total, in.Window, teamBody)
	return &TeamsOutput{Body: TeamList{Teams: rows, Listed: listed}}, nil
}

func (h *handlers) deleteTeam(ctx context.Context, in *httpapi.DeleteInput) (*httpapi.NoOutput, error) {
	return remove(ctx, in, only(h.Teams.Get), h.Teams.Delete)
}

func (h *handlers) addTeamMember(
	ctx context.Context, in *TeamMemberInput,
) (*httpapi.NewObjectOutput[MemberBody], error) {
	m, err := h.Teams.AddMember(ctx, in.ID, in.Body.UserID)
	return member(teamsPath+"/"+in.ID, m, err)
}

func (h *handlers) teamMembers(ctx context.Context, in *MembersInput) (*httpapi.ListOutput[MemberList], error) {
	list, total, err := h.Teams.Members(ctx, in.ID, in.Page())
	return members(in, list, total, err)
}

func (h *handlers) removeTeamMember(ctx context.Context, in *MemberInput) (*httpapi.NoOutput, error) {
	return removeMember(ctx, in, only(h.Teams.Get), h.Teams.RemoveMember)
}

func (h *handlers) teams(r *httpapi.Router) {
	read, write := httpapi.Needs("team", "read"), httpapi.Needs("team", "write")
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPost, Path: teamsPath, ID: "create-team", Action: audit.TeamCreate, Tag: tag,
		Summary: "Create a team", Access: write,
		Description: "Names are unique. Grants may name the team as team:<id>.",
		Status:      http.StatusCreated, Example: exampleTeam(), Request: NameBody{Name: "web"},
		Errors: []int{http.StatusConflict},
	}, h.createTeam)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: teamsPath, ID: "list-teams", Tag: tag, Summary: "List teams", Access: read,
		Status:      http.StatusOK,
		Description: "Ordered by name. Members have a list of their own.",
		Example:     TeamList{Teams: []GroupBody{exampleTeam()}, Listed: httpapi.ExampleListed()}, Errors: listStatuses(),
	}, h.listTeams)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: teamsPath + "/{id}", ID: "get-team", Tag: tag, Summary: "Read one team", Access: read,
		Description: "Its members have a list of their own.",
		Status:      http.StatusOK, Example: exampleTeam(), Errors: getStatuses(),
	}, h.getTeam)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodDelete, Path: teamsPath + "/{id}", ID: "delete-team", Action: audit.TeamDelete, Tag: tag,
		Description: "Rights that came from it end at once.",
		Summary:     "Delete a team with its memberships and grants", Access: write, Status: http.StatusNoContent,
		Errors: deleteStatuses(),
	}, h.deleteTeam)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPost, Path: teamsPath + "/{id}/members", ID: "add-team-member", Action: audit.TeamMemberAdd,
		Tag:         tag,
		Description: "The account has the team's grants at once.",
		Summary:     "Add an account to a team",
		Access:      write, Status: http.StatusCreated, Example: exampleMember(""),
		Request: TeamMemberBody{UserID: exampleUserID},
		Errors:  createStatuses(),
	}, h.addTeamMember)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: teamsPath + "/{id}/members", ID: "list-team-members", Tag: tag,
		Summary:     "List a team's members",
		Description: "For members and admins.", Access: read, Status: http.StatusOK,
		Example: MemberList{Members: []MemberBody{exampleMember("")}, Listed: httpapi.ExampleListed()}, Errors: getStatuses(),
	}, h.teamMembers)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodDelete, Path: teamsPath + "/{id}/members/{userID}", ID: "remove-team-member",
		Action: audit.TeamMemberDrop, Tag: tag,
		Description: "Rights that came from the team end at once.",
		Summary:     "Remove an account from a team", Access: write, Status: http.StatusNoContent, Errors: deleteStatuses(),
	}, h.removeTeamMember)
}
