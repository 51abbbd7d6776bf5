package catalog

import (
	"context"
	"net/http"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/catalog"
)

// BrowseInput names a directory of a project's repository.
type BrowseInput struct {
	ID   string `path:"id"`
	Path string `query:"path" doc:"From the repository's root, with slashes."`
	Ref  string `query:"ref" doc:"A branch, tag or commit; the project's commit if empty."`
}

// FileInput names a file of a project's repository.
type FileInput struct {
	ID   string `path:"id"`
	Path string `query:"path" required:"true" minLength:"1" doc:"From the repository's root, with slashes."`
	Ref  string `query:"ref" doc:"A branch, tag or commit; the project's commit if empty."`
}

// EntryBody is a file or a directory.
type EntryBody struct {
	Path string `json:"path" doc:"From the repository's root."`
	Type string `json:"type" enum:"file,dir"`
	Size int64  `json:"size" doc:"Bytes; 0 of a directory."`
}

// EntryList is the content of a directory.
type EntryList struct {
	Files  []EntryBody `json:"files"`
	Count  int         `json:"count"`
	Total  int         `json:"total"`
	Commit string      `json:"commit" doc:"The commit that was read."`
}

// FileOutput is the response with the text of a file.
type FileOutput struct {
	Type   string `header:"Content-Type"`
	Commit string `header:"Service-Commit" doc:"The commit that was read."`
	Body   []byte
}

func (h *handlers) listFiles(ctx context.Context, in *BrowseInput) (*httpapi.Output[EntryList], error) {
	list, commit, err := h.Projects.Files(ctx, in.ID, in.Path, in.Ref)
	if err != nil {
		return nil, err
	}
	rows := httpapi.Rows(list, func(e catalog.Entry) EntryBody { return EntryBody{e.Path, string(e.Type), e.Size} })
	return &httpapi.Output[EntryList]{Body: EntryList{rows, len(rows), len(rows), commit}}, nil
}

func (h *handlers) getFile(ctx context.Context, in *FileInput) (*FileOutput, error) {
	text, commit, err := h.Projects.File(ctx, in.ID, in.Path, in.Ref)
	if err != nil {
		return nil, err
	}
	// The type is always plain text: the file is foreign, and a browser must not render it as a page of this server.
	return &FileOutput{Type: "text/plain; charset=utf-8", Commit: commit, Body: text}, nil
}

// CommitsInput names the commits to compare.
type CommitsInput struct {
	ID   string `path:"id"`
	From string `query:"from" required:"true" minLength:"1" doc:"A branch, tag or commit."`
	To   string `query:"to" doc:"A branch, tag or commit; the project's commit if empty."`
}

// CommitBody is a commit.
type CommitBody struct {
	ID      string    `json:"id"`
	Author  string    `json:"author"`
	At      time.Time `json:"at" doc:"When it was committed."`
	Subject string    `json:"subject" doc:"The first paragraph of its message, at most 200 characters."`
}

// CommitList are the commits that one commit has and another one lacks.
type CommitList struct {
	Commits []CommitBody `json:"commits" doc:"The newest first, at most 50."`
	Count   int          `json:"count"`
	Total   int          `json:"total"`
	From    string       `json:"from" doc:"The commit of from."`
	To      string       `json:"to" doc:"The commit of to."`
	Missing int          `json:"missing" doc:"How many commits from has and to lacks: to is older, or of another branch or history."`
}

func commitList(l catalog.CommitLog) CommitList {
	rows := httpapi.Rows(l.Commits, func(c catalog.Commit) CommitBody { return CommitBody(c) })
	return CommitList{rows, len(rows), l.Total, l.From, l.To, l.Missing}
}

func (h *handlers) listCommits(ctx context.Context, in *CommitsInput) (*httpapi.Output[CommitList], error) {
	l, err := h.Commits.Commits(ctx, in.ID, in.From, in.To)
	if err != nil {
		return nil, err
	}
	return &httpapi.Output[CommitList]{Body: commitList(l)}, nil
}

func (h *handlers) browsing(r *httpapi.Router, projects string) {
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: projects + "/{id}/files", ID: "list-project-files", Tag: tag,
		Summary:     "List a directory of a project's repository",
		Description: "Directories first. Links that leave the repository are not listed.",
		Access:      read(), Status: http.StatusOK, Example: exampleEntries(), Errors: []int{http.StatusNotFound},
	}, h.listFiles)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: projects + "/{id}/file", ID: "get-project-file", Tag: tag,
		Summary:     "Read one file of a project's repository",
		Description: "Always as plain text. A file over 1 MiB is refused.",
		Access:      read(), Status: http.StatusOK, Produces: "text/plain", Example: "- hosts: all\n",
		Errors: []int{http.StatusNotFound, http.StatusRequestEntityTooLarge},
	}, h.getFile)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: projects + "/{id}/commits", ID: "list-project-commits", Tag: tag,
		Summary:     "List the commits between two commits of a project's repository",
		Description: "Those that to has and from lacks.",
		Access:      read(), Status: http.StatusOK, Example: exampleCommits(), Errors: []int{http.StatusNotFound},
	}, h.listCommits)
}
