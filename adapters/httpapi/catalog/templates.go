package catalog

import (
	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/object"
)

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

func templateList(rows []TemplateBody, l httpapi.Listed) TemplateList { return TemplateList{rows, l} }

func (h *handlers) templates(r *httpapi.Router) {
	k := httpapi.Kind[catalog.Template, TemplateBody]{
		Path: "/v1/templates", Noun: "template", Tag: tag, Read: read(), Write: write(), Example: exampleTemplate(),
		Request: exampleTemplate().TemplateFields, MaxBody: largeBody, InUse: true, Body: templateBody,
		Record: templateRecord,
	}
	httpapi.Handle(r, k.Create(audit.TemplateCreate, "Save a launch preset or a workflow",
		"With steps it is a workflow, which sets no playbook, command, tool, shards or controls beside them. Surveys and "+
			"steps are checked here, not only at the launch."),
		httpapi.Creator(k, (*TemplateFields).template, h.Templates.Create))
	httpapi.HandleList(r, k.List("List templates by name", "Those that the caller may read."),
		templateList, templateBody, httpapi.Filtered((*ListInput).filter, h.Templates.List), k.Example)
	httpapi.Handle(r, k.Get("Read one template",
		"Variables whose name looks secret read back as [redacted], addresses of notifications masked."),
		k.Getter(h.Templates.Get))
	httpapi.Handle(r, k.Update(audit.TemplateUpdate, "Replace a template",
		"An omitted member clears, and an omitted max_concurrent is 1. A variable of the value [redacted] and a "+
			"notification that echoes its mask keep what is stored."),
		httpapi.Updater(k, h.Templates.Get, (*TemplateBody).template, h.Templates.Update))
	httpapi.Handle(r, k.Compare("object"), httpapi.Comparer((*TemplateFields).template, h.Templates.Compare))
	httpapi.Handle(r, k.Delete(audit.TemplateDelete, "Delete a template that nothing uses", inUse),
		httpapi.Deleter(h.Templates.Delete))
	h.launching(r, k.Path)
}
