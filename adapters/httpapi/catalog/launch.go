package catalog

import (
	"context"
	"net/http"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/runs"
)

// LaunchBody is the request body of a launch. An absent member overrides nothing.
type LaunchBody struct {
	Answers       httpapi.Values    `json:"answers,omitempty" doc:"By the var of the question."`
	ExtraVars     runs.Vars         `json:"extra_vars,omitempty" doc:"Merged over the template's own. Data: never templated."`
	CredentialIDs []string          `json:"credential_ids,omitempty" doc:"Of the template's selectable_credential_ids."`
	Limit         *string           `json:"limit,omitempty"`
	InventoryID   *string           `json:"inventory_id,omitempty"`
	Tags          *[]string         `json:"tags,omitempty"`
	SkipTags      *[]string         `json:"skip_tags,omitempty"`
	DryRun        *bool             `json:"dry_run,omitempty"`
	Forks         *int              `json:"forks,omitempty" minimum:"0"`
	Verbosity     *int              `json:"verbosity,omitempty" minimum:"0" doc:"0 to 4; a larger number means 4."`
	DiffMode      *bool             `json:"diff_mode,omitempty"`
	Labels        map[string]string `json:"labels,omitempty" doc:"Merged over the template's own."`
	Change        *string           `json:"change,omitempty"`
}

func (b *LaunchBody) launch() catalog.Launch {
	l := catalog.Launch{
		Answers: b.Answers, ExtraVars: b.ExtraVars, CredentialIDs: b.CredentialIDs, Limit: b.Limit,
		InventoryID: b.InventoryID,
		Tags:        b.Tags, SkipTags: b.SkipTags, DryRun: b.DryRun, Forks: b.Forks, DiffMode: b.DiffMode, Labels: b.Labels,
		Change: b.Change,
	}
	if b.Verbosity != nil {
		v := min(*b.Verbosity, httpapi.MaxVerbosity)
		l.Verbosity = &v
	}
	return l
}

// LaunchInput is the request of a launch; the body may be absent.
type LaunchInput struct {
	ID   string `path:"id"`
	Key  string `header:"Idempotency-Key" doc:"At most 255 bytes; the same key, template and body within 24 hours answer with the first run."`
	Body *LaunchBody
}

func (h *handlers) launch(ctx context.Context, in *LaunchInput) (*httpapi.NewRunOutput, error) {
	var l catalog.Launch
	if in.Body != nil {
		l = in.Body.launch()
	}
	var err error
	if l.Idempotency, err = httpapi.Idempotency(ctx, in.Key, "launch-template", in.ID); err != nil {
		return nil, err
	}
	run, replayed, err := h.Launcher.Launch(ctx, in.ID, l)
	return h.answers.Created(ctx, run, replayed, err)
}

func (h *handlers) launching(r *httpapi.Router, templates string) {
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPost, Path: templates + "/{id}/launch", ID: "launch-template", Action: audit.RunSubmit,
		Tag:     tag,
		Summary: "Launch a template",
		Description: "The request answers its survey, chooses from its selectable credentials and overrides the fields " +
			"that it allows: anything else is " +
			"refused, and nothing runs then. A workflow becomes a pipeline.",
		Access: httpapi.Needs("catalog", "launch"), Status: http.StatusCreated, Example: exampleRun(),
		Request: exampleLaunch(), Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, h.launch)
}
