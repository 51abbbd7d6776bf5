package ops

import (
	"context"
	"net/http"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/system"
)

// FindingObject is the object of a finding. Its members are empty if that is the install itself.
type FindingObject struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
	Name string `json:"name"`
}

// FindingBody is one problem of the install.
type FindingBody struct {
	Severity string        `json:"severity" enum:"info,warning,error"`
	Check    string        `json:"check" doc:"The check that found it."`
	Object   FindingObject `json:"object"`
	Problem  string        `json:"problem" doc:"One sentence."`
	Fix      string        `json:"fix" doc:"One sentence: what to do about it."`
	Link     string        `json:"link" doc:"A page of the documentation or a path of this API; empty for none."`
}

// DoctorBody is the result of an examination of the install.
type DoctorBody struct {
	OK       bool           `json:"ok" doc:"No finding is an error."`
	Findings []FindingBody  `json:"findings" doc:"Errors first, then warnings, then infos."`
	Checked  map[string]int `json:"checked" doc:"The number of objects that each check examined."`
}

func (h *handlers) doctor(r *httpapi.Router) {
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: "/v1/doctor", ID: "get-doctor", Tag: tag, Summary: "Run the checks of the doctor",
		Description: "Runs every check, each within 10 seconds. A check that could not run is a finding itself. Callers " +
			"during an " +
			"examination share its result. The answer has at most 100 findings of one check; the last one says how many " +
			"more there are.",
		Access: httpapi.Needs("doctor", "read"), Status: http.StatusOK, Example: doctorExample(),
		Errors: []int{http.StatusServiceUnavailable},
	}, func(ctx context.Context, _ *struct{}) (*httpapi.Output[DoctorBody], error) {
		return httpapi.Show(doctorBody)(h.Doctor.Examine(ctx))
	})
}

func doctorBody(r system.Report) DoctorBody {
	out := DoctorBody{OK: r.OK, Findings: make([]FindingBody, 0, len(r.Findings)), Checked: r.Checked}
	if out.Checked == nil {
		out.Checked = map[string]int{}
	}
	for _, f := range r.Findings {
		out.Findings = append(out.Findings, FindingBody{
			Severity: string(f.Severity), Check: f.Check, Object: FindingObject(f.Object), Problem: f.Problem, Fix: f.Fix,
			Link: f.Link,
		})
	}
	return out
}

func doctorExample() DoctorBody {
	return DoctorBody{
		Findings: []FindingBody{{
			Severity: "error", Check: "catalog_references",
			Object:  FindingObject{Kind: "template", ID: "tpl_01k0a8bq3vtx5zk9w2m4n6p8rs", Name: "Deploy"},
			Problem: "it names the inventory inv_01k0a8bq3vtx5zk9w2m4n6p8rt, which does not exist",
			Fix:     "change it to name another inventory, or delete it", Link: "/v1/templates/tpl_01k0a8bq3vtx5zk9w2m4n6p8rs",
		}, {
			Severity: "warning", Check: "disk", Object: FindingObject{Kind: "directory", ID: "/var/lib/writ",
				Name: "data directory"},
			Problem: "the file system of data directory has 900 MiB of 20480 MiB free",
			Fix:     "free or add space, or keep runs for a shorter time",
		}},
		Checked: map[string]int{"catalog_references": 42, "disk": 3},
	}
}
