package identity

import (
	"context"
	"net/http"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/identity"
)

// NewGrantBody is a request for a grant.
type NewGrantBody struct {
	Subject string `json:"subject" doc:"user:<id> or team:<id>."`
	Object  string `json:"object" doc:"The id of a project, template, inventory or credential, or queue:<name>."`
	Level   string `json:"level" enum:"read,use,manage"`
}

// GrantBody is a grant of a level on an object to a subject.
type GrantBody struct {
	ID        string    `json:"id"`
	Subject   string    `json:"subject"`
	Object    string    `json:"object"`
	Level     string    `json:"level" enum:"read,use,manage"`
	CreatedAt time.Time `json:"created_at"`
	CreatedBy string    `json:"created_by"`
}

func grantBody(g identity.Grant) GrantBody {
	return GrantBody{
		ID: g.ID, Subject: g.Subject, Object: g.Object, Level: string(g.Level), CreatedAt: g.CreatedAt,
		CreatedBy: g.CreatedBy,
	}
}

// WarningBody describes a consequence of a request.
type WarningBody struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// restricted returns the warning of an object's first grant.
func restricted() WarningBody {
	return WarningBody{
		Code: "object_restricted",
		Message: "the object carried no grant before; from now on it is restricted to admins, its organization's admins and the " +
			"subjects of its grants",
	}
}

// CreatedGrantBody is a created grant.
type CreatedGrantBody struct {
	GrantBody
	Warnings []WarningBody `json:"warnings" doc:"Present if this grant is the object's first and restricts it."`
}

func (h *handlers) createGrant(
	ctx context.Context, in *httpapi.NewInput[NewGrantBody],
) (*httpapi.NewObjectOutput[CreatedGrantBody], error) {
	g, first, err := h.Grants.Create(ctx, in.Body.Subject, in.Body.Object, access.Level(in.Body.Level))
	if err != nil {
		return nil, err
	}
	out := &httpapi.NewObjectOutput[CreatedGrantBody]{
		Location: "/v1/grants/" + g.ID, ETag: httpapi.ETag(unchanging),
		Body: CreatedGrantBody{GrantBody: grantBody(g), Warnings: []WarningBody{}},
	}
	if first {
		out.Body.Warnings = append(out.Body.Warnings, restricted())
	}
	return out, nil
}

func (h *handlers) getGrant(ctx context.Context, in *httpapi.IDInput) (*httpapi.ObjectOutput[GrantBody], error) {
	g, err := h.Grants.Get(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return &httpapi.ObjectOutput[GrantBody]{ETag: httpapi.ETag(unchanging), Body: grantBody(g)}, nil
}

// GrantsInput selects grants.
type GrantsInput struct {
	Subject string `query:"subject" doc:"Only those of this subject."`
	Object  string `query:"object" doc:"Only those on this object."`
	httpapi.Window
}

// GrantList lists grants in order of creation.
type GrantList struct {
	Grants []GrantBody `json:"grants"`
	httpapi.Listed
}

func (h *handlers) listGrants(ctx context.Context, in *GrantsInput) (*httpapi.ListOutput[GrantList], error) {
	list, total, err := h.Grants.List(ctx, identity.GrantFilter{Subject: in.Subject, Object: in.Object}, in.Page())
	if err != nil {
		return nil, err
	}
	rows, listed := httpapi.List(list, total, in.Window, grantBody)
	return &httpapi.ListOutput[GrantList]{Body: GrantList{Grants: rows, Listed: listed}}, nil
}

func (h *handlers) deleteGrant(ctx context.Context, in *httpapi.DeleteInput) (*httpapi.NoOutput, error) {
	return remove(ctx, in, only(h.Grants.Get), h.Grants.Delete)
}

func (h *handlers) granting(r *httpapi.Router) {
	read, write := httpapi.Needs("grant", "read"), httpapi.Needs("grant", "write")
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPost, Path: "/v1/grants", ID: "create-grant", Action: audit.GrantCreate, Tag: tag,
		Summary:     "Grant a level on an object to an account or a team",
		Description: "The first grant on an object restricts it, which warnings in the answer states.", Access: write,
		Status: http.StatusCreated, Request: exampleNewGrant(), Errors: createStatuses(),
		Example: CreatedGrantBody{GrantBody: exampleGrant(), Warnings: []WarningBody{restricted()}},
	}, h.createGrant)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: "/v1/grants", ID: "list-grants", Tag: tag, Summary: "List grants", Access: read,
		Status:      http.StatusOK,
		Description: "In the order of their creation; subject and object narrow the list.",
		Example:     GrantList{Grants: []GrantBody{exampleGrant()}, Listed: httpapi.ExampleListed()}, Errors: listStatuses(),
	}, h.listGrants)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: "/v1/grants/{id}", ID: "get-grant", Tag: tag, Summary: "Read one grant", Access: read,
		Description: "A grant never changes: it is created and deleted.",
		Status:      http.StatusOK, Example: exampleGrant(), Errors: getStatuses(),
	}, h.getGrant)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodDelete, Path: "/v1/grants/{id}", ID: "delete-grant", Action: audit.GrantDelete, Tag: tag,
		Summary:     "Delete a grant",
		Description: "With its last grant an object follows the global roles again.", Access: write,
		Status: http.StatusNoContent, Errors: deleteStatuses(),
	}, h.deleteGrant)
}
