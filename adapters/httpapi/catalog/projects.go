package catalog

import (
	"context"
	"net/http"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/object"
)

const projectsPath = "/v1/projects"

// ProjectFields are the members of a project that a caller sets.
type ProjectFields struct {
	Name         string `json:"name" minLength:"1" maxLength:"200" doc:"Unique within the organization."`
	RepoURL      string `json:"repo_url" doc:"https, ssh, git, or file below the allowed root."`
	Branch       string `json:"branch,omitempty" doc:"The default branch of the remote if empty."`
	CredentialID string `json:"credential_id,omitempty"`
	InstallDeps  bool   `json:"install_deps" required:"false" doc:"Install the roles and collections that the requirements files name."`
	Org          string `json:"org_id,omitempty"`
}

func (b *ProjectFields) project() catalog.Project {
	return catalog.Project{
		Record: object.Record{Name: b.Name, Org: b.Org}, RepoURL: b.RepoURL, Branch: b.Branch, CredentialID: b.CredentialID,
		InstallDeps: b.InstallDeps,
	}
}

// ProjectBody is a project.
type ProjectBody struct {
	httpapi.Record
	ProjectFields
	Commit    string     `json:"commit,omitempty" readOnly:"true" doc:"Of the last synchronisation that succeeded."`
	SyncedAt  *time.Time `json:"synced_at,omitempty" readOnly:"true" doc:"When that was."`
	LastError string     `json:"last_error,omitempty" readOnly:"true" doc:"Error of the last synchronisation; absent if it succeeded."`
}

func projectBody(p catalog.Project) ProjectBody {
	return ProjectBody{
		Record: httpapi.RecordOf(p.Record), ProjectFields: ProjectFields{
			Name: p.Name, RepoURL: p.RepoURL, Branch: p.Branch, CredentialID: p.CredentialID, InstallDeps: p.InstallDeps,
			Org: p.Org,
		},
		Commit: p.Commit, SyncedAt: httpapi.When(p.SyncedAt), LastError: p.LastError,
	}
}

func projectRecord(p catalog.Project) object.Record { return p.Record }

// ProjectList is a list of projects by name.
type ProjectList struct {
	Projects []ProjectBody `json:"projects"`
	httpapi.Listed
}

func project(p catalog.Project, err error) (*httpapi.ObjectOutput[ProjectBody], error) {
	return objectOutput(p, err, projectBody, projectRecord)
}

func (h *handlers) createProject(
	ctx context.Context, in *httpapi.NewInput[ProjectFields],
) (*httpapi.NewObjectOutput[ProjectBody], error) {
	p, err := h.Projects.Create(ctx, in.Body.project())
	return newObjectOutput(projectsPath, p, err, projectBody, projectRecord)
}

func (h *handlers) getProject(ctx context.Context, in *httpapi.IDInput) (*httpapi.ObjectOutput[ProjectBody], error) {
	return project(h.Projects.Get(ctx, in.ID))
}

func (h *handlers) listProjects(ctx context.Context, in *ListInput) (*httpapi.ListOutput[ProjectList], error) {
	return listOutput(ctx, in, h.Projects.List, projectBody, func(rows []ProjectBody, l httpapi.Listed) ProjectList {
		return ProjectList{Projects: rows, Listed: l}
	})
}

func (h *handlers) updateProject(
	ctx context.Context, in *httpapi.ChangeInput[ProjectBody],
) (*httpapi.ObjectOutput[ProjectBody], error) {
	if err := updateStatuses(ctx, in, in.Body.Record, h.Projects.Get, projectRecord); err != nil {
		return nil, err
	}
	return project(h.Projects.Update(ctx, in.ID, in.IfMatch.Revision(), in.Body.project()))
}

func (h *handlers) deleteProject(ctx context.Context, in *httpapi.DeleteInput) (*httpapi.NoOutput, error) {
	return httpapi.Deleted(ctx, in, h.Projects.Delete)
}

func (h *handlers) syncProject(ctx context.Context, in *httpapi.IDInput) (*httpapi.ObjectOutput[ProjectBody], error) {
	return project(h.Projects.Sync(ctx, in.ID))
}

func (h *handlers) projects(r *httpapi.Router) {
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPost, Path: projectsPath, ID: "create-project", Action: audit.ProjectCreate, Tag: tag,
		Summary:     "Register a git project",
		Description: "The first synchronisation starts by itself.",
		Access:      write(), Status: http.StatusCreated, Example: exampleProject(), Request: exampleProject().ProjectFields,
		Errors: createStatuses(),
	}, h.createProject)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: projectsPath, ID: "list-projects", Tag: tag, Summary: "List projects by name",
		Access:      read(),
		Description: "The list has the objects that the caller may read. last_error says why the last synchronisation failed.",
		Status:      http.StatusOK, Example: ProjectList{Projects: []ProjectBody{exampleProject()},
			Listed: httpapi.ExampleListed()}, Errors: listStatuses(),
	}, h.listProjects)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: projectsPath + "/{id}", ID: "get-project", Tag: tag, Summary: "Read one project",
		Access:      read(),
		Description: "commit is the commit that a launch would check out now.",
		Status:      http.StatusOK, Example: exampleProject(), Errors: getStatuses(),
	}, h.getProject)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPut, Path: projectsPath + "/{id}", ID: "update-project", Action: audit.ProjectUpdate, Tag: tag,
		Summary: "Replace a project", Description: "An omitted member clears.", Access: write(), Status: http.StatusOK,
		Example: exampleProject(), Request: exampleProject().ProjectFields, Errors: refused(),
	}, h.updateProject)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodDelete, Path: projectsPath + "/{id}", ID: "delete-project", Action: audit.ProjectDelete, Tag: tag,
		Summary: "Delete a project that nothing uses", Description: inUse, Access: write(), Status: http.StatusNoContent,
		Errors: refused(),
	}, h.deleteProject)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPost, Path: projectsPath + "/{id}/sync", ID: "sync-project", Action: audit.ProjectSync, Tag: tag,
		Summary:     "Fetch a project's repository now",
		Description: "If the fetch fails, the answer is a conflict with the reason, and the last good commit stays.",
		Access:      write(), Status: http.StatusOK, Example: exampleProject(), Errors: createStatuses(),
	}, h.syncProject)
}

// inUse is the description of operations that delete a referenced object.
const inUse = "A conflict names the objects that use it: used_by lists those that the caller may read, by kind and id, and others counts the rest."
