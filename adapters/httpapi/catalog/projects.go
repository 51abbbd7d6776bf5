package catalog

import (
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/object"
)

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
	Commit    string         `json:"commit,omitempty" readOnly:"true" doc:"Of the last synchronisation that succeeded."`
	SyncedAt  *time.Time     `json:"synced_at,omitempty" readOnly:"true" doc:"When that was."`
	LastError string         `json:"last_error,omitempty" readOnly:"true" doc:"Of the last synchronisation; absent where it succeeded."`
	Hints     []catalog.Hint `json:"hints,omitempty" readOnly:"true" doc:"Conditions in its playbooks that newer versions of Ansible refuse, and links that lead out of the repository, which have line 0: at most 50, found in the commit."`
}

func projectBody(p catalog.Project) ProjectBody {
	return ProjectBody{
		Record: httpapi.RecordOf(p.Record), ProjectFields: ProjectFields{
			Name: p.Name, RepoURL: p.RepoURL, Branch: p.Branch, CredentialID: p.CredentialID, InstallDeps: p.InstallDeps,
			Org: p.Org,
		},
		Commit: p.Commit, SyncedAt: httpapi.When(p.SyncedAt), LastError: p.LastError, Hints: p.Hints,
	}
}

func projectRecord(p catalog.Project) object.Record { return p.Record }

// ProjectList is a list of projects by name.
type ProjectList struct {
	Projects []ProjectBody `json:"projects"`
	httpapi.Listed
}

func projectList(rows []ProjectBody, l httpapi.Listed) ProjectList { return ProjectList{rows, l} }

func (h *handlers) projects(r *httpapi.Router) {
	k := httpapi.Kind[catalog.Project, ProjectBody]{
		Path: "/v1/projects", Noun: "project", Tag: tag, Read: read(), Write: write(), Example: exampleProject(),
		Request: exampleProject().ProjectFields, InUse: true, Body: projectBody, Record: projectRecord,
	}
	httpapi.Handle(r, k.Create(audit.ProjectCreate, "Register a git project",
		"The first synchronisation follows on its own."),
		httpapi.Creator(k, (*ProjectFields).project, h.Projects.Create))
	httpapi.HandleList(r, k.List("List projects by name",
		"Those that the caller may read. last_error says why the last synchronisation failed."),
		projectList, projectBody, httpapi.Filtered((*ListInput).filter, h.Projects.List), k.Example)
	httpapi.Handle(r, k.Get("Read one project", "commit is what a launch would check out now."), k.Getter(h.Projects.Get))
	httpapi.Handle(r, k.Update(audit.ProjectUpdate, "Replace a project", "An omitted member clears."),
		httpapi.Updater(k, h.Projects.Get, (*ProjectBody).project, h.Projects.Update))
	httpapi.Handle(r, k.Delete(audit.ProjectDelete, "Delete a project that nothing uses", inUse),
		httpapi.Deleter(h.Projects.Delete))
	httpapi.Handle(r, k.Act("sync", audit.ProjectSync, "Fetch a project's repository now",
		"A conflict says why nothing could be fetched; the last good commit stays."), k.Getter(h.Projects.Sync))
	h.browsing(r, k.Path)
}

// inUse is the description of operations that delete a referenced object.
const inUse = "A conflict names the objects that use it: used_by lists those that the caller may read, by kind " +
	"and id, and others counts the rest."
