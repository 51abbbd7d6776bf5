package scheduling

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/scheduling"
)

const triggersPath = "/v1/triggers"

// NewTriggerBody is a request for a trigger.
type NewTriggerBody struct {
	Name             string   `json:"name" minLength:"1" maxLength:"200"`
	TemplateID       string   `json:"template_id" minLength:"1"`
	RequireSignature *bool    `json:"require_signature,omitempty" doc:"True if absent."`
	Branch           string   `json:"branch,omitempty" maxLength:"255" doc:"Only pushes to it launch; every branch if absent."`
	Events           []string `json:"events,omitempty" maxItems:"20" doc:"Only these launch, as the forge names them; only push if absent."`
	Org              string   `json:"org_id,omitempty"`
}

// ChangedTriggerBody replaces the fields of a trigger that a caller may set.
type ChangedTriggerBody struct {
	httpapi.Record
	TriggerState
	Name             string    `json:"name" minLength:"1" maxLength:"200"`
	TemplateID       *string   `json:"template_id,omitempty"`
	RequireSignature *bool     `json:"require_signature,omitempty"`
	Branch           *string   `json:"branch,omitempty" maxLength:"255"`
	Events           *[]string `json:"events,omitempty" maxItems:"20"`
	Org              *string   `json:"org_id,omitempty"`
}

// over returns t with the changed fields.
func (b *ChangedTriggerBody) over(t scheduling.Trigger) scheduling.Trigger {
	t.Name = b.Name
	replace(&t.TemplateID, b.TemplateID)
	replace(&t.RequireSignature, b.RequireSignature)
	replace(&t.Branch, b.Branch)
	replace(&t.Events, b.Events)
	replace(&t.Org, b.Org)
	return t
}

func replace[T any](to, with *T) {
	if with != nil {
		*to = *with
	}
}

// TriggerBody is a trigger. Empty fields are absent, except events.
type TriggerBody struct {
	httpapi.Record
	TriggerState
	Name             string   `json:"name"`
	TemplateID       string   `json:"template_id"`
	RequireSignature bool     `json:"require_signature"`
	Branch           string   `json:"branch,omitempty"`
	Events           []string `json:"events"`
	Org              string   `json:"org_id,omitempty"`
}

// TriggerState is the result of the last delivery that launched.
type TriggerState struct {
	LastFiredAt *time.Time `json:"last_fired_at,omitempty" readOnly:"true"`
	LastRunID   string     `json:"last_run_id,omitempty" readOnly:"true"`
	LastError   string     `json:"last_error,omitempty" readOnly:"true"`
}

func triggerBody(t scheduling.Trigger) TriggerBody {
	return TriggerBody{
		Record: recordBody(t.Record), TriggerState: TriggerState{httpapi.When(t.LastFiredAt), t.LastRunID, t.LastError},
		Name: t.Name, TemplateID: t.TemplateID, RequireSignature: t.RequireSignature, Branch: t.Branch,
		Events: append([]string{}, t.Events...), Org: t.Org,
	}
}

// MadeTriggerBody is a new trigger with the secrets that are shown once.
type MadeTriggerBody struct {
	TriggerBody
	Token         string `json:"token" doc:"Shown only once. Anyone who has it can call the hook."`
	HookPath      string `json:"hook_path" doc:"The path for the forge to call, with the token in it."`
	SigningSecret string `json:"signing_secret" doc:"Shown only once. The forge signs its deliveries with it."`
}

// RotatedTriggerBody is a trigger with its new signing secret.
type RotatedTriggerBody struct {
	TriggerBody
	SigningSecret string `json:"signing_secret" doc:"Shown only once. The previous one is no longer valid."`
}

func trigger(t scheduling.Trigger, err error) (*httpapi.ObjectOutput[TriggerBody], error) {
	if err != nil {
		return nil, err
	}
	return &httpapi.ObjectOutput[TriggerBody]{ETag: httpapi.ETag(t.Revision), Body: triggerBody(t)}, nil
}

func (h *handlers) createTrigger(
	ctx context.Context, in *httpapi.NewInput[NewTriggerBody],
) (*httpapi.NewObjectOutput[MadeTriggerBody], error) {
	b := in.Body
	t, err := h.Triggers.Create(ctx, scheduling.Trigger{
		Record: scheduling.Record{Name: b.Name, Org: b.Org}, TemplateID: b.TemplateID,
		RequireSignature: b.RequireSignature == nil || *b.RequireSignature, Branch: b.Branch, Events: b.Events,
	})
	if err != nil {
		return nil, err
	}
	token := t.Token.Reveal()
	return &httpapi.NewObjectOutput[MadeTriggerBody]{
		Location: triggersPath + "/" + t.ID, ETag: httpapi.ETag(t.Revision),
		Body: MadeTriggerBody{
			TriggerBody: triggerBody(t.Trigger), Token: token, HookPath: hooksPath + url.PathEscape(token),
			SigningSecret: t.SigningSecret.Reveal(),
		},
	}, nil
}

func (h *handlers) getTrigger(ctx context.Context, in *httpapi.IDInput) (*httpapi.ObjectOutput[TriggerBody], error) {
	return trigger(h.Triggers.Get(ctx, in.ID))
}

func (h *handlers) updateTrigger(
	ctx context.Context, in *httpapi.ChangeInput[ChangedTriggerBody],
) (*httpapi.ObjectOutput[TriggerBody], error) {
	get := func(ctx context.Context) (scheduling.Trigger, int64, error) {
		t, err := h.Triggers.Get(ctx, in.ID)
		return t, t.Revision, err
	}
	return trigger(amend(ctx, in.IfMatch.Revision(), get,
		func(ctx context.Context, stored scheduling.Trigger, revision int64) (scheduling.Trigger, error) {
			err := in.Body.Unchanged(in.ID, func() (httpapi.Record, error) { return recordBody(stored.Record), nil })
			if err != nil {
				return stored, err
			}
			return h.Triggers.Update(ctx, in.ID, revision, in.Body.over(stored))
		}))
}

func (h *handlers) rotateSecret(
	ctx context.Context, in *httpapi.IDInput,
) (*httpapi.ObjectOutput[RotatedTriggerBody], error) {
	t, err := h.Triggers.Rotate(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return &httpapi.ObjectOutput[RotatedTriggerBody]{
		ETag: httpapi.ETag(t.Revision), Body: RotatedTriggerBody{TriggerBody: triggerBody(t.Trigger),
			SigningSecret: t.SigningSecret.Reveal()},
	}, nil
}

func (h *handlers) deleteTrigger(ctx context.Context, in *httpapi.DeleteInput) (*httpapi.NoOutput, error) {
	return &httpapi.NoOutput{}, h.Triggers.Delete(ctx, in.ID, in.IfMatch.Revision())
}

// TriggerList lists triggers by name.
type TriggerList struct {
	Triggers []TriggerBody `json:"triggers"`
	httpapi.Listed
}

func (h *handlers) listTriggers(ctx context.Context, in *ListInput) (*httpapi.ListOutput[TriggerList], error) {
	list, total, err := h.Triggers.List(ctx, in.filter(), in.Page())
	if err != nil {
		return nil, err
	}
	rows, listed := httpapi.List(list, total, in.Window, triggerBody)
	return &httpapi.ListOutput[TriggerList]{Body: TriggerList{Triggers: rows, Listed: listed}}, nil
}

func (h *handlers) triggers(r *httpapi.Router) {
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPost, Path: triggersPath, ID: "create-trigger", Action: audit.TriggerCreate, Tag: tag,
		Summary:     "Create a trigger",
		Description: "The token, the path of the hook and the signing secret are shown only in this answer.",
		Access:      writeAccess(),
		Status:      http.StatusCreated, Example: exampleMadeTrigger(), Request: exampleNewTrigger(),
		Errors: createStatuses(),
	}, h.createTrigger)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: triggersPath, ID: "list-triggers", Tag: tag, Summary: "List triggers",
		Access:      readAccess(),
		Description: "The list has the objects that the caller may read. last_error says why the last delivery started no run.",
		Status:      http.StatusOK, Errors: listStatuses(),
		Example: TriggerList{Triggers: []TriggerBody{exampleTrigger()}, Listed: httpapi.ExampleListed()},
	}, h.listTriggers)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: triggersPath + "/{id}", ID: "get-trigger", Tag: tag, Summary: "Read one trigger",
		Access:      readAccess(),
		Description: "The token and the signing secret are never shown again.",
		Status:      http.StatusOK, Example: exampleTrigger(), Errors: getStatuses(),
	}, h.getTrigger)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPut, Path: triggersPath + "/{id}", ID: "update-trigger", Action: audit.TriggerUpdate, Tag: tag,
		Summary: "Rename a trigger, toggle its signature enforcement, or change what it launches on",
		Description: "The name is replaced. Every other member stays unchanged if it is omitted; an empty branch, events or org_id clears. " +
			"The token and the signing secret stay.",
		Access: writeAccess(), Status: http.StatusOK, Example: exampleTrigger(), Request: exampleTriggerChange(),
		Errors: updateStatuses(),
	}, h.updateTrigger)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodDelete, Path: triggersPath + "/{id}", ID: "delete-trigger", Action: audit.TriggerDelete, Tag: tag,
		Description: "Deliveries are refused from then on. Its runs stay.",
		Summary:     "Delete a trigger and revoke its hook", Access: writeAccess(), Status: http.StatusNoContent,
		Errors: deleteStatuses(),
	}, h.deleteTrigger)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPost, Path: triggersPath + "/{id}/rotate-secret", ID: "rotate-trigger-secret",
		Action: audit.TriggerRotate, Tag: tag,
		Summary:     "Make a new signing secret for a trigger",
		Description: "The secret is shown only in this answer; the previous one is no longer valid. The token stays.",
		Access:      writeAccess(),
		Status:      http.StatusOK, Example: RotatedTriggerBody{TriggerBody: exampleTrigger(), SigningSecret: exampleSecret},
		Errors: getStatuses(),
	}, h.rotateSecret)
}
