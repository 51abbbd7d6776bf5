package identity

import (
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/identity"
)

// NameBody is the name of a new team or organization.
type NameBody struct {
	Name string `json:"name" minLength:"1" maxLength:"200"`
}

// NameInput is the request with a NameBody.
type NameInput struct{ Body NameBody }

// GroupBody is a team or an organization.
type GroupBody struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"created_at"`
	CreatedBy string    `json:"created_by"`
}

func teamBody(t identity.Team) GroupBody { return GroupBody(t) }
func orgBody(o identity.Org) GroupBody   { return GroupBody(o) }

// GroupOutput is the answer with a team or an organization.
type GroupOutput struct {
	ETag string `header:"ETag"`
	Body GroupBody
}

// NewGroupOutput is the answer with a created one.
type NewGroupOutput struct {
	Location string `header:"Location"`
	ETag     string `header:"ETag"`
	Body     GroupBody
}

func group(b GroupBody, err error) (*GroupOutput, error) {
	if err != nil {
		return nil, err
	}
	return &GroupOutput{ETag: httpapi.ETag(unchanging), Body: b}, nil
}

// newGroupOutput sets the location of a created group, below its list.
func newGroupOutput(list string, b GroupBody, err error) (*NewGroupOutput, error) {
	if err != nil {
		return nil, err
	}
	return &NewGroupOutput{Location: list + "/" + b.ID, ETag: httpapi.ETag(unchanging), Body: b}, nil
}

// MemberBody is an account in a team or an organization.
type MemberBody struct {
	UserID   string    `json:"user_id"`
	Username string    `json:"username"`
	Role     string    `json:"role,omitempty" doc:"The role in an organization; teams have none."`
	AddedAt  time.Time `json:"added_at"`
}

func memberBody(m identity.Member) MemberBody {
	return MemberBody{UserID: m.UserID, Username: m.Username, Role: string(m.Role), AddedAt: m.AddedAt}
}

// member sets the location of a member: the list, because a single member cannot be read.
func member(group string, m identity.Member, err error) (*httpapi.NewObjectOutput[MemberBody], error) {
	if err != nil {
		return nil, err
	}
	return &httpapi.NewObjectOutput[MemberBody]{Location: group + "/members", ETag: httpapi.ETag(unchanging),
		Body: memberBody(m)}, nil
}

// MemberList lists members by user name.
type MemberList struct {
	Members []MemberBody `json:"members"`
	httpapi.Listed
}

func members(in *MembersInput, list []identity.Member, total int, err error) (*httpapi.ListOutput[MemberList], error) {
	if err != nil {
		return nil, err
	}
	rows, listed := httpapi.List(list, total, in.Window, memberBody)
	return &httpapi.ListOutput[MemberList]{Body: MemberList{Members: rows, Listed: listed}}, nil
}
