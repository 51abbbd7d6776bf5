package identity

import (
	"context"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
)

// NameBody is the name of a new team or organization.
type NameBody struct {
	Name string `json:"name" minLength:"1" maxLength:"200"`
}

func (b *NameBody) name() string { return b.Name }

// GroupBody is a team or an organization.
type GroupBody struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"created_at"`
	CreatedBy string    `json:"created_by"`
}

func teamBody(t identity.Team) GroupBody { return GroupBody(t) }
func orgBody(o identity.Org) GroupBody   { return GroupBody(o) }

// MemberBody is an account in a team or an organization.
type MemberBody struct {
	UserID   string           `json:"user_id"`
	Username string           `json:"username"`
	Role     identity.OrgRole `json:"role,omitempty" doc:"The role in an organization; teams have none."`
	AddedAt  time.Time        `json:"added_at"`
}

func memberBody(m identity.Member) MemberBody { return MemberBody(m) }

// member answers with a member. Its location is the list, because a single member cannot be read.
func member(group string, m identity.Member, err error) (*httpapi.NewObjectOutput[MemberBody], error) {
	if err != nil {
		return nil, err
	}
	return &httpapi.NewObjectOutput[MemberBody]{Location: group + "/members",
		ETag: httpapi.ETag(httpapi.Unchanging("").Revision), Body: memberBody(m)}, nil
}

// MemberList lists members by user name.
type MemberList struct {
	Members []MemberBody `json:"members"`
	httpapi.Listed
}

func memberList(rows []MemberBody, l httpapi.Listed) MemberList { return MemberList{rows, l} }

// membersOf lists the members of a group.
func membersOf(
	list func(ctx context.Context, id string, w page.Window) ([]identity.Member, int, error),
) func(context.Context, *MembersInput) ([]identity.Member, int, error) {
	return func(ctx context.Context, in *MembersInput) ([]identity.Member, int, error) {
		return list(ctx, in.ID, in.Page())
	}
}
