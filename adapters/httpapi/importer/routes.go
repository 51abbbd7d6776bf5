package importer

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/importer"
)

type handlers struct{ Params }

// consumes are the media types of exports. The content decides how a body is read, and not its type.
const consumes = "application/octet-stream,application/json,application/yaml,application/xml,text/xml,text/plain," +
	"application/zip"

// New returns the routes of the importer context.
func New(p Params) httpapi.Routes {
	return httpapi.Routes{Name: "importer", Register: func(r *httpapi.Router) {
		h := &handlers{p}
		r.Raw(httpapi.Route{
			Method: http.MethodPost, Path: "/v1/import/{format}", ID: "import-export", Tag: "importer",
			Action:  audit.ImportApply,
			Summary: "Import the export of another product",
			Description: "The format is awx, semaphore, puppet, chef, rundeck or jenkins. The answer is a plan: what each " +
				"object of the export becomes, what differs, and what has no place. It is a preview unless apply is true; " +
				"then all objects are written in one transaction, or none. Importing an export again changes nothing. " +
				"Secrets are never imported: credentials are created without them. A body that cannot be read as a whole " +
				"is 400 with the line or the entry of the archive.",
			Access: httpapi.Needs("import", "write"), Status: http.StatusOK, Example: examplePlan(),
			Consumes: consumes, MaxBody: importer.MaxBody, Request: "the export of the product",
			Query: []*huma.Param{
				{Name: "apply", In: "query", Description: "Write the plan.", Schema: &huma.Schema{Type: huma.TypeBoolean}},
				{Name: "inventory", In: "query", Description: "The id or the name of the inventory on which jobs run; " +
					"for rundeck and jenkins.", Schema: &huma.Schema{Type: huma.TypeString}},
				{Name: "file", In: "query", Description: "The name of the export's file. It names objects that have no " +
					"name of their own.", Schema: &huma.Schema{Type: huma.TypeString}},
			},
			Errors: []int{http.StatusNotFound, http.StatusConflict, http.StatusRequestEntityTooLarge,
				http.StatusUnsupportedMediaType, http.StatusServiceUnavailable},
		}, http.HandlerFunc(h.post))
	}}
}

func (h *handlers) post(w http.ResponseWriter, r *http.Request) {
	request, err := read(r)
	if err != nil {
		httpapi.WriteError(w, r, err)
		return
	}
	plan, err := h.Importer.Import(r.Context(), request)
	if err != nil {
		httpapi.WriteError(w, r, err)
		return
	}
	httpapi.WriteJSON(w, r, http.StatusOK, importer.BodyOf(plan))
}

// read reads a request. The router has limited the bytes of its body.
func read(r *http.Request) (importer.Request, error) {
	out := importer.Request{Format: r.PathValue("format")}
	query := r.URL.Query()
	for name := range query {
		if !slices.Contains([]string{"apply", "inventory", "file"}, name) {
			return out, fault.BadField(name, "is not a parameter of this operation")
		}
	}
	if text := query.Get("apply"); text != "" {
		apply, err := strconv.ParseBool(text)
		if err != nil {
			return out, fault.BadField("apply", "expected true or false")
		}
		out.Apply = apply
	}
	out.Inventory, out.File = query.Get("inventory"), query.Get("file")
	// A buffer of the declared length is not copied while it grows.
	var body bytes.Buffer
	body.Grow(int(min(max(r.ContentLength, 0), importer.MaxBody)) + bytes.MinRead)
	if _, err := body.ReadFrom(r.Body); err != nil {
		return out, fmt.Errorf("read an export: %w", err)
	}
	out.Body = body.Bytes()
	return out, nil
}
