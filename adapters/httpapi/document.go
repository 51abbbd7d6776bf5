package httpapi

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// countFormat marks a parameter that Count reads: text to the validator, an integer to a reader of the document.
const countFormat = "count"

const about = "Automation runs against fleets of hosts: submit, schedule, approve, follow, compare and audit them. " +
	"Calls present `Authorization: Bearer <token>`, or a browser's session cookie, with which every write must come " +
	"from the same " +
	"origin. An operation with `x-mutates: false` also works on a read-only install. " +
	"One with `x-audit` makes an entry of that action in the audit trail, which the header `Audit-Receipt` of its " +
	"success names. " +
	"One with `x-report` takes the report of a worker, which presents the install's worker token: it works on a " +
	"read-only install too, and " +
	"the trail has only the entries of the run. Every error is `application/problem+json` with `error`, a sentence, " +
	"and `reason`, a stable code; the fields at fault are in `errors`."

// document makes huma's configuration: no page and no schema route of its own, since those load from elsewhere, no
// link transformer, since that alters bodies, and strict JSON.
func document(version string) huma.Config {
	json := huma.Format{Marshal: new(encoder).marshal, Unmarshal: unmarshal}
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title: "Writ", Version: version, Description: about,
				License: &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"},
			},
			Servers: []*huma.Server{{URL: "/", Description: "The install that serves this document."}},
			Tags:    tags(),
			Components: &huma.Components{
				Schemas: huma.NewMapRegistry("#/components/schemas/", schemaName),
				SecuritySchemes: map[string]*huma.SecurityScheme{
					"bearer": {Type: "http", Scheme: "bearer", Description: "A token of an account."},
					"worker": {Type: "http", Scheme: "bearer", Description: "The worker token of the install. It belongs to no " +
						"account."},
					"session": {
						Type: "apiKey", In: "cookie", Name: "__Host-" + sessionCookie,
						Description: "A browser's session; without the prefix on loopback over plain http.",
					},
				},
			},
			OnAddOperation: []huma.AddOpFunc{showCounts},
		},
		Formats:                      map[string]huma.Format{"application/json": json, "json": json},
		DefaultFormat:                "application/json",
		RejectUnknownQueryParameters: true,
	}
}

// tags are the contexts in the order of the document.
func tags() []*huma.Tag {
	return []*huma.Tag{
		{Name: "runs", Description: "Submit runs and pipelines, follow them, approve or reject held ones, and read " +
			"their results."},
		{Name: "catalog", Description: "Projects, inventories and their sources, and the templates that people launch."},
		{Name: "scheduling",
			Description: "Automatic launches: schedules, triggers and the webhooks of forges."},
		{Name: "estate", Description: "What the fleet is and was: hosts, facts, changes and drift."},
		{Name: "policy", Description: "The rules that hold or deny requests for runs."},
		{Name: "secrets", Description: "Credentials and the custom types of them."},
		{Name: "notify", Description: "The notifications of runs and their results."},
		{Name: "execution", Description: "The executors of queued runs."},
		{Name: "ai", Description: "Advice of a language model, and runs that it proposes."},
		{Name: "importer", Description: "What comes from other products."},
		{Name: "identity", Description: "Sign in, accounts, tokens, teams, organizations and grants."},
		{Name: "audit", Description: "The audit trail, and its proofs for others."},
		{Name: "system", Description: "The install as a whole: health, metrics and this document."},
		{Name: "relay", Description: "The operations of workers without a database. They present the worker token of " +
			"the install."},
	}
}

// finish explains patterns in the descriptions, since OpenAPI has no member for that, and writes the order of an
// object's members to x-order, since the document sorts them by name. Requests are checked against the schemas as they
// were before.
func (r *Router) finish() {
	describe := func(s *huma.Schema) {
		if s != nil && s.PatternDescription != "" {
			s.Description = strings.TrimSpace(s.Description + " It is " + s.PatternDescription + ".")
			s.PatternDescription = ""
		}
	}
	r.operations(func(op *huma.Operation) {
		for _, p := range op.Parameters {
			describe(p.Schema)
		}
	})
	schemas := r.api.OpenAPI().Components.Schemas
	for name, s := range schemas.Map() {
		for _, p := range s.Properties {
			describe(p)
		}
		if t := schemas.TypeFromRef("#/components/schemas/" + name); t != nil && t.Kind() == reflect.Struct {
			if order := memberNames(t); len(order) > 1 {
				s.Extensions = map[string]any{"x-order": order}
			}
		}
	}
}

// memberNames lists the JSON members of a type as they are declared, those of embedded types in their place.
func memberNames(t reflect.Type) []string {
	var out []string
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			out = append(out, name)
		}
	}
	return out
}

func showCounts(_ *huma.OpenAPI, op *huma.Operation) {
	zero := 0.0
	for _, p := range op.Parameters {
		if p.Schema != nil && p.Schema.Format == countFormat {
			p.Schema = &huma.Schema{Type: huma.TypeInteger, Format: "int64", Minimum: &zero, Description: p.Schema.Description}
		}
	}
}

// unmarshal decodes a body that was scanned.
func unmarshal(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	if err == nil {
		return nil
	}
	var number *json.UnmarshalTypeError
	if _, tree := v.(*any); tree && errors.As(err, &number) {
		// A number in program output may be too large for the tree that is validated; the value for the handler is not
		// made from that tree.
		return nil
	}
	return decodeError(err)
}
