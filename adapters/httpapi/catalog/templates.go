package catalog

import (
	"context"
	"net/http"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/object"
)

const templatesPath = "/v1/templates"

// TemplateBody is a template.
type TemplateBody struct {
	httpapi.Record
	TemplateFields
}

func templateBody(t catalog.Template) TemplateBody {
	return TemplateBody{Record: httpapi.RecordOf(t.Record), TemplateFields: fieldsOf(t)}
}

func templateRecord(t catalog.Template) object.Record { return t.Record }

// TemplateList is a list of templates by name.
type TemplateList struct {
	Templates []TemplateBody `json:"templates"`
	httpapi.Listed
}

func template(t catalog.Template, err error) (*httpapi.ObjectOutput[TemplateBody], error) {
	return objectOutput(t, err, templateBody, templateRecord)
}

func (h *handlers) createTemplate(
	ctx context.Context, in *httpapi.NewInput[TemplateFields],
) (*httpapi.NewObjectOutput[TemplateBody], error) {
	t, err := h.Templates.Create(ctx, in.Body.template())
	return newObjectOutput(templatesPath, t, err, templateBody, templateRecord)
}

func (h *handlers) getTemplate(ctx context.Context, in *httpapi.IDInput) (*httpapi.ObjectOutput[TemplateBody], error) {
	return template(h.Templates.Get(ctx, in.ID))
}

func (h *handlers) listTemplates(ctx context.Context, in *ListInput) (*httpapi.ListOutput[TemplateList], error) {
	return listOutput(ctx, in, h.Templates.List, templateBody, func(rows []TemplateBody, l httpapi.Listed) TemplateList {
		return TemplateList{Templates: rows, Listed: l}
	})
}

func (h *handlers) updateTemplate(
	ctx context.Context, in *httpapi.ChangeInput[TemplateBody],
) (*httpapi.ObjectOutput[TemplateBody], error) {
	if err := updateStatuses(ctx, in, in.Body.Record, h.Templates.Get, templateRecord); err != nil {
		return nil, err
	}
	return template(h.Templates.Update(ctx, in.ID, in.IfMatch.Revision(), in.Body.template()))
}

func (h *handlers) compareTemplate(
	ctx context.Context, in *httpapi.CompareInput[TemplateFields],
) (*httpapi.DifferenceOutput, error) {
	return httpapi.Difference(h.Templates.Compare(ctx, in.ID, in.Body.template()))
}

func (h *handlers) deleteTemplate(ctx context.Context, in *httpapi.DeleteInput) (*httpapi.NoOutput, error) {
	return httpapi.Deleted(ctx, in, h.Templates.Delete)
}

func (h *handlers) templates(r *httpapi.Router) {
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPost, Path: templatesPath, ID: "create-template", Action: audit.TemplateCreate, Tag: tag,
		Summary: "Save a launch preset or a workflow",
		Description: "With steps it is a workflow, which sets no playbook, command, tool, shards or controls beside them. Surveys and steps are " +
			"checked here, not only at the launch.",
		Access: write(), Status: http.StatusCreated, Example: exampleTemplate(), Request: exampleTemplate().TemplateFields,
		MaxBody: largeBody,
		Errors:  createStatuses(),
	}, h.createTemplate)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: templatesPath, ID: "list-templates", Tag: tag, Summary: "List templates by name",
		Access:      read(),
		Description: "The list has the objects that the caller may read.",
		Status:      http.StatusOK, Example: TemplateList{Templates: []TemplateBody{exampleTemplate()},
			Listed: httpapi.ExampleListed()}, Errors: listStatuses(),
	}, h.listTemplates)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: templatesPath + "/{id}", ID: "get-template", Tag: tag, Summary: "Read one template",
		Access:      read(),
		Description: "Variables whose name looks secret read back as [redacted], addresses of notifications masked.",
		Status:      http.StatusOK, Example: exampleTemplate(), Errors: getStatuses(),
	}, h.getTemplate)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPut, Path: templatesPath + "/{id}", ID: "update-template", Action: audit.TemplateUpdate, Tag: tag,
		Summary:     "Replace a template",
		Description: "An omitted member clears. A variable of the value [redacted] and a notification with its mask keep the stored value.",
		Access:      write(), Status: http.StatusOK, Example: exampleTemplate(), Request: exampleTemplate().TemplateFields,
		MaxBody: largeBody,
		Errors:  refused(),
	}, h.updateTemplate)
	httpapi.Handle(r, compared(templatesPath, "template", exampleTemplate().TemplateFields, largeBody), h.compareTemplate)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodDelete, Path: templatesPath + "/{id}", ID: "delete-template", Action: audit.TemplateDelete,
		Tag:     tag,
		Summary: "Delete a template that nothing uses", Description: inUse, Access: write(), Status: http.StatusNoContent,
		Errors: refused(),
	}, h.deleteTemplate)
}
