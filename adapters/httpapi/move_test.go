package httpapi_test

import (
	"net/http"
	"testing"
)

func TestMoveToAQueue(t *testing.T) {
	t.Parallel()
	f := setup(t)
	const path = "/v1/runs/" + knownRun + "/queue"
	a := f.call(http.MethodPut, path, "operator", `{"queue":"dmz"}`, "If-Match", `"7"`)
	a.json(t, http.StatusOK)
	if f.fake.reason != "dmz" || a.header.Get("ETag") == "" {
		t.Errorf("%q %v", f.fake.reason, a.header)
	}
	for _, body := range []string{"", "{}", `{"queue":""}`, `{"queue":"a b"}`, `{"queue":7}`, `{"queue":"a","x":1}`,
		"[]"} {
		f.call(http.MethodPut, path, "operator", body).problem(t, http.StatusBadRequest)
	}
	f.call(http.MethodPut, path, "viewer", `{"queue":"dmz"}`).problem(t, http.StatusForbidden)
	f.call(http.MethodPut, path, "", `{"queue":"dmz"}`).problem(t, http.StatusUnauthorized)
}
